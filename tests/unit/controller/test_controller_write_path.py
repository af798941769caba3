"""From decision to committed metadata, and back when it does not get there."""

from __future__ import annotations

import sys

import pytest
from controller_kit import SlowWorld, World, refused, show

from moldau.controller.decision import MAX_RECORDS, MAX_TRANSACTION, TURN_RECORDS, Decision
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.features import LATEST_METADATA_VERSION
from moldau.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    Message,
    MetadataError,
    NoOpRecord,
    PartitionRecord,
    TopicRecord,
    versioned,
)
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from moldau.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.raft.batches import decode_batches, metadata_batch
from moldau.slicing import Slicer, Work
from moldau.storage.storage_error import StorageError


def _creation(world: World, *names: str, timeout_ms: int = 60_000) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[world.creation(name, 2, 1) for name in names], timeout_ms=timeout_ms)


def _answers(world: World, *names: str, timeout_ms: int = 60_000) -> list[CreateTopicsResponse | BaseException | None]:
    """A list that fills when the answer comes."""
    seen: list[CreateTopicsResponse | BaseException | None] = []
    answer = world.controller.create_topics(_creation(world, *names, timeout_ms=timeout_ms))
    answer.then(lambda value, error: seen.append(value if error is None else error))
    return seen


def test_an_answer_waits_for_the_commit_and_the_image_comes_first() -> None:
    world = World()
    topics_when_answered: list[set[str]] = []
    answer = world.controller.create_topics(_creation(world, "orders"))
    answer.then(lambda value, error: topics_when_answered.append(set(world.image.topics.by_name)))
    assert topics_when_answered == []
    assert world.image.topics.get("orders") is None
    world.quorum.commit()
    assert topics_when_answered == [{"orders"}]


def test_a_decision_sees_what_is_not_committed_yet() -> None:
    world = World()
    first = _answers(world, "orders")
    second = _answers(world, "orders")
    # The refusal rests on a topic that may still vanish, so it waits as well.
    assert second == []
    world.quorum.commit()
    assert isinstance(first[0], CreateTopicsResponse)
    assert isinstance(second[0], CreateTopicsResponse)
    assert second[0].topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_failed_append_changes_nothing() -> None:
    world = World()
    world.create("kept", 1, 1)
    before = show(world.image)
    world.quorum.failures = [StorageError("/disk", "Appending", OSError(28, "No space left on device"))]
    error = refused(world.controller.create_topics(_creation(world, "lost")))
    assert error.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.controller.state.topics.get("lost") is None
    world.quorum.commit()
    assert show(world.image) == before
    # And the controller goes on.
    assert world.create("lost", 1, 1).error_code == 0


def test_a_failed_append_keeps_what_was_appended_before_it() -> None:
    world = World()
    first = _answers(world, "first")
    world.quorum.failures = [StorageError("/disk", "Appending", OSError(5, "Input/output error"))]
    assert isinstance(_answers(world, "second")[0], KafkaError)
    third = _answers(world, "third")
    world.quorum.commit()
    assert first
    assert third
    assert set(world.image.topics.by_name) == {"first", "third"}


def test_a_lost_leadership_takes_back_what_was_not_committed() -> None:
    world = World()
    world.create("committed", 1, 1)
    seen = _answers(world, "uncommitted")
    deletion = world.controller.delete_topics(DeleteTopicsRequest(topic_names=["committed"], timeout_ms=10_000), 5)
    assert world.controller.state.topics.get("committed") is None
    world.quorum.lose_leadership()
    assert isinstance(seen[0], KafkaError)
    assert seen[0].code is ErrorCode.NOT_CONTROLLER
    assert refused(deletion).code is ErrorCode.NOT_CONTROLLER
    assert world.controller.state.topics.get("committed") is not None
    assert world.controller.state.topics.get("uncommitted") is None
    assert not world.controller.is_active
    assert refused(world.controller.create_topics(_creation(world, "more"))).code is ErrorCode.NOT_CONTROLLER
    # No timer of the old leadership is left.
    world.loop.advance(3600)
    assert world.loop.timers == 0


