"""Looks at the cluster every few seconds on a thread of its own, and keeps what it saw and some figures over time.

What cannot be seen (a broker is away, an operation is not allowed) is missing from the snapshot with the reason; only
when the cluster as a whole does not answer the last snapshot stays, and `away` says since when and why.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic, time
from typing import Final, TypeVar

from moldau.client.admin.brokers import LogDirectory, describe_cluster, describe_log_dirs
from moldau.client.admin.committed import Committed, committed_of_groups
from moldau.client.admin.groups import GroupListing, list_groups
from moldau.client.admin.offsets import EARLIEST, LATEST, list_offsets
from moldau.client.admin.quorum import describe_quorum
from moldau.client.admin.topics import list_topics
from moldau.client.admin.transactions import OPEN_STATES, describe_listed, list_transactions
from moldau.client.cluster import Cluster
from moldau.client.conversation import Conversation
from moldau.client.metadata import TopicView
from moldau.console.pipelines import Pipelines
from moldau.console.series import Histories, Series
from moldau.console.snapshot import GroupFigures, Snapshot, sizes_of, topic_figures
from moldau.errors import KafkaError, MoldauError
from moldau.types import TopicPartition

T = TypeVar("T")

logger = logging.getLogger("moldau.console")

_LIMIT: Final = 5.0
# Of these things so many are drawn over time; the rest is shown as it is now.
_GROUPS_KEPT: Final = 2000
_TOPICS_KEPT: Final = 1000
# Disks and beginnings of logs change slowly.
_SLOW: Final = 3
# Nobody has looked for so long: the cluster is asked less often. Lag over time is still kept.
_UNWATCHED: Final = 120.0
_UNWATCHED_FACTOR: Final = 4


@dataclass(slots=True, frozen=True)
class Away:
    since: float
    reason: str


class Watch:
    def __init__(self, cluster: Cluster, interval: float, pipelines: Pipelines, slack: float = 1.0) -> None:
        # How long it waits for one answer.
        self._limit = _LIMIT * slack
        self.pipelines = pipelines
        self.snapshot: Snapshot | None = None
        self.away: Away | None = None
        self.lags = Histories(_GROUPS_KEPT)
        self.rates = Histories(_TOPICS_KEPT)
        self.sizes = Histories(_TOPICS_KEPT)
        self.total_rate = Series()
        self.total_lag = Series()
        self._cluster = cluster
        self._interval = interval
        self._seen = monotonic()
        self._round = 0
        self._directories: tuple[LogDirectory, ...] = ()
        self._starts: dict[TopicPartition, int] = {}
        self._committed: dict[str, Committed] = {}
        self._committed_at = 0.0
        self._wake = threading.Event()
        self._looked = threading.Condition()
        self._looks = 0
        self._looking = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="moldau-console-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self._thread.join(_LIMIT * 2)

    def seen(self) -> None:
        """Somebody looks at a page."""
        waited = monotonic() - self._seen
        self._seen = monotonic()
        if waited > _UNWATCHED:
            self._wake.set()

    def look_again(self, patience: float = 3.0) -> None:
        """Something was changed: waits for a look that began after that, but not for long."""
        self._round = 0
        # The look that is under way may have begun before.
        wanted = self._looks + 2 if self._looking else self._looks + 1
        self._wake.set()
        self._wait(wanted, patience)

    def wait_first(self, patience: float) -> None:
        self._wait(1, patience)

    def _wait(self, looks: int, patience: float) -> None:
        deadline = monotonic() + patience
        with self._looked:
            while self._looks < looks and monotonic() < deadline and not self._closed:
                self._wake.set()
                self._looked.wait(0.1)

    def _run(self) -> None:
        while not self._closed:
            began = monotonic()
            self._looking = True
            try:
                self._look()
            except MoldauError as error:
                self._lost(str(error))
            except Exception:
                # A fault of ours must not end the watch; what was seen before stays, and the log says where.
                logger.exception("the cluster could not be looked at")
                self._lost("The console met something it did not expect; its log says what.")
            self._look_at_pipelines()
            self._looking = False
            with self._looked:
                self._looks += 1
                self._looked.notify_all()
            took = monotonic() - began
            interval = self._interval
            if monotonic() - self._seen > _UNWATCHED:
                interval *= _UNWATCHED_FACTOR
            # A cluster so large that a look takes long is not looked at all the time.
            self._wake.wait(max(interval - took, took * 4))
            self._wake.clear()

    def _look_at_pipelines(self) -> None:
        """Files: they are there also when the cluster is not. How far they are behind is by what was just seen."""
        try:
            self.pipelines.look(time(), {} if self.snapshot is None else self.snapshot.ends)
        except Exception:
            logger.exception("pipelines could not be looked at")

    def _lost(self, reason: str) -> None:
        since = self.away.since if self.away is not None else time()
        self.away = Away(since, reason)

    # ------------------------------------------------------------------------------------------------------ one look

    def _look(self) -> None:
        cluster = self._cluster.run(describe_cluster(), self._limit)
        listed = self._cluster.run(list_topics(internal=True), self._limit)
        now = time()
        topics = {topic.name: topic for topic in listed}
        unknown: dict[str, str] = {}
        places = [TopicPartition(topic.name, index) for topic in listed for index, each in topic.partitions.items()
                  if each.leader >= 0]  # fmt: skip
        slow = self._round % _SLOW == 0
        self._round += 1
        ends = self._offsets(places, LATEST, unknown)
        if slow or len(self._starts) < len(places):
            self._starts = self._offsets(places, EARLIEST, unknown)
            found = self._try("disks", describe_log_dirs(), unknown)
            self._directories = self._directories if found is None else tuple(found)
        before = self.snapshot
        rates = _rates(before, now, ends)
        groups = self._groups(topics, ends, now, unknown)
        transactions = self._try("transactions", list_transactions(), unknown) or []
        under_way = [each for each in transactions if each.state in OPEN_STATES]
        described = self._try("transactions", describe_listed(under_way), unknown) or [] if under_way else []
        quorum = self._try("quorum", describe_quorum(), unknown)
        sizes = sizes_of(self._directories)
        figures = {
            name: topic_figures(topic, self._starts, ends, sizes, rates.get(name)) for name, topic in topics.items()
        }
        self.snapshot = Snapshot(
            now, cluster, topics, figures, self._starts, ends, self._directories, sizes, groups, tuple(transactions),
            {each.transactional_id: each for each in described}, quorum, unknown,
        )  # fmt: skip
        self.away = None
        if slow:
            self.sizes.add(now, {name: float(each.size) for name, each in figures.items() if each.size is not None})
        self._keep(now, rates, topics, groups)

    def _keep(
        self,
        now: float,
        rates: Mapping[str, float],
        topics: Mapping[str, TopicView],
        groups: Mapping[str, GroupFigures],
    ) -> None:
        lags = {name: float(each.lag) for name, each in groups.items() if each.lag is not None}
        self.lags.add(now, lags)
        self.total_lag.add(now, sum(lags.values()))
        if rates:
            self.rates.add(now, rates)
            self.total_rate.add(now, sum(rate for name, rate in rates.items() if not topics[name].internal))

    def _try(self, subject: str, conversation: Conversation[T], unknown: dict[str, str]) -> T | None:
        try:
            return self._cluster.run(conversation, self._limit)
        except MoldauError as error:
            unknown[subject] = str(error)
            return None

    def _offsets(self, places: list[TopicPartition], moment: int, unknown: dict[str, str]) -> dict[TopicPartition, int]:
        if not places:
            return {}
        found = self._try("offsets", list_offsets(dict.fromkeys(places, moment)), unknown) or {}
        known: dict[TopicPartition, int] = {}
        for where, offset in found.items():
            if isinstance(offset, KafkaError):
                unknown.setdefault("offsets", str(offset))
            else:
                known[where] = offset.offset
        return known

    def _groups(
        self,
        topics: Mapping[str, TopicView],
        ends: Mapping[TopicPartition, int],
        now: float,
        unknown: dict[str, str],
    ) -> dict[str, GroupFigures]:
        listed = self._try("groups", list_groups(), unknown)
        if listed is None:
            return dict(self.snapshot.groups) if self.snapshot is not None else {}
        readers = {each.group_id: each.coordinator for each in listed if _has_offsets(each)}
        committed = self._try("lag", committed_of_groups(readers), unknown) if readers else {}
        if committed is None:
            committed = self._committed
        seconds = now - self._committed_at
        figures = {each.group_id: _figures(each, committed, self._committed, ends, topics, seconds) for each in listed}
        self._committed, self._committed_at = committed, now
        return figures


def _has_offsets(listing: GroupListing) -> bool:
    return listing.type in ("classic", "consumer", "streams") and listing.protocol_type in ("consumer", "streams", "")


def _rates(before: Snapshot | None, now: float, ends: Mapping[TopicPartition, int]) -> dict[str, float]:
    """Records per second that came to each topic since the last look."""
    if before is None or now <= before.at:
        return {}
    added: dict[str, int] = {}
    for where, end in ends.items():
        known = before.ends.get(where)
        if known is not None:
            added[where.topic] = added.get(where.topic, 0) + max(0, end - known)
    return {topic: count / (now - before.at) for topic, count in added.items()}


def _figures(
    listing: GroupListing,
    committed: Mapping[str, Committed],
    before: Mapping[str, Committed],
    ends: Mapping[TopicPartition, int],
    topics: Mapping[str, TopicView],
    seconds: float,
) -> GroupFigures:
    positions = committed.get(listing.group_id)
    if positions is None:
        return GroupFigures(listing, None)
    lag = sum(max(0, ends[where] - offset) for where, offset in positions.items() if where in ends)
    earlier = before.get(listing.group_id)
    moved = None
    if earlier is not None and seconds > 0:
        moved = sum(max(0, offset - earlier.get(where, offset)) for where, offset in positions.items()) / seconds
    named = tuple(sorted({where.topic for where in positions if where.topic in topics}))
    return GroupFigures(listing, lag if positions else None, named, moved)
