"""Random schedules of a share group over one partition: members, locks, lost writes, new leaders, a moving log.

What is tried is the state machine of the leader and the coordinator that keeps its state, over a log in memory. The
model beside them knows of each offset who has it, what was confirmed of it, and what nobody can know. The invariants:

one holder          a record is in flight with at most one member of a leader
done stays done     what was acknowledged, and told to be written down, is never delivered again
attempts            no record is delivered more often than the limit says
nothing skipped     the start passes no record that is not done with, given up, aborted or gone
survival            a coordinator that loads its log again has the state it had
delivered           in the end, without faults, all of the log is done with
"""

from __future__ import annotations

import random
from typing import Any, Final, NamedTuple

from coordinator_world import FakeTime, MemoryLog

from moldau.coordinator.share.coordinator import ShareCoordinator
from moldau.coordinator.share.settings import ShareCoordinatorSettings
from moldau.coordinator.share.state import SHARE_STATE_TOPIC
from moldau.coordinator.share.state_batches import Batch
from moldau.errors import ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages import read_share_group_state as reads
from moldau.protocol.messages import write_share_group_state as writes
from moldau.protocol.messages.partition_record import PartitionRecord
from moldau.protocol.messages.topic_record import TopicRecord
from moldau.server.share.acquisition import Span
from moldau.server.share.share_partition import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    Change,
    Limits,
    SharePartition,
)

TOPIC_ID: Final = (7).to_bytes(16, "big")
MEMBERS: Final = ("a", "b", "c")
LOCK_MS: Final = 1000


class Held(NamedTuple):
    member: str
    deliveries: int
    until_ms: int


class Write(NamedTuple):
    """What is under way to the coordinator, and of whom."""

    request: writes.WriteShareGroupStateRequest
    changes: list[Change]
    epoch: int