def test_a_partly_committed_log_keeps_the_committed_part() -> None:
    world = World()
    first = _answers(world, "first")
    middle = world.quorum.end_offset
    second = _answers(world, "second")
    world.quorum.commit(up_to=middle)
    assert isinstance(first[0], CreateTopicsResponse)
    assert second == []
    world.quorum.lose_leadership()
    assert isinstance(second[0], KafkaError)
    assert [topic.name for topic in world.controller.state.topics] == ["first"]


@pytest.mark.parametrize("reached_the_log", [False, True])
def test_a_process_killed_between_append_and_commit(reached_the_log: bool) -> None:
    """The caller never got an answer, so both outcomes are right; a half of it never is."""
    world = World()
    world.create("before", 1, 1)
    committed = world.quorum.log
    world.controller.create_topics(_creation(world, "orders", "payments"))
    survivor = World(log=world.quorum.log if reached_the_log else committed, brokers=())
    expected = {"before", "orders", "payments"} if reached_the_log else {"before"}
    assert set(survivor.image.topics.by_name) == expected
    assert {topic.name for topic in survivor.controller.state.topics} == expected
    assert all(len(topic.partitions) == 2 for name, topic in survivor.image.topics.by_name.items() if name != "before")


def test_an_operation_that_takes_too_long_is_answered_and_may_still_happen() -> None:
    world = World()
    seen = _answers(world, "orders", timeout_ms=5000)
    world.loop.advance(4.9)
    assert seen == []
    world.loop.advance(0.2)
    assert isinstance(seen[0], KafkaError)
    assert seen[0].code is ErrorCode.REQUEST_TIMED_OUT
    world.quorum.commit()
    assert len(seen) == 1
    assert "orders" in world.image.topics.by_name


def test_a_committed_operation_leaves_no_timer() -> None:
    world = World(has_local_broker=True)
    before = world.loop.timers
    _answers(world, "orders")
    world.quorum.commit()
    assert world.loop.timers == before


def test_the_first_controller_writes_the_first_records() -> None:
    world = World(brokers=())
    first = dict(world.image.features)
    assert first["metadata.version"] == 30
    again = World(log=world.quorum.log, brokers=())
    assert dict(again.image.features) == first
    # Only the new leader's own record was added.
    assert again.quorum.end_offset == world.quorum.end_offset + 1


def test_many_records_without_a_common_fate_are_written_in_several_batches() -> None:
    world = World(has_local_broker=True)
    for name in ("a", "b", "c"):
        world.create(name, 4000, 1)
    end = world.quorum.end_offset
    world.register(1, incarnation=2)
    assert world.quorum.end_offset == end + 12_000 + 1
    assert {state.leader for topic in world.image.topics.by_name.values() for state in topic.partitions.values()} == {
        -1
    }


def _log(*batches: list[Message]) -> bytes:
    data, offset = b"", 0
    for records in batches:
        data += metadata_batch([versioned(record, 30) for record in records], offset, 1, 0)
        offset += len(records)
    return data


_LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)
_HALF = TopicRecord(name="half", topic_id=b"h" * 16)


def test_a_transaction_that_ended_is_part_of_the_state() -> None:
    world = World(log=_log([_LEVEL, BeginTransactionRecord(), _HALF], [EndTransactionRecord()]), brokers=())
    assert set(world.image.topics.by_name) == {"half"}
    assert world.controller.state.topics.get("half") is not None


def test_a_transaction_nobody_will_end_is_aborted_by_the_next_controller() -> None:
    world = World(log=_log([_LEVEL], [BeginTransactionRecord(), _HALF]))
    assert not world.image.topics.by_name
    written = [record for batch in decode_batches(world.quorum.log) for record in batch.records]
    assert any(isinstance(record, AbortTransactionRecord) for record in written)
    assert world.create("half", 1, 1).error_code == 0
    again = World(log=world.quorum.log, brokers=())
    assert again.image.same_content(world.image)


