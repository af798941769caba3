"""The shard runtime at its edges: operations that were cut off, loads that were overtaken, the end of a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from coordinator_world import NO_REPLICAS, FakeTime, FakeTimer, Hurry, MemoryLog
from test_coordinator_runtime import TOPIC, TYPES, WHERE, Counter, World, outcome, record

from moldau.coordinator.marker import Marker
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.shard import CoordinatorRecord, Result, ShardContext
from moldau.coordinator.timers import ShardTimers
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import EndTransaction, encode_batch, end_transaction_record
from moldau.slicing import Slicer, Work
from moldau.types import TopicPartition


class SlowWorld(World):
    """Operations that can pause do."""

    def __init__(self) -> None:
        super().__init__()
        self.runtime = CoordinatorRuntime(
            TOPIC, TYPES, Counter, self.log, self.time, self.time, slicer=Slicer(self.time, Hurry())
        )


def paused(shard: Counter) -> Work[Result[int]]:
    for _ in range(10):
        yield
    return shard.set("long", 1)


def test_what_is_cut_off_by_unloading_is_told_so_and_writes_nothing() -> None:
    world = SlowWorld()
    world.load()
    long = world.runtime.write("long", 0, paused)
    behind = world.runtime.write("behind", 0, lambda shard: shard.set("a", 1))
    world.time.turn()
    assert (outcome(long), outcome(behind)) == (None, None)
    world.runtime.unload(0, 2)
    world.time.settle()
    assert (outcome(long), outcome(behind)) == (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR)
    assert world.log.batches[WHERE] == []


def test_a_batch_may_be_as_large_as_the_limit() -> None:
    world = World()
    world.load()
    world.set("a", 1)
    (written,) = world.log.batches[WHERE]
    world.log.limit = len(written)
    assert world.set("a", 2) == 1
    world.log.limit = len(written) - 1
    assert world.set("a", 3) == ErrorCode.MESSAGE_TOO_LARGE
    assert world.runtime.read("look", 0, lambda shard, _: shard.counts["a"]) == 2


def test_records_that_may_be_split_stay_together_as_far_as_there_is_room() -> None:
    world = World()
    world.load()
    many = [record(f"n{number}", number) for number in range(100)]
    world.runtime.write("many", 0, lambda shard: Result(many, None, atomic=False))
    assert len(world.log.batches[WHERE]) == 1
    world.log.limit = len(world.log.batches[WHERE][0])
    world.runtime.write("many", 0, lambda shard: Result(many, None, atomic=False))
    assert 1 < len(world.log.batches[WHERE]) <= 4


def test_a_producer_counts_only_within_its_transaction() -> None:
    world = World()
    shard = world.load()
    world.set("a", 5, producer_id=7, producer_epoch=0)
    assert (dict(shard.counts.items()), len(shard.pending)) == ({"a": 5}, 0)
    reloaded = world.load(2)
    assert (dict(reloaded.counts.items()), len(reloaded.pending)) == ({"a": 5}, 0)


class Witness(Counter):
    """Remembers on whose behalf it was told."""

    def __init__(self, context: ShardContext) -> None:
        super().__init__(context)
        self.producers: list[tuple[int, int]] = []

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int, producer_epoch: int) -> None:
        self.producers.append((producer_id, producer_epoch))


def test_a_shard_is_told_the_producer_and_its_epoch() -> None:
    time, log = FakeTime(), MemoryLog()
    runtime = CoordinatorRuntime(TOPIC, TYPES, Witness, log, time, time)
    for epoch in (1, 2):
        runtime.load(0, epoch)
        time.settle()
        if epoch == 1:
            for transactional in (True, False):
                runtime.write(
                    "set",
                    0,
                    lambda shard: shard.set("a", 1),
                    producer_id=7,
                    producer_epoch=3,
                    transactional=transactional,
                )
        assert runtime.read("look", 0, lambda shard, _: shard.producers) == [(7, 3), (-1, -1)]


def test_one_record_that_is_too_large_by_itself_is_refused_where_records_may_be_split() -> None:
    world = World()
    shard = world.load()
    world.log.limit = 500
    many = [record("small", 1), record("n" * 600, 2), record("after", 3)]
    answer = world.runtime.write("many", 0, lambda shard: Result(many, None, atomic=False))
    assert outcome(answer) == ErrorCode.MESSAGE_TOO_LARGE
    assert (dict(shard.counts.items()), world.log.batches[WHERE]) == ({}, []), "nor is what stands before it written"
    answer = world.runtime.write("many", 0, lambda shard: Result(many[1:], None, atomic=False))
    assert outcome(answer) == ErrorCode.MESSAGE_TOO_LARGE
    assert world.log.batches[WHERE] == []


def test_a_refusal_of_the_decision_takes_back_what_it_changed_on_the_way() -> None:
    world = World()
    shard = world.load()
    world.set("a", 1)

    def refuse(shard: Counter) -> Result[int]:
        shard.counts["a"] = 99
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)

    assert outcome(world.runtime.write("refuse", 0, refuse)) == ErrorCode.GROUP_ID_NOT_FOUND
    assert shard.counts["a"] == 1


def test_an_answer_without_records_waits_for_those_the_leader_before_left() -> None:
    world = World(automatic=False)
    world.load()
    world.set("a", 1)
    world.load(2)
    look = world.runtime.write("look", 0, lambda shard: Result([], shard.counts["a"]))
    assert outcome(look) is None
    world.log.commit(WHERE)
    assert outcome(look) == 1
    assert outcome(world.runtime.write("look", 0, lambda shard: Result([], shard.counts["a"]))) == 1


def test_a_late_answer_is_given_once() -> None:
    world = World(automatic=False)
    world.load()
    heard: list[KafkaError | None] = []
    world.runtime.write("set", 0, lambda shard: shard.set("a", 1, done=heard.append))
    world.log.commit(WHERE)
    world.time.advance(10_000)
    assert heard == [None], "the timer of what was committed is gone"
    world.runtime.write("set", 0, lambda shard: shard.set("a", 2, done=heard.append))
    world.runtime.unload(0, 2)
    world.time.advance(10_000)
    assert [error and error.code for error in heard] == [None, ErrorCode.NOT_COORDINATOR]


def test_a_high_watermark_that_goes_back_takes_nothing_back() -> None:
    world = World(automatic=False)
    world.load()
    world.set("a", 1)
    world.log.commit(WHERE)
    world.log.commit_to(WHERE, 0)
    assert world.runtime.read("look", 0, lambda shard, committed: committed) == 1
    assert world.runtime.read("look", 0, lambda shard, committed: shard.counts.get_at("a", committed)) == 1


# ------------------------------------------------------------------------------------------------ loading, unloading


def test_news_of_an_epoch_that_is_known_changes_nothing() -> None:
    world = World()
    shard = world.load(3)
    world.runtime.load(0, 3)
    world.runtime.load(0, 2)
    world.runtime.unload(0, 3)
    world.runtime.unload(0, 2)
    assert world.runtime.is_loaded(0)
    assert world.runtime.read("look", 0, lambda shard, _: shard) is shard
    assert not shard.unloaded
    world.runtime.unload(0, 4)
    assert shard.unloaded
    world.runtime.load(0, 4)
    assert not world.runtime.loading, "it was led elsewhere in that epoch"


def test_a_partition_that_was_deleted_may_begin_with_any_epoch() -> None:
    world = World()
    world.load(7)
    world.runtime.unload(0, None)
    assert not world.runtime.is_loaded(0)
    world.load(0)
    assert world.runtime.is_loaded(0)


def test_a_load_that_is_overtaken_finishes_nowhere() -> None:
    world = World()
    world.load()
    for number in range(20):
        world.set(f"n{number}", number)
    world.runtime.load(0, 2)
    world.runtime.unload(0, 3)
    world.time.settle()
    assert not world.runtime.loading
    assert not world.runtime.is_loaded(0)
    world.runtime.load(0, 4)
    world.runtime.load(0, 5)
    world.time.settle()
    shard = world.runtime.read("look", 0, lambda shard, _: shard)
    assert (shard.context.epoch, len(shard.counts)) == (5, 20)


class Ticking(FakeTime):
    """A clock on which every look costs three milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self.ticks = 0
        self.turns = 0

    def monotonic(self) -> float:
        self.ticks += 1
        return super().monotonic() + 0.003 * self.ticks

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> FakeTimer:
        self.turns += 1
        return super().call_later(delay_seconds, callback)


