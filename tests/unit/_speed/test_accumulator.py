"""The accumulator and its twin: the same records go the same way into the same bytes."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest

from moldau._speed.reference import accumulator as reference
from moldau._speed.reference import delivery as reference_delivery
from moldau.protocol.records import BatchBuilder, decode_batch

accumulator = pytest.importorskip("moldau._speed.accumulator")
delivery = pytest.importorskip("moldau._speed.delivery")


@pytest.fixture(params=["compiled", "reference"])
def kind(request: pytest.FixtureRequest) -> ModuleType:
    module: ModuleType = reference if request.param == "reference" else accumulator
    return module


class World:
    """An accumulator over one topic, with a batch type that is as plain as can be."""

    def __init__(
        self, kind: ModuleType, partitions: int = 3, size: int = 1000, memory: int = 1_000_000, **options: bool
    ) -> None:
        writer, sent_record = BatchBuilder, delivery.SentRecord
        if kind is reference:
            sent_record = reference_delivery.SentRecord
            from moldau._speed.reference.writer import RecordWriter

            class writer(RecordWriter):  # type: ignore[no-redef]
                pass

        class Batch(writer):  # type: ignore[misc, valid-type]
            delivery: Any = None

        class Future(sent_record):  # type: ignore[misc, valid-type]
            __slots__ = ()

        def open_batch(lane: Any) -> Batch:
            batch = Batch(size)
            batch.delivery = (lane.partition, len(self.opened))
            self.opened.append(batch)
            return batch

        self.opened: list[Any] = []
        self.wakes = 0
        self.lanes = [kind.Lane("rivers", number) for number in range(partitions)]
        self.it = kind.Accumulator(
            Future, open_batch, self.wake, ready_size=size, max_record=size * 10, memory=memory, **options
        )
        self.it.set_topic("rivers", self.lanes, range(partitions))

    def wake(self) -> None:
        self.wakes += 1

    def records(self, lane: Any) -> list[tuple[Any, Any]]:
        lane.seal()
        found = []
        for batch in lane.waiting:
            found += [(record.key, record.value) for record in decode_batch(batch.pack())]
        return found


@pytest.mark.parametrize("length", range(20))
def test_the_hash_is_the_same(length: int) -> None:
    data = bytes(range(200, 200 + length))
    assert accumulator.murmur2(data) == reference.murmur2(data) == accumulator.murmur2(memoryview(data))


def test_the_hash_is_the_one_java_computes() -> None:
    # From the tests of Java's client.
    assert reference.murmur2(b"21") == (-973932308) & 0xFFFFFFFF
    assert reference.murmur2(b"a-little-bit-long-string") == (-985981536) & 0xFFFFFFFF


def test_keys_choose_the_partition_and_order_is_kept(kind: ModuleType) -> None:
    world = World(kind)
    sent: dict[int, list[tuple[bytes, bytes]]] = {number: [] for number in range(3)}
    for number in range(500):
        key, value = b"key %d" % (number % 50), b"value %d" % number
        future = world.it.send("rivers", value, key)
        assert future is not None
        sent[(reference.murmur2(key) & 0x7FFFFFFF) % 3].append((key, value))
        assert (future.serialized_key_size, future.serialized_value_size) == (len(key), len(value))
    assert {lane.partition: world.records(lane) for lane in world.lanes} == sent
    assert len(world.opened) > 3


def test_records_without_a_key_stay_until_a_batch_is_full(kind: ModuleType) -> None:
    world = World(kind, partitions=4, memory=10_000_000)
    chosen = [world.it.send("rivers", bytes(100)).delivery[0] for _ in range(2000)]
    changes = [index for index, (before, after) in enumerate(pairwise(chosen), 1) if before != after]
    assert changes
    # A record takes 107 bytes, so ten of them are the first to reach the batch's thousand.
    assert {index % 10 for index in changes} == {0}
    assert set(chosen) == {0, 1, 2, 3}


def choices(world: World, times: int) -> Counter[int]:
    """Which partitions are chosen when each record fills a batch; what is chosen is taken at once."""
    chosen: Counter[int] = Counter()
    for _ in range(times):
        lane = world.lanes[world.it.send("rivers", bytes(1000)).delivery[0]]
        chosen[lane.partition] += 1
        lane.seal()
        while lane.waiting:
            batch = lane.waiting.popleft()
            lane.taken(batch.size - 61)
            world.it.release(batch.size - 61)
    return chosen


def test_the_shorter_a_queue_the_likelier_it_is_chosen(kind: ModuleType) -> None:
    world = World(kind, partitions=3)
    for number, batches in ((0, 9), (1, 4)):
        for _ in range(batches):
            world.it.send("rivers", bytes(1000), partition=number)
    assert [lane.queued // 1000 for lane in world.lanes] == [9, 4, 0]
    # Chances of 1, 6 and 10 in 17, as long as the queues stay: they are put back after each choice.
    chosen: Counter[int] = Counter()
    for _ in range(3000):
        lane = world.lanes[world.it.send("rivers", bytes(1000)).delivery[0]]
        chosen[lane.partition] += 1
        lane.seal()
        batch = lane.waiting.pop()
        lane.taken(batch.size - 61)
        world.it.release(batch.size - 61)
    assert 3000 / 17 * 0.5 < chosen[0] < 3000 / 17 * 2
    assert chosen[0] < chosen[1] < chosen[2]
    assert 3000 * 6 / 17 * 0.75 < chosen[1] < 3000 * 6 / 17 * 1.3


def test_without_queues_every_partition_has_the_same_chance(kind: ModuleType) -> None:
    chosen = choices(World(kind, partitions=4), 4000)
    assert all(700 < chosen[number] < 1300 for number in range(4))


def test_queues_are_not_looked_at_unless_wanted(kind: ModuleType) -> None:
    world = World(kind, partitions=2, memory=10_000_000, adaptive=False)
    for _ in range(500):
        world.it.send("rivers", bytes(1000), partition=0)
    full = world.lanes[0].queued
    chosen = Counter(world.it.send("rivers", bytes(1000)).delivery[0] for _ in range(1000))
    assert full > 500_000
    assert 350 < chosen[0] < 650


def test_partitions_that_are_not_available_are_avoided_but_can_be_named(kind: ModuleType) -> None:
    world = World(kind, partitions=3)
    while world.it.send("rivers", bytes(10)).delivery[0] != 1:
        world.it.set_topic("rivers", world.lanes, range(3))  # until the partition we want is the one
    world.it.set_available("rivers", [0, 2])
    assert 1 not in choices(world, 200)
    assert world.it.send("rivers", b"x", partition=1) is not None
    world.it.set_available("rivers", [1])
    assert set(choices(world, 20)) == {1}
    world.it.set_available("rivers", [])
    assert world.it.send("rivers", b"x") is None
    world.it.set_available("lakes", [0])  # not known, and no matter


def test_keys_can_be_ignored(kind: ModuleType) -> None:
    world = World(kind, partitions=4, memory=10_000_000, ignore_keys=True)
    chosen = {world.it.send("rivers", bytes(500), b"one key").delivery[0] for _ in range(500)}
    assert chosen == {0, 1, 2, 3}


def test_what_cannot_be_decided_at_once_is_left_to_others(kind: ModuleType) -> None:
    world = World(kind, memory=5000)
    assert world.it.send("lakes", b"x") is None
    assert world.it.send("rivers") is None
    assert world.it.send("rivers", b"x", partition=3) is None
    assert world.it.send("rivers", bytes(20_000)) is None
    while world.it.send("rivers", bytes(900), partition=0) is not None:
        pass
    assert 4000 < world.it.used <= 5000
    world.it.release(world.it.used)
    assert world.it.send("rivers", bytes(900)) is not None
    world.it.halted = True
    assert world.it.send("rivers", b"x") is None


@pytest.mark.parametrize("wrong", ["text", 5, [b"x"]])
def test_only_bytes_are_taken(kind: ModuleType, wrong: Any) -> None:
    world = World(kind)
    for arguments in ({"value": wrong}, {"key": wrong}, {"value": b"x", "headers": [("name", wrong)]}):
        with pytest.raises(TypeError):
            world.it.send("rivers", **arguments)
    with pytest.raises(TypeError):
        world.it.send("rivers", b"x", headers={"a": b"b"})
    assert world.it.used == 0


def test_serializers_are_called(kind: ModuleType) -> None:
    world = World(kind, partitions=1)
    world.it.key_serializer = str.encode
    world.it.value_serializer = lambda value: b"%d" % value
    world.it.send("rivers", 7, key="k", headers=[("h", b"v")], timestamp_ms=5)
    assert world.records(world.lanes[0]) == [(b"k", b"7")]


def test_wakes_when_a_batch_is_opened_and_when_it_is_full(kind: ModuleType) -> None:
    world = World(kind, size=1000)
    world.it.send("rivers", b"x", partition=0)
    assert world.wakes == 1
    world.it.send("rivers", b"x", partition=1)
    assert world.wakes == 1, "it is awake already"
    assert [lane.partition for lane in world.it.take_active()] == [0, 1]
    world.it.armed = True
    world.it.send("rivers", b"x", partition=0)
    assert world.wakes == 1, "nothing new to see"
    while len(world.opened) < 3:
        world.it.send("rivers", bytes(90), partition=0)
    assert world.wakes == 2


def test_threads_do_not_disturb_each_other(kind: ModuleType) -> None:
    world = World(kind, partitions=2, size=2000, memory=1 << 30)
    taken: list[Any] = []
    over = threading.Event()

    def send(name: int) -> None:
        for number in range(3000):
            future = world.it.send("rivers", b"%d:%d" % (name, number), partition=name % 2, headers=[("a", b"b")])
            assert future.delivery is not None

    def drain() -> None:
        while not over.is_set():
            for lane in world.lanes:
                lane.seal()
                while lane.waiting:
                    taken.append(lane.waiting.popleft())

    threads = [threading.Thread(target=send, args=(name,)) for name in range(4)]
    drainer = threading.Thread(target=drain)
    for thread in (*threads, drainer):
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    drainer.join()
    for lane in world.lanes:
        lane.seal()
        taken += lane.waiting
    seen: dict[bytes, list[int]] = {}
    for batch in taken:
        for record in decode_batch(batch.pack()):
            name, number = (record.value or b"").split(b":")
            seen.setdefault(name, []).append(int(number))
    assert seen == {b"%d" % name: list(range(3000)) for name in range(4)}


def test_futures_are_nothing_to_the_garbage_collector() -> None:
    world = World(accumulator)
    assert not gc.is_tracked(world.it.send("rivers", b"v", partition=0))