def test_a_cluster_that_uses_more_than_this_version_knows_is_not_touched() -> None:
    with pytest.raises(MetadataError, match=r"metadata\.version at level 99"):
        World(log=_log([FeatureLevelRecord(name="metadata.version", feature_level=99)]))


# ------------------------------------------------------------------------------------------- decisions in slices


LARGE = 10 * TURN_RECORDS


def _kinds(world: World) -> list[type[Message]]:
    found = [type(record) for batch in decode_batches(world.quorum.log) for record in batch.records]
    return [kind for kind, before in zip(found[1:], found, strict=False) if kind is not before]


def test_a_large_topic_is_decided_and_written_in_slices_and_seen_at_once() -> None:
    world = SlowWorld()
    seen = world.begin(LARGE)
    before = world.slicer.slices
    sizes: list[int] = []
    while world.loop.turn():
        world.quorum.commit()
        topic = world.image.topics.get("large")
        sizes.append(0 if topic is None else len(topic.partitions))
    assert world.slicer.slices - before > 10
    assert set(sizes) == {0, LARGE}
    assert isinstance(seen[0], CreateTopicsResponse)
    assert max(len(batch.records) for batch in decode_batches(world.quorum.log)) <= TURN_RECORDS + 1
    assert _kinds(world)[-4:] == [BeginTransactionRecord, TopicRecord, PartitionRecord, EndTransactionRecord]
    again = World(log=world.quorum.log)
    assert len(again.image.topics.by_name["large"].partitions) == LARGE
    topic = again.controller.state.topics.get("large")
    assert topic is not None
    assert len(topic.partitions) == LARGE


def test_more_partitions_of_a_topic_are_written_in_slices() -> None:
    world = SlowWorld()
    world.create("small", 1, 1)
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="small", count=LARGE, assignments=None)], timeout_ms=60_000
    )
    answer = world.controller.create_partitions(request)
    before = world.slicer.slices
    assert world.settle(answer).results[0].error_code == 0
    assert world.slicer.slices - before > 10
    assert len(world.image.topics.by_name["small"].partitions) == LARGE
    assert EndTransactionRecord in _kinds(world)


@pytest.mark.parametrize(("since", "split"), [(LATEST_METADATA_VERSION, True), (LATEST_METADATA_VERSION + 1, False)])
def test_older_readers_get_a_large_decision_in_one_batch(
    monkeypatch: pytest.MonkeyPatch, since: int, split: bool
) -> None:
    monkeypatch.setattr("moldau.controller.write_path._TRANSACTIONS_SINCE", since)
    world = SlowWorld()
    world.begin(LARGE)
    world.loop.run()
    world.quorum.commit()
    assert len(world.image.topics.by_name["large"].partitions) == LARGE
    assert (BeginTransactionRecord in _kinds(world)) is split


def test_others_wait_for_a_long_decision_and_see_it() -> None:
    world = SlowWorld()
    seen = world.begin(LARGE)
    world.turn_until_written(TURN_RECORDS)
    again = world.begin(1)
    other = world.begin(1, "other")
    many = [world.begin(1, f"topic-{number}") for number in range(2000)]
    assert (seen, again, other) == ([], [], [])
    world.loop.run()
    assert seen == [], "nothing of it is committed"
    assert _kinds(world)[-1] is EndTransactionRecord, "and nobody's decision rests on it"
    world.quorum.commit()
    world.loop.run()
    world.quorum.commit()
    codes = [[row.error_code for row in answer[0].topics] for answer in (seen, again, other)]  # type: ignore[union-attr]
    assert codes == [[0], [ErrorCode.TOPIC_ALREADY_EXISTS], [0]]
    assert all(many)
    # Nothing of theirs stands inside the transaction.
    records = [record for batch in decode_batches(world.quorum.log) for record in batch.records]
    end = next(index for index, record in enumerate(records) if isinstance(record, EndTransactionRecord))
    names = [record.name for record in records[:end] if isinstance(record, TopicRecord)]
    assert names == ["large"]


