"""Where a producer's records wait to be sent: one lane per partition, and the choice of the lane. The specification.

`Accumulator.send` is called once per record by the application's threads, and nothing else is: so it looks up, hashes,
serializes, encodes and counts in one call. Whatever it cannot decide at once (a topic it has not heard of, no memory
left, a record that is too large, a producer that is closed) it answers with None and leaves to slower hands.

The sender takes batches from the lanes on its own thread. The compiled twin needs no lock, because nothing in it lets
another thread run in the middle; this one does.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from random import randrange
from typing import Any

from moldau._speed.reference.delivery import SentRecord
from moldau._speed.reference.writer import RecordWriter
from moldau.types import Buffer

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: Buffer) -> int:
    """The 32-bit MurmurHash2 with the seed Kafka uses, as an unsigned number."""
    length = len(data)
    value = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little")
        word = (word * _MULTIPLIER) & _MASK
        word ^= word >> 24
        word = (word * _MULTIPLIER) & _MASK
        value = ((value * _MULTIPLIER) & _MASK) ^ word
    if length > whole:
        value ^= int.from_bytes(data[whole:], "little")
        value = (value * _MULTIPLIER) & _MASK
    value ^= value >> 13
    value = (value * _MULTIPLIER) & _MASK
    return value ^ (value >> 15)


class Lane:
    """The batches of one partition, oldest first: those in `waiting` take no more records, `batch` still does.

    `queued` is how many bytes all of them hold; who takes a batch says so with `taken`.
    """

    def __init__(self, topic: str, partition: int, owner: Any = None) -> None:
        self.topic = topic
        self.partition = partition
        self.owner = owner
        self.batch: RecordWriter | None = None
        self.delivery: Any = None
        self.waiting: deque[Any] = deque()
        self.active = False
        self.queued = 0
        self.lock = threading.RLock()

    def seal(self) -> None:
        """What is appended from here on goes into another batch."""
        with self.lock:
            batch, self.batch, self.delivery = self.batch, None, None
            if batch is not None:
                self.waiting.append(batch)

    def taken(self, size: int) -> None:
        with self.lock:
            self.queued -= size


class Accumulator:
    """`open_batch(lane)` gives a batch with a `delivery`; `wake()` is called when a batch was opened or is full.

    Records without a key (with `ignore_keys`, all of them) go to one partition for as long as a batch takes to fill.
    Which one is next is chance; with `adaptive` the less a partition has waiting the likelier it is, so that a slow
    broker is given as much as it can take and no more (KIP-794).
    """

    def __init__(
        self,
        future_type: type[SentRecord],
        open_batch: Callable[[Lane], Any],
        wake: Callable[[], None],
        *,
        ready_size: int,
        max_record: int,
        memory: int,
        adaptive: bool = True,
        ignore_keys: bool = False,
    ) -> None:
        self.key_serializer: Callable[[Any], Any] | None = None
        self.value_serializer: Callable[[Any], Any] | None = None
        self.halted = False
        self.armed = True
        self.used = 0
        self.records = 0
        self.memory = memory
        self.active: list[Lane] = []
        self._future_type = future_type
        self._open_batch = open_batch
        self._wake = wake
        self._ready_size = ready_size
        self.max_record = max_record
        self._adaptive = adaptive
        self._ignore_keys = ignore_keys
        self._lanes: dict[str, Sequence[Lane]] = {}
        self._available: dict[str, Sequence[int]] = {}
        self._sticky: dict[str, tuple[int, int]] = {}
        self._lock = threading.RLock()

    def set_topic(self, topic: str, lanes: Sequence[Lane], available: Sequence[int]) -> None:
        """`available` are the partitions that have a leader: records without a key go to one of those."""
        with self._lock:
            for lane in lanes:
                lane.lock = self._lock
            self._lanes[topic] = lanes
            self._available[topic] = available
            self._sticky.pop(topic, None)

    def set_available(self, topic: str, available: Sequence[int]) -> None:
        """The same lanes, but records without a key go to others of them from here on."""
        with self._lock:
            if topic in self._lanes:
                self._available[topic] = available
                if self._sticky.get(topic, (-1, 0))[0] not in available:
                    self._sticky.pop(topic, None)

    def knows(self, topic: str) -> bool:
        return topic in self._lanes

    def release(self, size: int) -> None:
        with self._lock:
            self.used -= size

    def take_active(self) -> list[Lane]:
        """The lanes that have batches; each is named again when it gets another record."""
        with self._lock:
            active, self.active = self.active, []
            for lane in active:
                lane.active = False
            return active

    def keep_active(self, lane: Lane) -> None:
        with self._lock:
            if not lane.active:
                lane.active = True
                self.active.append(lane)

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> SentRecord | None:
        """Serializes and appends."""
        if self.halted or topic not in self._lanes or (key is None and value is None):
            return None
        if self.key_serializer is not None:
            key = self.key_serializer(key)
        if self.value_serializer is not None:
            value = self.value_serializer(value)
        return self.append(topic, value, key, headers, partition, timestamp_ms)

    def append(
        self,
        topic: str,
        value: Buffer | None,
        key: Buffer | None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> SentRecord | None:
        if key is not None and type(key) is not bytes:
            key = bytes(memoryview(key))
        if value is not None and type(value) is not bytes:
            value = bytes(memoryview(value))
        header_size = _size_of_headers(headers) if headers else -1
        with self._lock:
            lanes = self._lanes.get(topic)
            size = len(key or b"") + len(value or b"") + max(header_size, 0)
            if lanes is None or self.halted or size > self.max_record or self.used + size > self.memory:
                return None
            index = self._choose(topic, len(lanes), key) if partition is None else partition
            if not 0 <= index < len(lanes):
                return None
            return self._add(lanes[index], value, key, headers, timestamp_ms, header_size, partition is None)

    def _add(
        self,
        lane: Lane,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
        timestamp_ms: int | None,
        header_size: int,
        chosen: bool,
    ) -> SentRecord:
        stamp = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
        opened = lane.batch is None
        batch = lane.batch or self._open(lane)
        before = batch.size
        if not batch.append(stamp, key, value, headers):
            lane.seal()
            batch = self._open(lane)
            opened = True
            before = batch.size
            batch.append(stamp, key, value, headers)
        added = batch.size - before
        self.used += added
        lane.queued += added
        self.records += 1
        if chosen and (key is None or self._ignore_keys):
            index, room = self._sticky[lane.topic]
            self._sticky[lane.topic] = (index, room - added)
        future = self._future_type.__new__(self._future_type)
        future.delivery = lane.delivery
        future.index = batch.count - 1
        future.stamp = stamp
        future.serialized_key_size = -1 if key is None else len(key)
        future.serialized_value_size = -1 if value is None else len(value)
        future.serialized_header_size = header_size
        if self.armed and (opened or batch.size >= self._ready_size > before):
            self.armed = False
            self._wake()
        return future

    def _open(self, lane: Lane) -> RecordWriter:
        batch: RecordWriter = self._open_batch(lane)
        lane.batch = batch
        lane.delivery = batch.delivery  # type: ignore[attr-defined]
        if not lane.active:
            lane.active = True
            self.active.append(lane)
        return batch

    def _choose(self, topic: str, count: int, key: bytes | None) -> int:
        """By the key's hash as Java computes it; without a key one partition for as long as a batch takes to fill."""
        if key is not None and not self._ignore_keys:
            return (murmur2(key) & 0x7FFFFFFF) % count if count else -1
        index, room = self._sticky.get(topic, (-1, 0))
        if room <= 0:
            available = self._available[topic]
            if not available:
                return -1
            index = self._roll(self._lanes[topic], available)
            self._sticky[topic] = (index, self._ready_size)
        return index

    def _roll(self, lanes: Sequence[Lane], available: Sequence[int]) -> int:
        """Each partition's chance is what the longest queue has more than its own, in batches, and one."""
        if not self._adaptive:
            return available[randrange(len(available))]
        lengths = [lanes[index].queued // self._ready_size for index in available]
        longest = max(lengths)
        at = randrange(sum(longest + 1 - length for length in lengths))
        for index, length in zip(available, lengths, strict=True):
            at -= longest + 1 - length
            if at < 0:
                return index
        raise AssertionError("a number below the sum is below one of the partial sums")


def _size_of_headers(headers: Sequence[tuple[str, bytes | None]]) -> int:
    if not isinstance(headers, list | tuple):
        raise TypeError("headers must be a list of (str, bytes) pairs")
    total = 0
    for pair in headers:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError("headers must be a list of (str, bytes) pairs")
        if pair[1] is not None and not isinstance(pair[1], bytes):
            raise TypeError("headers must be a list of (str, bytes) pairs")
        total += len(pair[0].encode("utf-8", "surrogateescape")) + len(pair[1] or b"")
    return total
