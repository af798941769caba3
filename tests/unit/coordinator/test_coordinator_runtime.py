"""The shard runtime under a counter: the smallest shard there can be."""

from __future__ import annotations

from typing import Any

import pytest
from coordinator_world import NO_REPLICAS, FakeTime, Hurry, MemoryLog

from moldau.coordinator.marker import Marker
from moldau.coordinator.partition_hash import java_hash, partition_for
from moldau.coordinator.record_framing import RecordType, decode_record, encode_key, encode_value
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.shard import CoordinatorRecord, Result, ShardContext
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.messages.offset_commit_key import OffsetCommitKey
from moldau.protocol.messages.offset_commit_value import OffsetCommitValue
from moldau.protocol.records import read_header
from moldau.slicing import Slicer, run_whole
from moldau.timeline import TimelineMap
from moldau.types import TopicPartition

TOPIC = "__counters"
TYPES = {1: RecordType(OffsetCommitKey, OffsetCommitValue)}
WHERE = TopicPartition(TOPIC, 0)


class Counter:
    """Counts per name; what a transaction adds counts when it is committed."""

    def __init__(self, context: ShardContext) -> None:
        self.context = context
        self.counts: TimelineMap[str, int] = TimelineMap(context.registry)
        self.pending: TimelineMap[int, tuple[str, int]] = TimelineMap(context.registry)
        self.loaded = self.unloaded = False

    def set(self, name: str, value: int, **options: Any) -> Result[int]:
        return Result([record(name, value)], self.counts.get(name, 0), **options)

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int, producer_epoch: int) -> None:
        assert isinstance(record.key, OffsetCommitKey)
        assert isinstance(record.value, OffsetCommitValue)
        if producer_id >= 0:
            self.pending[producer_id] = (record.key.group, record.value.offset)
        else:
            self.counts[record.key.group] = record.value.offset

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        pending = self.pending.pop(producer_id)
        if committed and pending is not None:
            self.counts[pending[0]] = pending[1]

    def on_loaded(self, image: object) -> None:
        self.loaded = True

    def on_unloaded(self) -> None:
        self.unloaded = True

    def on_new_image(self, image: object, delta: object) -> None: ...


def record(name: str, value: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=name, topic="t"), OffsetCommitValue(offset=value), 3)


class World:
    def __init__(self, *, automatic: bool = True) -> None:
        self.time = FakeTime()
        self.log = MemoryLog(automatic)
        self.runtime = CoordinatorRuntime(TOPIC, TYPES, Counter, self.log, self.time, self.time, load_slice=100)

    def load(self, epoch: int = 1) -> Counter:
        self.runtime.load(0, epoch)
        self.time.settle()
        return next(shard for _, shard, _ in self.runtime.shards())

    def set(self, name: str, value: int, **options: Any) -> Any:
        return outcome(self.runtime.write("set", 0, lambda shard: shard.set(name, value), **options))


def outcome(deferred: Any) -> Any:
    """The value, the code it failed with, or None while it is open."""
    seen: list[Any] = []
    deferred.then(lambda value, error: seen.append(value if error is None else error.code))
    return seen[0] if seen else None


def test_an_operation_is_answered_when_its_records_are_committed() -> None:
    world = World(automatic=False)
    shard = world.load()
    first = world.runtime.write("set", 0, lambda shard: shard.set("a", 1))
    second = world.runtime.write("set", 0, lambda shard: shard.set("a", 2))
    read = world.runtime.write("look", 0, lambda shard: Result([], shard.counts["a"]))
    assert (outcome(first), outcome(second), outcome(read)) == (None, None, None)
    assert shard.counts["a"] == 2, "the next decision sees what was decided before"
    assert world.runtime.read("look", 0, lambda shard, committed: shard.counts.get_at("a", committed)) is None
    world.log.commit_to(WHERE, 1)
    assert (outcome(first), outcome(second)) == (0, None)
    assert world.runtime.read("look", 0, lambda shard, committed: shard.counts.get_at("a", committed)) == 1
    world.log.commit(WHERE)
    assert (outcome(second), outcome(read)) == (1, 2)