def test_a_large_log_is_loaded_in_many_turns() -> None:
    world = World()
    world.load()
    for number in range(100):
        world.set(f"n{number}", number)
    time = Ticking()
    runtime = CoordinatorRuntime(TOPIC, TYPES, Counter, world.log, time, time, load_slice=1 << 20)
    runtime.load(0, 2)
    time.settle()
    assert len(runtime.read("look", 0, lambda shard, _: shard.counts)) == 100
    assert 25 < time.turns < 200


def test_a_log_that_cannot_be_read_is_not_answered_for() -> None:
    world = World()
    world.load()
    world.set("a", 1)
    world.log.batches[WHERE].append(encode_batch([(0, b"\0", b"?", ())], base_offset=1))
    world.log._ends[WHERE] = 2
    world.runtime.load(0, 2)
    world.time.settle()
    assert not world.runtime.loading
    assert world.set("a", 2) == ErrorCode.NOT_COORDINATOR


def test_a_disk_that_cannot_be_read_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    world.load()

    def read(*_: object) -> NoReturn:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "Reading failed.")

    monkeypatch.setattr(world.log, "read", read)
    world.runtime.load(0, 2)
    world.time.settle()
    assert world.set("a", 2) == ErrorCode.NOT_COORDINATOR
    (told,) = [record for record in caplog.records if "could not be loaded" in record.message]
    assert (told.levelname, told.exc_info) == ("ERROR", None)
    monkeypatch.undo()
    world.runtime.load(0, 3)
    world.time.settle()
    assert world.set("a", 3) == ErrorCode.NONE


