"""What the sender knows of one partition: the order of its batches, their sequence numbers, and what must be repeated.

The order is kept by one rule. While a batch that has to be repeated waits for those behind it to come back, nothing
more is sent; then the batches go out again, oldest first, one at a time, under the numbers they had. A broker that
wrote one of them already says so instead of writing it twice, and one that never saw it refuses those behind it, which
then come back here as well.

Numbers are given anew only when the broker and we disagree about them for good: a batch before was refused for its
content, or expired, or the broker has forgotten the producer. Then the epoch goes up by one and counting starts at
zero, for this partition alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Set
from math import inf

from moldau.client.producer.batch import NOBODY, SEQUENCES, Batch, Identity
from moldau.client.producer.delivery import Lane
from moldau.types import NO_LEADER, NO_SEQUENCE


class PartitionState:
    __slots__ = (
        *("broken", "failing", "failures", "identity", "in_flight", "lane", "leader", "next_sequence", "not_before"),
        "retries",
    )

    def __init__(self, topic: str, partition: int) -> None:
        self.lane = Lane(topic, partition, self)
        self.leader = NO_LEADER
        self.in_flight: deque[Batch] = deque()
        self.retries: deque[Batch] = deque()
        self.identity = NOBODY
        self.next_sequence = 0
        self.failing = False
        self.broken = False
        self.failures = 0
        self.not_before = 0.0

    @property
    def empty(self) -> bool:
        """Nothing waits to be sent."""
        return not (self.retries or self.lane.waiting or self.lane.batch is not None)

    @property
    def idle(self) -> bool:
        return not self.in_flight and not self.retries

    def ready_at(self, linger: float, hurry: bool, ready_size: int) -> float:
        """When the next batch may go: a time, or never while others have to come back first."""
        if self.failing or (self.retries and self.in_flight):
            return inf
        return max(self.not_before, self.due_at(linger, hurry, ready_size))

    def due_at(self, linger: float, hurry: bool, ready_size: int) -> float:
        """When the next batch should go, if nothing stood in its way."""
        if self.retries or self.lane.waiting:
            return 0.0
        batch = self.lane.batch
        if batch is None:
            return inf
        if hurry or linger <= 0 or batch.size >= ready_size:
            return 0.0
        opened: float = batch.created  # type: ignore[attr-defined]
        return opened + linger

    def first(self) -> Batch | None:
        """The batch that would go next, without taking it."""
        lane = self.lane
        if self.retries:
            return self.retries[0]
        found = lane.waiting[0] if lane.waiting else lane.batch
        return found if isinstance(found, Batch) else None

    def take(self) -> Batch | None:
        """The next batch, closed to further records and counted as in flight. Numbered by `number`."""
        if self.retries:
            batch = self.retries.popleft()
        else:
            # Sealed and taken from the queue, not read from the lane: a record may be appended at this moment.
            if not self.lane.waiting:
                self.lane.seal()
            if not self.lane.waiting:
                return None
            batch = self._next_waiting()
        batch.attempts += 1
        self.in_flight.append(batch)
        return batch

    def number(self, batch: Batch, identity: Identity) -> None:
        """Gives a batch its sequence; one that has been sent before keeps it."""
        if batch.sequence != NO_SEQUENCE or identity == NOBODY:
            return
        if self.identity != identity and len(self.in_flight) == 1 and not self.retries:
            # Nothing of the old epoch is under way any more, so the new one can begin.
            self.identity, self.next_sequence = identity, 0
        batch.identify(self.identity, self.next_sequence)
        self.next_sequence = (self.next_sequence + batch.count) % SEQUENCES

    def restart(self, identity: Identity) -> None:
        """Begins to count anew under another identity, what is to be repeated first."""
        self.broken = False
        self.identity, self.next_sequence = identity, 0
        for batch in self.retries:
            batch.identify(identity, self.next_sequence)
            self.next_sequence = (self.next_sequence + batch.count) % SEQUENCES

    def returned(self, batch: Batch) -> None:
        """An answer came, good or bad."""
        self.in_flight.remove(batch)
        if not self.in_flight:
            self.failing = False

    def repeat(self, batch: Batch) -> None:
        """It has to be sent again, before all that come after it."""
        behind: list[Batch] = []
        while self.retries and self.retries[-1].created > batch.created:
            behind.append(self.retries.pop())
        self.retries.append(batch)
        self.retries.extend(reversed(behind))
        self.failing = bool(self.in_flight)

    def expired(self, now: float, limit: float) -> list[Batch]:
        """Takes out the batches that waited too long; numbers that were used up for nothing break the sequence."""
        gone: list[Batch] = []
        while self.retries and now - self.retries[0].created >= limit:
            batch = self.retries.popleft()
            self.broken = self.broken or batch.sequence != NO_SEQUENCE
            gone.append(batch)
        if self.retries:
            return gone
        while self.lane.waiting and now - self.lane.waiting[0].created >= limit:
            gone.append(self._next_waiting())
        batch = self.first()  # type: ignore[assignment]
        if not self.lane.waiting and batch is not None and now - batch.created >= limit:
            gone += self._drain_lane()
        return gone

    def _next_waiting(self) -> Batch:
        batch: Batch = self.lane.waiting.popleft()
        self.lane.taken(batch.memory)
        return batch

    def _drain_lane(self) -> list[Batch]:
        self.lane.seal()
        drained: list[Batch] = []
        while self.lane.waiting:
            drained.append(self._next_waiting())
        return drained

    def unacknowledged(self) -> list[Batch]:
        everything = [*self.in_flight, *self.retries, *self.lane.waiting]
        if isinstance(self.lane.batch, Batch):
            everything.append(self.lane.batch)
        return everything

    def drain_unsent(self) -> list[Batch]:
        """Takes out what is not under way."""
        unsent = [*self.retries, *self._drain_lane()]
        self.retries.clear()
        return unsent

    def drain(self) -> list[Batch]:
        """Everything that has not been acknowledged, for good."""
        under_way = [*self.in_flight]
        self.in_flight.clear()
        return under_way + self.drain_unsent()


class UnavailableNodes:
    """Nodes that take nothing although something waits for them (KIP-794, `partitioner_availability_timeout_ms`).

    They may be away, or hang, or have as many requests unanswered as they may have. Records without a key go elsewhere
    until the first batch leaves for them again, or nothing waits for them any more. `nodes` are those that have taken
    nothing for longer than `timeout`; a timeout of 0 means that nobody asks.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.nodes: frozenset[int] = frozenset()
        self.next_look = inf
        self._since: dict[int, float] = {}

    def moves(self, node: int) -> None:
        """A batch has left for it."""
        self._since.pop(node, None)

    def look(self, waiting: Set[int], now: float) -> bool:
        """`waiting` are the nodes that something waits for; whether `nodes` has changed."""
        self._since = {node: self._since.get(node, now) for node in waiting if node >= 0}
        nodes = frozenset(node for node, since in self._since.items() if now - since >= self.timeout)
        pending = [since + self.timeout for node, since in self._since.items() if node not in nodes]
        self.next_look = min(pending, default=inf)
        changed, self.nodes = nodes != self.nodes, nodes
        return changed