def test_a_refused_append_takes_the_change_back() -> None:
    world = World()
    shard = world.load()
    assert world.set("a", 1) == 0
    world.log.refuse = NO_REPLICAS
    assert world.set("a", 2) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shard.counts["a"] == 1
    world.log.refuse = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert world.set("a", 2) == ErrorCode.NOT_COORDINATOR
    world.log.refuse = None
    assert world.set("a", 3) == 1


def test_an_append_that_is_never_committed_is_answered_after_a_while() -> None:
    world = World(automatic=False)
    shard = world.load()
    noted: list[KafkaError | None] = []
    answer = world.runtime.write("set", 0, lambda shard: shard.set("a", 1, done=noted.append))
    world.time.advance(5000)
    assert outcome(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert [error and error.code for error in noted] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    world.log.commit(WHERE)
    assert shard.counts["a"] == 1, "it was late, not undone"
    assert len(noted) == 1


def test_who_is_told_of_the_commit_without_replay() -> None:
    world = World()
    shard = world.load()
    noted: list[KafkaError | None] = []
    world.runtime.write("set", 0, lambda shard: shard.set("a", 1, replay=False, done=noted.append))
    assert noted == [None]
    assert "a" not in shard.counts
    assert world.load(2).counts["a"] == 1


def test_loading_replays_everything_in_slices_and_answers_meanwhile() -> None:
    world = World()
    world.load()
    for number in range(50):
        world.set(f"n{number % 7}", number)
    live = dict(world.load(1).counts.items()) if world.runtime.is_loaded(0) else {}
    world.runtime.load(0, 2)
    assert world.set("n0", 0) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.time.settle()
    shard = world.runtime.read("look", 0, lambda shard, _: shard)
    assert dict(shard.counts.items()) == live
    assert shard.loaded


def test_unloading_fails_what_waits_and_what_comes() -> None:
    world = World(automatic=False)
    shard = world.load()
    answer = world.runtime.write("set", 0, lambda shard: shard.set("a", 1))
    fired: list[int] = []
    shard.context.timers.schedule("t", 100, lambda now: fired.append(now) or Result([], None))  # type: ignore[func-returns-value]
    world.runtime.unload(0, 2)
    assert outcome(answer) == ErrorCode.NOT_COORDINATOR
    assert world.set("a", 1) == ErrorCode.NOT_COORDINATOR
    assert shard.unloaded
    world.time.advance(1000)
    assert fired == []
    world.runtime.load(0, 1)
    assert not world.runtime.loading, "news of an older epoch changes nothing"


def test_records_beyond_the_high_watermark_are_loaded_but_not_yet_committed() -> None:
    world = World(automatic=False)
    world.load()
    world.set("a", 1)
    world.log.commit(WHERE)
    world.set("a", 2)
    shard = world.load(2)
    assert shard.counts["a"] == 2
    # The leader before may have answered for it: until that is known, nothing is said to be committed.
    with pytest.raises(KafkaError) as refused:
        world.runtime.read("look", 0, lambda shard, committed: shard.counts.get_at("a", committed))
    assert refused.value.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.runtime.loading
    world.log.commit(WHERE)
    assert not world.runtime.loading
    assert world.runtime.read("look", 0, lambda shard, committed: shard.counts.get_at("a", committed)) == 2


def test_a_transaction_counts_when_its_marker_says_so() -> None:
    world = World()
    shard = world.load()
    producer = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    world.set("a", 5, **producer)
    assert "a" not in shard.counts
    assert outcome(world.runtime.write_marker(0, Marker(7, 0, True, 3))) is None
    assert shard.counts["a"] == 5
    world.set("a", 6, **producer)
    world.runtime.write_marker(0, Marker(7, 0, False, 3))
    world.set("b", 1, **producer)
    reloaded = world.load(2)
    assert dict(reloaded.counts.items()) == {"a": 5}
    assert dict(reloaded.pending.items()) == {7: ("b", 1)}


def test_a_timeout_is_an_operation_and_is_tried_again() -> None:
    world = World()
    shard = world.load()
    timers = shard.context.timers
    timers.schedule("t", 100, lambda now: Result([record("late", now)], None))
    world.time.advance(60)
    timers.schedule("t", 100, lambda now: Result([record("late", now)], None))
    world.time.advance(60)
    assert "late" not in shard.counts, "scheduling again moves the deadline"
    world.log.refuse = NO_REPLICAS
    world.time.advance(60)
    assert "late" not in shard.counts
    world.log.refuse = None
    world.time.advance(500)
    assert shard.counts["late"] == 1_000_000 + 160 + 500
    timers.schedule("t", 100, lambda now: Result([record("late", 0)], None))
    timers.schedule("t", 50, lambda now: Result([record("early", 1)], None))
    timers.cancel("t")
    world.time.advance(200)
    assert "early" not in shard.counts


@pytest.mark.parametrize("said", ["again", "never"])
def test_a_timeout_that_had_to_wait_is_dropped_by_what_stood_before_it(said: str) -> None:
    """A member's heartbeat came in time and waited for the same long operation as the end of its session."""
    world = World()
    shard = world.load()
    timers = shard.context.timers

    def late(now: int) -> Result[None]:
        return Result([record("late", now)], None)

    def heartbeat(shard: Counter) -> Result[int]:
        if said == "again":
            timers.schedule("t", 100, late)
        else:
            timers.cancel("t")
        return shard.set("heard", 1)

    def long(shard: Counter) -> Result[int]:
        world.runtime.write("heartbeat", 0, heartbeat)
        world.time.advance(100)
        return shard.set("a", 1)

    timers.schedule("t", 100, late)
    world.runtime.write("long", 0, long)
    world.time.advance(0)
    assert shard.counts["heard"] == 1
    assert "late" not in shard.counts
    world.time.advance(100)
    assert ("late" in shard.counts) is (said == "again")


def test_what_has_no_place_in_a_record_is_refused_and_whoever_waits_for_its_end_hears_of_it() -> None:
    world = World()
    shard = world.load()
    heard: list[KafkaError | None] = []
    answer = world.runtime.write("set", 0, lambda shard: shard.set("n" * 40_000, 1, done=heard.append))
    assert outcome(answer) == ErrorCode.INVALID_REQUEST
    assert [error and error.code for error in heard] == [ErrorCode.INVALID_REQUEST]
    assert not shard.counts
    assert world.set("a", 1) == 0


def test_an_operation_asked_for_inside_another_waits_for_it() -> None:
    world = World()
    shard = world.load()
    inner: list[Any] = []

    def outer(shard: Counter) -> Result[int]:
        inner.append(world.runtime.write("inner", 0, lambda shard: shard.set("a", shard.counts["a"] + 1)))
        assert not inner[0].settled
        return shard.set("a", 10)

    assert outcome(world.runtime.write("outer", 0, outer)) == 0
    assert outcome(inner[0]) == 10
    assert shard.counts["a"] == 11


def test_what_an_operation_without_records_leads_to_has_its_turn() -> None:
    world = World()
    shard = world.load()
    inner: list[Any] = []

    def look(shard: Counter) -> Result[int]:
        inner.append(world.runtime.write("inner", 0, lambda shard: shard.set("a", 1)))
        assert not inner[0].settled
        return Result((), len(shard.counts))

    assert outcome(world.runtime.write("look", 0, look)) == 0
    assert outcome(inner[0]) == 0
    assert shard.counts["a"] == 1


def test_a_refused_operation_leaves_nothing_behind() -> None:
    world = World()
    shard = world.load()

    def refuse(shard: Counter) -> Result[int]:
        shard.counts["a"] = 1
        raise KafkaError(ErrorCode.INVALID_REQUEST)

    assert outcome(world.runtime.write("refuse", 0, refuse)) == ErrorCode.INVALID_REQUEST
    assert "a" not in shard.counts


def test_many_records_are_split_only_where_they_may_be() -> None:
    world = World()
    world.log.limit = 2000
    shard = world.load()
    many = [record(f"n{number}", number) for number in range(100)]
    together = world.runtime.write("many", 0, lambda shard: Result(many, None))
    assert outcome(together) == ErrorCode.MESSAGE_TOO_LARGE
    assert len(shard.counts) == 0
    world.runtime.write("many", 0, lambda shard: Result(many, None, atomic=False))
    assert len(shard.counts) == 100
    assert all(len(batch) <= 2000 for batch in world.log.batches[WHERE])


def test_the_first_records_of_a_change_stay_together_where_they_must() -> None:
    world = World()
    world.log.limit = 2000
    shard = world.load()
    many = [record(f"n{number}", number) for number in range(100)]
    refused = world.runtime.write("many", 0, lambda shard: Result(many, None, atomic=False, together=50))
    assert outcome(refused) == ErrorCode.MESSAGE_TOO_LARGE
    assert len(shard.counts) == 0
    world.runtime.write("many", 0, lambda shard: Result(many, None, atomic=False, together=15))
    assert len(shard.counts) == 100
    assert read_header(world.log.batches[WHERE][0], 0).count >= 15


def test_of_a_change_with_one_record_that_is_too_large_nothing_is_written(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.log.limit = 2000
    shard = world.load()
    records = [*(record(f"n{number}", number) for number in range(100)), record("long" * 1000, 1)]
    refused = world.runtime.write("many", 0, lambda shard: Result(records, None, atomic=False))
    assert outcome(refused) == ErrorCode.MESSAGE_TOO_LARGE
    assert len(shard.counts) == 0
    assert not world.log.batches[WHERE]
    (said,) = caplog.messages
    assert "bytes in __counters-0, which allows 2000 (max.message.bytes)" in said
    assert "OffsetCommitKey(group='longlong" in said


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("polygenelubricants", -(1 << 31)),
        ("éa", 233 * 31 + 97),
        ("😀", 0xD83D * 31 + 0xDE00),
    ],
)
def test_hashes_are_those_of_java(text: str, value: int) -> None:
    assert java_hash(text) == value
    assert 0 <= partition_for(text, 50) < 50