def test_records_of_a_type_nobody_knows_are_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.load()
    world.set("a", 1)
    strange = [(0, b"\0\x63rest", b"\0\0", ())] * 2
    world.log.append(WHERE, bytearray(encode_batch(strange)))
    world.set("b", 2)
    assert dict(world.load(2).counts.items()) == {"a": 1, "b": 2}
    assert caplog.text.count("type 99") == 1


def test_what_lies_before_the_start_of_the_log_is_not_replayed() -> None:
    world = World()
    world.load()
    many = [record("old", 1), record("new", 2)]
    world.set("first", 0)
    world.runtime.write("many", 0, lambda shard: Result(many, None))
    world.log.log_start_offset = lambda partition: 2  # type: ignore[method-assign]
    assert dict(world.load(2).counts.items()) == {"new": 2}


def test_a_log_whose_last_batches_were_compacted_away_goes_on_at_its_end() -> None:
    world = World()
    world.load()
    for number in range(3):
        world.set("a", number)
    del world.log.batches[WHERE][-1]
    shard = world.load(2)
    assert shard.counts["a"] == 1
    assert world.set("a", 9) == 1
    assert world.runtime.read("look", 0, lambda shard, committed: committed) == 4


def test_control_records_that_are_no_markers_change_nothing() -> None:
    world = World()
    world.load()
    producer = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    world.set("a", 5, **producer)
    fields = {"is_control": True, "is_transactional": True, "producer_id": 7, "producer_epoch": 0}
    world.log.append(WHERE, bytearray(encode_batch([(0, b"\0\0\0\5", b"\0\0\0\0\0\0", ())], **fields)))
    assert dict(world.load(2).pending.items()) == {7: ("a", 5)}
    ended = end_transaction_record(EndTransaction(True, 0), 0)
    world.log.append(WHERE, bytearray(encode_batch([ended], **fields)))
    assert dict(world.load(3).counts.items()) == {"a": 5}


# ------------------------------------------------------------------------------------------------------------ timers


