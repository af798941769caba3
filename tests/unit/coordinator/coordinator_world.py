"""The world around a coordinator in tests: a log in memory, a clock that only moves when told, seeded chance."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import assign_offsets, read_header
from moldau.slicing import SLICE_SECONDS
from moldau.types import TopicPartition


class FakeTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeTime:
    """Clock and Loop in one: `advance(ms)` runs everything that falls due, in order."""

    def __init__(self, now_ms: int = 1_000_000) -> None:
        self._now = now_ms
        self._order = count()
        self._timers: list[tuple[float, int, FakeTimer]] = []
        self._soon: list[Callable[[], None]] = []

    def now_ms(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return self._now / 1000

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(callback)
        heapq.heappush(self._timers, (self._now + delay_seconds * 1000, next(self._order), timer))
        return timer

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        self.advance(0)

    def turn(self) -> None:
        """What was asked for before now, and nothing that follows from it."""
        soon, self._soon = self._soon, []
        for callback in soon:
            callback()

    def advance(self, ms: int) -> None:
        end = self._now + ms
        while True:
            while self._soon:
                self._soon.pop(0)()
            if not self._timers or self._timers[0][0] > end + 0.001:
                break
            due, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, round(due))
            if timer.callback is not None:
                timer.callback()
        self._now = end


class Hurry:
    """A clock on which every slice of work is over after one step."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += SLICE_SECONDS * 1.25
        return self._now


class SeededRandom:
    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


class PatientWorkers:
    """Does a job on the loop, in the order they were given; a test can hold them back."""

    def __init__(self, time: FakeTime) -> None:
        self._time = time
        self.held: list[Callable[[], None]] | None = None

    def submit(self, job: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        def work() -> None:
            try:
                result = job()
            except Exception as error:
                done(None, error)
            else:
                done(result, None)

        if self.held is None:
            self._time.call_soon(work)
        else:
            self.held.append(work)

    def close(self) -> None:
        raise NotImplementedError


@dataclass(slots=True)
class Role:
    is_leader: bool
    leader_epoch: int
    has_runs: bool = field(default=True, compare=False)


class MemoryLog:
    """Partitions as lists of batches. `automatic` moves the high watermark with every append, else a test does."""

    def __init__(self, automatic: bool = True) -> None:
        self.automatic = automatic
        self.refuse: KafkaError | None = None
        self.refuse_marker: KafkaError | None = None
        self.shortage = ErrorCode.NONE
        self.roles: dict[TopicPartition, Role] = {}
        self.batches: dict[TopicPartition, list[bytes]] = defaultdict(list)
        self._ends: dict[TopicPartition, int] = defaultdict(int)
        self._marks: dict[TopicPartition, int] = defaultdict(int)
        self._listeners: dict[TopicPartition, list[Callable[[int], None]]] = defaultdict(list)
        self.limit = 1 << 20

    def role(self, partition: TopicPartition, leader_epoch: int) -> Role:
        """Whoever loads a partition leads it from then on, unless the test says otherwise."""
        role = self.roles[partition] = Role(True, leader_epoch)
        return role

    def check_marker(
        self, partition: TopicPartition, producer_id: int, producer_epoch: int, transaction_version: int
    ) -> None:
        if self.refuse_marker is not None:
            raise self.refuse_marker

    def replicated(self, partition: TopicPartition, offset: int) -> ErrorCode:
        return self.shortage

    def append(self, partition: TopicPartition, batch: bytearray, leader_epoch: int | None = None) -> int:
        """Without an epoch: as somebody has done before."""
        if self.refuse is not None:
            raise self.refuse
        role = self.roles.get(partition)
        if leader_epoch is not None and role is not None and role != Role(True, leader_epoch):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        header = read_header(batch, 0)
        assign_offsets(batch, 0, len(batch), self._ends[partition], 0)
        self.batches[partition].append(bytes(batch))
        self._ends[partition] += header.last_offset_delta + 1
        if self.automatic:
            self.commit(partition)
        return self._ends[partition]

    def append_run(
        self, partition: TopicPartition, batch: bytearray, records: int, now_ms: int, leader_epoch: int
    ) -> int | None:
        if self.refuse is not None or not self.automatic or not self.roles[partition].has_runs:
            return None
        assert read_header(batch, 0).count == records
        listeners = self._listeners.pop(partition, [])
        end = self.append(partition, batch, leader_epoch)
        self._listeners[partition] = listeners
        return end

    def commit(self, partition: TopicPartition) -> None:
        self._marks[partition] = self._ends[partition]
        for listener in list(self._listeners[partition]):
            listener(self._marks[partition])

    def commit_to(self, partition: TopicPartition, offset: int) -> None:
        self._marks[partition] = offset
        for listener in list(self._listeners[partition]):
            listener(offset)

    def truncate_to_high_watermark(self, partition: TopicPartition) -> None:
        """What a new leader that had only the committed part would have."""
        end = self._marks[partition]
        self.batches[partition] = [b for b in self.batches[partition] if read_header(b, 0).next_offset <= end]
        self._ends[partition] = end

    def read(self, partition: TopicPartition, offset: int, max_bytes: int) -> tuple[bytes, int]:
        data = bytearray()
        for batch in self.batches[partition]:
            if read_header(batch, 0).last_offset < offset:
                continue
            if data and len(data) + len(batch) > max_bytes:
                break
            data += batch
        return bytes(data), self._ends[partition]

    def log_start_offset(self, partition: TopicPartition) -> int:
        return 0

    def log_end_offset(self, partition: TopicPartition) -> int:
        return self._ends[partition]

    def high_watermark(self, partition: TopicPartition) -> int:
        return self._marks[partition]

    def max_batch_size(self, partition: TopicPartition) -> int:
        return self.limit

    def watch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        self._listeners[partition].append(listener)

    def unwatch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        self._listeners[partition].remove(listener)


NO_REPLICAS = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