@pytest.mark.parametrize("can_abort", [True, False])
def test_a_large_decision_that_cannot_be_written_leaves_nothing(can_abort: bool) -> None:
    world = SlowWorld()
    world.create("kept", 1, 1)
    before = show(world.image)
    seen = world.begin(LARGE)
    world.turn_until_written(TURN_RECORDS)
    full = StorageError("/disk", "Appending", OSError(28, "No space left on device"))
    world.quorum.failures = [full] if can_abort else [full, full]
    world.loop.run()
    assert isinstance(seen[0], KafkaError)
    assert seen[0].code is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.controller.state.topics.get("large") is None
    world.quorum.commit()
    assert show(world.image) == before
    # And the controller goes on: whatever is written next does not become part of what was begun.
    assert world.create("next", 1, 1).error_code == 0
    assert set(world.image.topics.by_name) == {"kept", "next"}
    assert set(World(log=world.quorum.log).image.topics.by_name) == {"kept", "next"}
    assert AbortTransactionRecord in _kinds(world)


@pytest.mark.parametrize("can_abort", [True, False])
@pytest.mark.parametrize("commits", [(), (1,), (2,), (1, 2)])
def test_a_leadership_lost_after_a_large_decision_was_given_up(can_abort: bool, commits: tuple[int, ...]) -> None:
    """However much of it is committed by then: a disk that fails a write is likely to fail the next sync too."""
    world = SlowWorld()
    world.create("kept", 1, 1)
    world.begin(LARGE)
    world.turn_until_written(2 * TURN_RECORDS)
    if 1 in commits:
        world.quorum.commit()
    world.turn_until_written(TURN_RECORDS)
    full = StorageError("/disk", "Appending", OSError(28, "No space left on device"))
    world.quorum.failures = [full] if can_abort else [full, full]
    while world.quorum.failures:
        world.loop.turn()
    if 2 in commits:
        world.quorum.commit()
    world.begin(1, "next")
    world.quorum.lose_leadership()
    assert [topic.name for topic in world.controller.state.topics] == ["kept"]
    assert not world.controller.is_active


def test_a_fault_among_those_who_wait_for_a_long_decision_is_told_and_the_others_go_on() -> None:
    world = SlowWorld()
    world.begin(LARGE)
    world.turn_until_written(TURN_RECORDS)
    seen: list[BaseException | None] = []

    def broken() -> Decision[None]:
        raise ZeroDivisionError

    world.controller.run(broken).then(lambda _, error: seen.append(error))
    behind = world.begin(1, "behind")
    for _ in range(2):
        world.loop.run()
        world.quorum.commit()
    assert [type(error) for error in seen] == [ZeroDivisionError]
    assert isinstance(behind[0], CreateTopicsResponse)


