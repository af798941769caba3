"""Requests to the share coordinators on other brokers.

A request holds share partitions of one group. To each broker one request of a kind and group is under way; what comes
meanwhile goes with the next, so that many small writes cost a round trip together. Of one share partition nothing
overtakes what was asked before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from moldau.server.other_brokers import OtherBrokers
from moldau.types import Uuid

_LINE: Final = "share state"
# How many share partitions one request may be about.
_MOST: Final = 1000


class StateErrand(NamedTuple):
    kind: str
    group_id: str
    # What is asked, by topic id and partition.
    rows: Mapping[tuple[Uuid, int], Any]
    build: Callable[[Mapping[tuple[Uuid, int], Any]], Any]
    # Given the results by topic id and partition, those of others among them; or why there are none.
    settle: Callable[[Mapping[tuple[Uuid, int], Any], BaseException | None], None]
    # Whether anybody still waits for the answer; asked right before it would be sent.
    wanted: Callable[[], bool]


class StateRequests:
    def __init__(self, brokers: OtherBrokers) -> None:
        self._brokers = brokers
        # By broker, kind and group; there is an entry, be it empty, while a request is under way.
        self._waiting: dict[tuple[int, str, str], list[StateErrand]] = {}

    def add(self, broker_id: int, errand: StateErrand) -> None:
        where = (broker_id, errand.kind, errand.group_id)
        waiting = self._waiting.get(where)
        if waiting is not None:
            waiting.append(errand)
        else:
            self._waiting[where] = [errand]
            self._send(where)

    def _send(self, where: tuple[int, str, str]) -> None:
        now: list[StateErrand] = []
        later: list[StateErrand] = []
        rows: dict[tuple[Uuid, int], Any] = {}
        blocked: set[tuple[Uuid, int]] = set()
        for errand in self._waiting[where]:
            if not errand.wanted():
                continue
            places = errand.rows.keys()
            if (now and len(rows) + len(places) > _MOST) or places & rows.keys() or places & blocked:
                blocked |= places
                later.append(errand)
            else:
                rows.update(errand.rows)
                now.append(errand)
        if not now:
            del self._waiting[where]
            return
        self._waiting[where] = later

        def answered(response: Any, error: BaseException | None) -> None:
            found = results_of(response)
            try:
                for errand in now:
                    errand.settle(found, error)
            finally:
                self._send(where)

        self._brokers.ask(where[0], now[0].build(rows), _LINE).then(answered)


def results_of(response: Any) -> dict[tuple[Uuid, int], Any]:
    if response is None:
        return {}
    return {(topic.topic_id, row.partition): row for topic in response.results for row in topic.partitions}