def test_records_are_framed_as_kafka_frames_them() -> None:
    framed = record("g", 5)
    key, value = encode_key(framed.key), run_whole(encode_value(framed))
    assert key == b"\0\1" + b"\0\1g" + b"\0\1t" + b"\0\0\0\0"
    assert value is not None
    assert value.startswith(b"\0\3" + (5).to_bytes(8, "big"))
    assert decode_record(TYPES, key, value) == framed
    assert decode_record(TYPES, key, None) == CoordinatorRecord(framed.key, None)
    assert decode_record(TYPES, b"\0\x63rest", value) is None
    for bad_key, bad_value in [(None, value), (b"\0", value), (key, b"\0"), (key, b"\0\x63"), (key[:5], value)]:
        with pytest.raises(ProtocolError):
            decode_record(TYPES, bad_key, bad_value)


def test_an_operation_on_all_shards_takes_them_one_by_one() -> None:
    time, log = FakeTime(), MemoryLog()
    runtime = CoordinatorRuntime(TOPIC, TYPES, Counter, log, time, time, slicer=Slicer(time, Hurry()))
    for partition in range(20):
        runtime.load(partition, 1)
    time.settle()
    runtime.write_all("set", lambda shard: shard.set("a", 1))
    assert sum(map(len, log.batches.values())) < 5
    time.settle()
    assert [len(log.batches[TopicPartition(TOPIC, partition)]) for partition in range(20)] == [1] * 20