def test_a_timeout_that_cannot_be_written_is_tried_again_unless_somebody_has_said_otherwise() -> None:
    world = World()
    shard = world.load()
    timers = shard.context.timers
    tried: list[int] = []

    def late(now: int) -> Result[None]:
        tried.append(now)
        if len(tried) == 2:
            timers.schedule("t", 60_000, lambda now: Result([record("other", now)], None))
        return Result([record("late", now)], None)

    world.log.refuse = NO_REPLICAS
    timers.schedule("t", 100, late)
    world.time.advance(30_000)
    assert len(tried) == 2, "the second time it put another in its place"
    world.log.refuse = None
    world.time.advance(60_000)
    assert list(shard.counts) == ["other"]


def test_a_timeout_that_was_written_is_over() -> None:
    world = World()
    shard = world.load()
    tried: list[int] = []

    def late(now: int) -> Result[None]:
        tried.append(now)
        return Result([record("late", now)], None)

    shard.context.timers.schedule("t", 100, late)
    world.time.advance(30_000)
    assert len(tried) == 1


def test_a_timeout_that_changed_the_shard_itself_is_not_tried_again() -> None:
    world = World()
    shard = world.load()
    tried: list[int] = []

    def late(now: int) -> Result[None]:
        tried.append(now)
        return Result([record("late", now)], None, replay=False)

    world.log.refuse = NO_REPLICAS
    shard.context.timers.schedule("t", 100, late)
    world.time.advance(30_000)
    assert len(tried) == 1


def test_no_timeout_of_a_shard_that_is_gone_is_tried_again() -> None:
    world = World(automatic=False)
    shard = world.load()
    tried: list[int] = []

    def late(now: int) -> Result[None]:
        tried.append(now)
        return Result([record("late", now)], None)

    shard.context.timers.schedule("t", 100, late)
    world.time.advance(200)
    world.runtime.unload(0, 2)
    world.time.advance(30_000)
    assert len(tried) == 1
    assert len(shard.context.timers) == 0


def test_timers_that_are_moved() -> None:
    time = FakeTime()
    fired: list[tuple[str, int]] = []
    timers = ShardTimers(time, time, lambda key, operation: fired.append((key, time.now_ms() - 1_000_000)))

    def operation(now: int) -> Result[None]:
        return Result([], None)

    timers.schedule("later", 100, operation)
    timers.schedule("later", 300, operation)
    timers.schedule("sooner", 300, operation)
    timers.schedule("sooner", 100, operation)
    timers.schedule("never", 100, operation)
    timers.cancel("never")
    timers.schedule("now", -5, operation)
    assert (timers.is_scheduled("later"), timers.is_scheduled("never"), len(timers)) == (True, False, 3)
    time.advance(1000)
    assert fired == [("now", 0), ("sooner", 100), ("later", 300)]
    assert len(timers) == 0
    # What is due is taken once, and only by the operation that was scheduled last.
    assert timers.take("later", operation)
    assert not timers.take("later", operation)
    assert not timers.take("sooner", lambda now: Result([], None))


def test_partitions_of_which_nobody_asked_to_be_loaded() -> None:
    time, log = FakeTime(), MemoryLog()
    runtime: Any = CoordinatorRuntime(TOPIC, TYPES, Counter, log, time, time)
    assert outcome(runtime.write("set", 3, lambda shard: shard.set("a", 1))) == ErrorCode.NOT_COORDINATOR
    assert outcome(runtime.write_marker(3, Marker(7, 0, True, 0))) == ErrorCode.NOT_COORDINATOR
    with pytest.raises(KafkaError) as refused:
        runtime.partition_of("group")
    assert refused.value.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    runtime.load(3, 0)
    assert outcome(runtime.write_marker(3, Marker(7, 0, True, 0))) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    time.settle()
    log.refuse = NO_REPLICAS
    assert outcome(runtime.write_marker(3, Marker(7, 0, True, 0))) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert log.batches[TopicPartition(TOPIC, 3)] == []
    runtime.close()
    assert not runtime.is_loaded(3)
