"""Reading partitions from given positions: what `moldau consume` reads with.

Each leader has one fetch in flight. It is sent again as soon as its answer is here and before its records are looked
at, so the broker works while we print. Whichever leader answers first is served first; one that has nothing waits at
the broker and holds nobody up.
"""

from __future__ import annotations

import select
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Final

from moldau.client.admin.offsets import IsolationLevel
from moldau.client.cluster import Cluster
from moldau.client.connection import Connection
from moldau.client.conversation import Conversation, Learn, retrying
from moldau.client.exchange import Call
from moldau.client.fetching import Fetched, FetchLimits, fetch_request, read_fetch
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.fetch import FetchResponse
from moldau.types import TopicPartition

# How much longer than the agreed waiting time an answer may take before the connection counts as lost.
_PATIENCE: Final = 30.0


@dataclass(slots=True)
class _Flight:
    connection: Connection
    call: Call
    positions: dict[TopicPartition, int]
    deadline: float


class Fetcher:
    """Fetches from `positions` on, partition by partition; `poll` gives what has come."""

    def __init__(
        self,
        cluster: Cluster,
        positions: Mapping[TopicPartition, int],
        *,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        limits: FetchLimits | None = None,
    ) -> None:
        self.positions = dict(positions)
        self._cluster = cluster
        self._isolation = isolation
        self._limits = limits or FetchLimits()
        self._flights: dict[int, _Flight] = {}
        self._failures = 0
        self._failing_since: float | None = None
        self._fatal: KafkaError | None = None
        self._next_doubt = 0.0

    def drop(self, where: TopicPartition) -> None:
        """Stops reading a partition; what is on its way for it is ignored."""
        self.positions.pop(where, None)

    def poll(self, timeout: float) -> list[Fetched]:
        """Waits up to `timeout` seconds for answers. Empty when there were none, or none with records.

        KafkaError when a partition cannot be read (its offset is gone, the topic was deleted), or when the cluster
        could not be reached for as long as its time-out says.
        """
        if not self.positions:
            return []
        if self._fatal is not None:
            raise self._fatal
        try:
            self._send()
            fetched = self._receive(timeout)
        except KafkaError as error:
            self._back_off(error)
            return []
        if fetched:
            self._failures, self._failing_since = 0, None
        return fetched

    # ---------------------------------------------------------------------------------------------------- inside

    def _send(self) -> None:
        """A fetch to each leader that has none in flight, for the partitions that are in no flight."""
        flying = {where for flight in self._flights.values() for where in flight.positions}
        idle = [where for where in self.positions if where not in flying]
        if not idle:
            return
        view = self._cluster.run(_known(sorted({where.topic for where in idle})))
        for node, positions in self._by_leader(view, idle).items():
            if node in self._flights:
                continue
            ask = fetch_request(view, positions, self._limits, self._isolation, node)
            connection = self._cluster.connection(node, monotonic() + self._cluster.timeout)
            call = connection.send(ask.request, at_most=ask.at_most)
            deadline = monotonic() + self._limits.max_wait_ms / 1000 + _PATIENCE
            self._flights[node] = _Flight(connection, call, positions, deadline)

    def _by_leader(self, view: ClusterView, partitions: list[TopicPartition]) -> dict[int, dict[TopicPartition, int]]:
        """Positions grouped by leader. Partitions without one do not hold up the others, unless there are no others."""
        groups: dict[int, dict[TopicPartition, int]] = {}
        leaderless: KafkaError | None = None
        for where in partitions:
            try:
                groups.setdefault(view.leader(where), {})[where] = self.positions[where]
            except KafkaError as error:
                leaderless = error
        if leaderless is not None:
            if not groups and not self._flights:
                raise leaderless
            if monotonic() >= self._next_doubt:
                self._next_doubt = monotonic() + self._cluster.backoff.limit
                self._cluster.doubt()
        return groups

    def _receive(self, timeout: float) -> list[Fetched]:
        """What has come. A failure is raised only if nothing did: records whose position has moved must not be lost."""
        fetched: list[Fetched] = []
        failure: KafkaError | None = None
        for node in self._ready(timeout):
            flight = self._flights.pop(node)
            try:
                response: FetchResponse = flight.connection.wait(flight.call, max(flight.deadline - monotonic(), 0.001))
                _check(error_code(response.error_code))
            except KafkaError as error:
                failure = failure or error
                continue
            for part in read_fetch(self._cluster.view, flight.positions, response, self._isolation):
                # A partition may have been dropped while its fetch was on its way.
                if part.partition not in self.positions:
                    continue
                if part.error is not ErrorCode.NONE:
                    failure = failure or _refusal(part)
                    continue
                self.positions[part.partition] = part.next_position
                fetched.append(part)
        if failure is not None:
            if not fetched:
                raise failure
            self._cluster.doubt()
            self._fatal = None if failure.retriable else failure
        elif fetched:
            self._send_ahead()
        return fetched

    def _send_ahead(self) -> None:
        """The next fetch, before anybody has looked at the records of the last one."""
        with suppress(KafkaError):  # the next poll tries the same and may complain
            self._send()

    def _ready(self, timeout: float) -> list[int]:
        """The nodes whose answers have begun to arrive, or are overdue."""
        settled = [node for node, flight in self._flights.items() if flight.call.settled]
        if settled:
            return settled
        poller = select.poll()
        nodes = {}
        for node, flight in self._flights.items():
            poller.register(flight.connection.fileno(), select.POLLIN)
            nodes[flight.connection.fileno()] = node
        ready = [nodes[descriptor] for descriptor, _ in poller.poll(timeout * 1000)]
        now = monotonic()
        return ready or [node for node, flight in self._flights.items() if flight.deadline < now]

    def _back_off(self, error: KafkaError) -> None:
        """Waits before the next try, with nothing believed about leaders; raises what will not pass."""
        now = monotonic()
        self._failing_since = self._failing_since or now
        if not error.retriable or now - self._failing_since > self._cluster.timeout:
            raise error
        # Flights that did not fail stay: their answers still count. Those of lost connections end by themselves.
        self._flights = {node: flight for node, flight in self._flights.items() if flight.connection.usable}
        sleep(self._cluster.backoff.delay(self._failures))
        self._failures += 1
        self._cluster.doubt()


def _check(code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        raise KafkaError(code)


def _refusal(part: Fetched) -> KafkaError:
    where = part.partition
    if part.error is ErrorCode.OFFSET_OUT_OF_RANGE:
        kept = f"; it begins at {part.log_start_offset}" if part.log_start_offset >= 0 else ""
        return KafkaError(part.error, f"Partition {where} has no offset {part.position}{kept}.")
    return KafkaError(part.error, f"Partition {where}: {part.error.text}")


def _known(topics: list[str]) -> Conversation[ClusterView]:
    def attempt() -> Conversation[ClusterView]:
        view: ClusterView = yield Learn(topics)
        return view

    return retrying(attempt)