def test_a_fault_of_one_operation_is_told_to_whoever_asked_and_stops_nobody_else() -> None:
    world = World()
    world.load()

    def broken(_shard: Counter) -> Result[int]:
        raise ZeroDivisionError

    seen: list[BaseException | None] = []
    world.runtime.write("broken", 0, broken).then(lambda _, error: seen.append(error))
    assert [type(error) for error in seen] == [ZeroDivisionError]
    assert world.set("a", 1) == 0


def test_what_waits_behind_a_long_operation_is_done_in_order_however_much_it_is() -> None:
    time, log = FakeTime(), MemoryLog()
    runtime = CoordinatorRuntime(TOPIC, TYPES, Counter, log, time, time, slicer=Slicer(time, Hurry()))
    runtime.load(0, 1)
    time.settle()

    def long(shard: Counter) -> Any:
        for _ in range(50):
            yield
        return shard.set("n", 0)

    answers = [runtime.write("long", 0, long)]
    # Far more than Python's stack is deep.
    answers += [runtime.write("next", 0, lambda shard, n=n: shard.set("n", n)) for n in range(1, 3000)]  # type: ignore[misc]
    assert outcome(answers[0]) is None
    time.settle()
    assert [outcome(answer) for answer in answers] == [0, *range(2999)]