class Schedule:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.time = FakeTime()
        self.state_log = MemoryLog()
        settings = ShareCoordinatorSettings(updates_per_snapshot=self.chance.choice((0, 3, 500)))
        self.coordinator = ShareCoordinator(settings, self.state_log, self.time, self.time, lambda *_: None)
        self.coordinator_epoch = 0
        self._make_topics()
        self.reload_coordinator()
        row = initializes.PartitionData(partition=0, state_epoch=1, start_offset=0)
        topics = [initializes.InitializeStateData(topic_id=TOPIC_ID, partitions=[row])]
        self._ask(
            self.coordinator.initialize(initializes.InitializeShareGroupStateRequest(group_id="g", topics=topics))
        )
        # The log: its batches, where it begins and ends, and which of its batches are of aborted transactions.
        self.batches: list[Span] = []
        self.log_start = self.log_end = 0
        self.aborted: set[Span] = set()
        # What the model knows.
        self.held: dict[int, Held] = {}
        self.done: set[int] = set()
        self.given_up: set[int] = set()
        self.perhaps: set[int] = set()
        # What was said of offsets and is being written down.
        self.said: dict[int, int] = {}
        self.limits = Limits(LOCK_MS, self.chance.choice((2, 3, 5)), self.chance.choice((5, 20, 1000)))
        self.epoch = 0
        self.queue: list[Change] = []
        self.under_way: Write | None = None
        self.partition = SharePartition(0)
        self.lead()

    # ------------------------------------------------------------------------------------------- the world around it

    def _make_topics(self) -> None:
        image = MetadataImage()
        for number, name in ((1, SHARE_STATE_TOPIC), (7, "t")):
            topic_id = number.to_bytes(16, "big")
            delta = MetadataDelta(image)
            delta.replay(TopicRecord(name=name, topic_id=topic_id))
            delta.replay(PartitionRecord(partition_id=0, topic_id=topic_id, replicas=[1], isr=[1], leader=1))
            image = delta.apply(image.offset + 1, 1)
            self.coordinator.on_image(delta, image)

    def _ask(self, answer: Any) -> Any:
        self.time.settle()
        found: list[Any] = []
        answer.then(lambda response, error: found.extend((response, error)))
        response, error = found
        assert error is None, error
        return response.results[0].partitions[0]

    def reload_coordinator(self) -> None:
        self.coordinator_epoch += 1
        self.coordinator.load(0, self.coordinator_epoch)
        self.time.settle()

    def _read(self, epoch: int) -> Any:
        row = reads.PartitionData(partition=0, leader_epoch=epoch)
        topics = [reads.ReadStateData(topic_id=TOPIC_ID, partitions=[row])]
        return self._ask(self.coordinator.read(reads.ReadShareGroupStateRequest(group_id="g", topics=topics)))

    # --------------------------------------------------------------------------------------------------- the events

    def run(self, steps: int) -> None:
        events = (
            *(self.append, self.fetch, self.fetch, self.fetch, self.acknowledge, self.acknowledge, self.acknowledge),
            *(self.send, self.send, self.settle, self.settle, self.release, self.wait, self.wait),
            *(self.lead, self.survive, self.compact, self.delete),
        )
        for _ in range(steps):
            self.chance.choice(events)()
            self.check_nothing_skipped()
        self.drain()

    def append(self) -> None:
        """Some batches, perhaps with a hole before one of them."""
        for _ in range(self.chance.randrange(1, 4)):
            first = self.log_end + self.chance.choice((0, 0, 0, 2))
            span = Span(first, first + self.chance.randrange(6))
            self.batches.append(span)
            self.log_end = span.last + 1
            if self.chance.random() < 0.15:
                self.aborted.add(span)

    def compact(self) -> None:
        """A batch is gone from the middle."""
        if len(self.batches) > 1 and self.chance.random() < 0.5:
            self.aborted.discard(self.batches.pop(self.chance.randrange(len(self.batches) - 1)))

    def delete(self) -> None:
        if self.chance.random() < 0.2 and self.log_end > self.log_start:
            self.log_start = self.chance.randrange(self.log_start, self.log_end + 1)

    def fetch(self, member: str | None = None) -> list[tuple[int, int, int]]:
        partition, member = self.partition, member or self.chance.choice(MEMBERS)
        partition.move_start(self.log_start)
        self.held = {offset: held for offset, held in self.held.items() if offset >= self.log_start}
        offset = partition.next_fetch_offset
        spans = [span for span in self.batches if span.last >= max(offset, self.log_start)][:5]
        if not partition.has_room or not spans:
            return []
        most = self.chance.choice((1, 4, 100))
        exact = self.chance.random() < 0.5
        taken = partition.acquire(
            member,
            offset,
            spans,
            most,
            self.time.now_ms(),
            batch_size=self.chance.choice((2, 100)),
            exact=exact,
            aborted=[span for span in spans if span in self.aborted],
        )
        if exact:
            assert sum(last - first + 1 for first, last, _ in taken) <= most, "attempts"
        for first, last, deliveries in taken:
            assert deliveries <= self.limits.deliveries, "attempts"
            for each in range(first, last + 1):
                self._check_free(each)
                self.held[each] = Held(member, deliveries, self.time.now_ms() + LOCK_MS)
        return [tuple(each) for each in taken]  # type: ignore[misc]

    def _check_free(self, offset: int) -> None:
        before = self.held.get(offset)
        assert before is None or (before.until_ms <= self.time.now_ms() and offset not in self.said), "one holder"
        assert offset not in self.done, "done stays done"
        assert not any(span.first <= offset <= span.last for span in self.aborted), "aborted records are nobody's"

    def acknowledge(self) -> None:
        member = self.chance.choice(MEMBERS)
        mine = sorted(
            offset
            for offset, held in self.held.items()
            if held.member == member and offset not in self.said and offset >= self.partition.start
        )
        if not mine:
            return
        count = self.chance.randrange(1, len(mine) + 1)
        begin = self.chance.randrange(len(mine) - count + 1)
        kinds = [self.chance.choice((GAP, ACCEPT, ACCEPT, RELEASE, REJECT, RENEW)) for _ in range(count)]
        self.say(member, dict(zip(mine[begin : begin + count], kinds, strict=True)))

    def say(self, member: str, kinds: dict[int, int]) -> None:
        said = [Acknowledgement(offset, offset, [kind]) for offset, kind in kinds.items()]
        change = self.partition.acknowledge(member, said, self.time.now_ms())
        for offset, kind in kinds.items():
            if kind == RENEW:
                self.held[offset] = self.held[offset]._replace(until_ms=self.time.now_ms() + LOCK_MS)
            else:
                self.said[offset] = kind
        if change is not None:
            self.queue.append(change)

    def release(self) -> None:
        member = self.chance.choice(MEMBERS)
        change = self.partition.release(member)
        if change is None:
            return
        self.queue.append(change)
        for first, last in change.ranges:
            for offset in range(first, last + 1):
                self.said.setdefault(offset, RELEASE)

    def wait(self) -> None:
        self.time.advance(self.chance.choice((10, LOCK_MS // 2, LOCK_MS)))
        if self.chance.random() < 0.8:
            self.expire()

    def expire(self) -> None:
        change = self.partition.expire(self.time.now_ms())
        if change is None:
            return
        for first, last, _, _ in change.batches:
            for offset in range(first, last + 1):
                held = self.held.pop(offset)
                assert held.until_ms <= self.time.now_ms(), "nobody loses what it still has"
                self._back(offset, held.deliveries)
        self.queue.append(change)

    def _back(self, offset: int, deliveries: int) -> None:
        if deliveries >= self.limits.deliveries:
            self.given_up.add(offset)

    def send(self) -> None:
        """All that waits goes in one request; one is under way at a time."""
        if self.under_way is not None or not self.queue:
            return
        changes, self.queue = self.queue, []
        row = writes.PartitionData(
            partition=0,
            state_epoch=1,
            leader_epoch=self.epoch,
            start_offset=self.partition.start,
            delivery_complete_count=self.partition.delivery_complete_count,
            state_batches=[
                writes.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
                for change in changes
                for first, last, state, count in change.batches
            ],
        )
        topics = [writes.WriteStateData(topic_id=TOPIC_ID, partitions=[row])]
        self.under_way = Write(writes.WriteShareGroupStateRequest(group_id="g", topics=topics), changes, self.epoch)

    def settle(self, *, faults: bool = True) -> None:
        """The write arrives and its answer comes back; or either is lost."""
        write, self.under_way = self.under_way, None
        if write is None:
            return
        arrives, is_told = (self.chance.random() < 0.85, self.chance.random() < 0.85) if faults else (True, True)
        if arrives:
            assert self._ask(self.coordinator.write(write.request)).error_code == 0
        for change in write.changes:
            self.partition.complete(change, written=arrives and is_told)
            for first, last in change.ranges:
                for offset in range(first, last + 1):
                    self._concluded(offset, applied=arrives, told=is_told)

    def _concluded(self, offset: int, *, applied: bool, told: bool) -> None:
        kind = self.said.pop(offset, None)
        held = self.held.get(offset)
        if kind is None or held is None:
            return
        if applied and told:
            del self.held[offset]
            if kind == RELEASE:
                self._back(offset, held.deliveries)
            else:
                self.done.add(offset)
        elif applied:
            # Told that it failed, although it is written: nobody can know, and it may be delivered again.
            self.perhaps.add(offset)

    def lead(self) -> None:
        """Somebody else leads, and reads the state; what was under way comes before that, or is fenced."""
        late = self.under_way
        self.under_way = None
        if late is not None and self.chance.random() < 0.5:
            assert self._ask(self.coordinator.write(late.request)).error_code == 0
            late = None
        self.perhaps |= set(self.said)
        self.said.clear()
        self.queue.clear()
        self.held.clear()
        self.epoch += 1
        row = self._read(self.epoch)
        if late is not None:
            assert self._ask(self.coordinator.write(late.request)).error_code == ErrorCode.FENCED_LEADER_EPOCH
        self.partition = SharePartition(row.start_offset, _batches(row), self.limits)

    def survive(self) -> None:
        before = self._read(self.epoch)
        self.reload_coordinator()
        assert self._read(self.epoch) == before, "survival"

    # ------------------------------------------------------------------------------------------------- the invariants

    def check_nothing_skipped(self) -> None:
        start = self.partition.start
        for span in self.batches:
            if span.first >= start:
                break
            if span in self.aborted:
                continue
            for offset in range(max(span.first, self.log_start), min(span.last + 1, start)):
                known = offset in self.done or offset in self.given_up or offset in self.perhaps
                assert known, f"nothing skipped: {offset}"

    def drain(self) -> None:
        for _ in range(50 + 20 * self.log_end):
            self.send()
            self.settle(faults=False)
            taken = self.fetch("a")
            if taken:
                self.say("a", {offset: ACCEPT for first, last, _ in taken for offset in range(first, last + 1)})
            elif not self.queue and self.under_way is None:
                self.time.advance(LOCK_MS)
                self.expire()
            self.check_nothing_skipped()
            last = max((span.last for span in self.batches if span.last >= self.log_start), default=-1)
            if self.partition.start > last and not self.queue and self.under_way is None:
                return
        raise AssertionError("delivered: the rest of the log never was")


def _batches(row: Any) -> list[Batch]:
    return [
        Batch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in row.state_batches
    ]