@pytest.mark.parametrize("whose", ["the long one", "one that waited", "a long one that waited"])
def test_an_answer_that_nobody_can_take_holds_up_no_other_decision(
    whose: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = SlowWorld()

    def decide() -> Work[Decision[None]]:
        yield
        yield
        return Decision([], None)

    def broken(_: object, error: BaseException | None) -> None:
        raise ZeroDivisionError

    first = world.controller.run(decide)
    second = world.controller.run(lambda: decide() if whose.startswith("a long") else Decision([], None))
    (first if whose == "the long one" else second).then(broken)
    behind = [world.begin(1, "behind"), world.begin(1, "last")]
    for _ in range(2):
        world.loop.run()
        world.quorum.commit()
    assert [type(answer[0]) for answer in behind] == [CreateTopicsResponse] * 2
    assert world.create("next", 1, 1).error_code == 0
    assert ("was not taken" in caplog.text) is (whose == "one that waited")


@pytest.mark.parametrize("heard", [True, False])
def test_a_broker_whose_heartbeat_waits_for_a_long_decision_is_not_fenced(heard: bool) -> None:
    world = SlowWorld()
    world.begin(LARGE)
    world.turn_until_written(TURN_RECORDS)
    broker = world.controller.state.brokers.registrations[1]
    if heard:
        request = BrokerHeartbeatRequest(
            broker_id=1, broker_epoch=broker.epoch, current_metadata_offset=world.image.offset
        )
        world.controller.broker_heartbeat(request)
    world.clock.now += world.config.broker_session_timeout_ms / 1000 + 0.5
    for _ in range(2):
        world.loop.advance(0.1)
        world.quorum.commit()
    assert world.controller.state.brokers.registrations[1].fenced is not heard


@pytest.mark.parametrize("committed", [False, True])
def test_a_leadership_lost_in_the_middle_of_a_large_decision(committed: bool) -> None:
    world = SlowWorld()
    seen = world.begin(LARGE)
    waiting = world.begin(1, "waiting")
    world.turn_until_written(2 * TURN_RECORDS)
    if committed:
        world.quorum.commit()
    world.quorum.lose_leadership()
    world.loop.run()
    for answer in (seen, waiting):
        assert isinstance(answer[0], KafkaError)
        assert answer[0].code is ErrorCode.NOT_CONTROLLER
    assert list(world.controller.state.topics) == []
    assert world.controller.state.in_transaction is committed
    assert world.image.topics.get("large") is None
    # Whoever leads next gives it up, and the names are free.
    again = World(log=world.quorum.log)
    assert again.create("large", 1, 1).error_code == 0
    assert not again.controller.state.in_transaction


def test_a_process_killed_in_the_middle_of_a_large_decision() -> None:
    world = SlowWorld()
    world.begin(LARGE)
    world.turn_until_written(2 * TURN_RECORDS)
    world.quorum.commit()
    again = World(log=world.quorum.log)
    assert again.image.topics.get("large") is None
    assert not again.controller.state.in_transaction
    assert again.create("large", 1, 1).error_code == 0


def test_leadership_lost_after_the_end_was_written_but_not_committed() -> None:
    world = SlowWorld()
    seen = world.begin(LARGE)
    world.turn_until_written(2 * TURN_RECORDS)
    world.quorum.commit()
    world.loop.run()
    assert seen == []
    world.quorum.lose_leadership()
    assert isinstance(seen[0], KafkaError)
    assert list(world.controller.state.topics) == []
    assert world.controller.state.in_transaction


@pytest.mark.parametrize("partitions", [2, LARGE])
def test_a_decision_does_not_outlive_the_leadership_it_was_made_in(partitions: int) -> None:
    """Somebody else has led meanwhile: what was found out before may no longer be so."""
    world = SlowWorld()
    seen = world.begin(partitions)
    world.loop.turn()
    assert seen == []
    world.quorum.lose_leadership()
    world.quorum.leader_id, world.quorum.epoch = 1, world.quorum.epoch + 1
    world.controller.on_leader(1, world.quorum.epoch)
    end = world.quorum.end_offset
    world.loop.run()
    assert isinstance(seen[0], KafkaError)
    assert seen[0].code is ErrorCode.NOT_CONTROLLER
    assert world.quorum.end_offset == end
    assert world.controller.state.topics.get("large") is None
    assert world.create("next", 1, 1).error_code == 0


def test_one_long_decision_waits_for_another_and_so_do_those_behind_it() -> None:
    world = SlowWorld()
    first = world.begin(LARGE)
    second = world.begin(LARGE, "second")
    again = world.begin(1, "second")
    last = world.begin(1, "last")
    for _ in range(3):
        world.loop.run()
        world.quorum.commit()
    world.loop.run()
    codes = [[row.error_code for row in answer[0].topics] for answer in (first, second, again, last)]  # type: ignore[union-attr]
    assert codes == [[0], [0], [ErrorCode.TOPIC_ALREADY_EXISTS], [0]]
    records = [record for batch in decode_batches(world.quorum.log) for record in batch.records]
    marks = [record for record in records if isinstance(record, BeginTransactionRecord | EndTransactionRecord)]
    assert [type(mark) for mark in marks] == [BeginTransactionRecord, EndTransactionRecord] * 2
    assert [record.name for record in records if isinstance(record, TopicRecord)] == ["large", "second", "last"]
    assert set(World(log=world.quorum.log).image.topics.by_name) == {"large", "second", "last"}


def test_very_many_short_decisions_behind_a_long_one_do_not_stand_upon_each_other() -> None:
    """Each of them may pause and does not: it is done where it is begun, and so is the next."""
    world = SlowWorld()
    long = world.begin(TURN_RECORDS)
    world.controller._slicer = Slicer(world.loop, world.clock)  # from here on there is time enough

    def decide(number: int) -> Work[Decision[int]]:
        yield
        return Decision([], number)

    seen: list[int | BaseException | None] = []
    numbers = list(range(sys.getrecursionlimit()))
    for number in numbers:
        answer = world.controller.run(lambda number=number: decide(number))  # type: ignore[misc]
        answer.then(lambda value, error: seen.append(value if error is None else error))
    assert seen == []
    world.loop.run()
    world.quorum.commit()
    world.loop.run()
    assert isinstance(long[0], CreateTopicsResponse)
    assert seen == numbers
    # And the controller goes on.
    assert world.create("next", 1, 1).error_code == 0


@pytest.mark.parametrize(("in_slices", "most"), [(False, MAX_RECORDS), (True, MAX_TRANSACTION)])
def test_a_change_that_is_all_or_nothing_has_so_many_records_and_no_more(in_slices: bool, most: int) -> None:
    world = World()

    def decide(count: int) -> Decision[int] | Work[Decision[int]]:
        decision = Decision[int]([NoOpRecord()] * count, count)

        def slices() -> Work[Decision[int]]:
            yield
            return decision

        return slices() if in_slices else decision

    end = world.quorum.end_offset
    answer = world.controller.run(lambda: decide(most + 1))
    world.loop.run()
    assert refused(answer).code is ErrorCode.POLICY_VIOLATION
    assert world.quorum.end_offset == end
    assert world.settle(world.controller.run(lambda: decide(most))) == most
    assert world.settle(world.controller.run(lambda: decide(0))) == 0


def test_a_large_decision_of_which_nothing_was_written_is_not_aborted() -> None:
    """An abort without a beginning would stop everybody who reads the log."""
    world = SlowWorld()
    seen = world.begin(LARGE)
    world.quorum.failures = [StorageError("/disk", "Appending", OSError(28, "No space left on device"))]
    world.loop.run()
    assert isinstance(seen[0], KafkaError)
    assert world.create("next", 1, 1).error_code == 0
    assert AbortTransactionRecord not in _kinds(world)
    assert set(World(log=world.quorum.log).image.topics.by_name) == {"next"}


def test_a_decision_written_in_turns_ends_with_the_leadership_it_was_made_in() -> None:
    world = SlowWorld()

    def decide() -> Work[Decision[int]]:
        yield
        return Decision[int]([NoOpRecord()] * (3 * TURN_RECORDS), 7, atomic=False)

    answer = world.controller.run(decide)
    world.turn_until_written(TURN_RECORDS)
    world.quorum.lose_leadership()
    world.quorum.leader_id, world.quorum.epoch = 1, world.quorum.epoch + 1
    world.controller.on_leader(1, world.quorum.epoch)
    end = world.quorum.end_offset
    world.loop.run()
    assert refused(answer).code is ErrorCode.NOT_CONTROLLER
    assert world.quorum.end_offset == end
    assert world.create("next", 1, 1).error_code == 0
