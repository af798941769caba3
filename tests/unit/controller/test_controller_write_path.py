"""From decision to committed metadata, and back when it does not get there."""

from __future__ import annotations

import pytest
from controller_kit import World, refused, show

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    Message,
    MetadataError,
    TopicRecord,
    versioned,
)
from moldau.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.raft.batches import decode_batches, metadata_batch
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
    world.quorum.failure = StorageError("/disk", "Appending", OSError(28, "No space left on device"))
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
    world.quorum.failure = StorageError("/disk", "Appending", OSError(5, "Input/output error"))
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
    _answers(world, "orders")
    world.quorum.commit()
    assert world.loop.timers == 0


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
