"""What is counted before topics are made, what ids they get, and what a log may not say about them."""

from __future__ import annotations

import pytest
from controller_kit import SeededRandom, World, code, refused

from moldau.errors import ErrorCode
from moldau.metadata.records import ClearElrRecord, MetadataError, PartitionChangeRecord, RemoveTopicRecord, TopicRecord
from moldau.protocol.messages.create_topics import CreatableReplicaAssignment, CreateTopicsRequest
from moldau.types import ZERO_UUID, Uuid, uuid_to_text


def test_partitions_count_also_where_the_broker_says_how_many() -> None:
    world = World({"num.partitions": "6000"})
    two = CreateTopicsRequest(topics=[world.creation("a"), world.creation("b")])
    error = refused(world.controller.create_topics(two))
    assert (error.code, "12000 partitions" in error.message) == (ErrorCode.POLICY_VIOLATION, True)
    assert code(world.create("a")) is ErrorCode.NONE
    # A topic that says how many it wants is not asked for the default.
    assert code(world.create_all(world.creation("b", 1), world.creation("c", 1))[0]) is ErrorCode.NONE


def test_partitions_count_where_they_are_assigned_one_by_one() -> None:
    world = World()
    many = world.creation("many", assignment={index: [1] for index in range(10_001)})
    error = refused(world.controller.create_topics(CreateTopicsRequest(topics=[many])))
    assert (error.code, "10001 partitions" in error.message) == (ErrorCode.POLICY_VIOLATION, True)


def test_a_partition_is_assigned_once() -> None:
    world = World(brokers=(1, 2))
    topic = world.creation("orders", assignment={0: [1], 1: [2]})
    topic.assignments.append(CreatableReplicaAssignment(partition_index=1, broker_ids=[1]))
    (result,) = world.create_all(topic)
    assert code(result) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "Partition 1 is assigned twice" in result.error_message
    assert not world.image.topics.by_name


class Drawn(SeededRandom):
    """Ids as a test lays them out."""

    def __init__(self, *ids: Uuid) -> None:
        super().__init__()
        self._ids = list(ids)

    def bytes(self, count: int) -> bytes:
        return self._ids.pop(0)


def test_ids_that_mean_something_else_are_not_given_to_topics() -> None:
    """Kafka keeps the smallest ids for itself, and tools would take a leading minus for an option."""
    world = World()
    minus, good = bytes([0xF8]) + bytes(15), bytes([7]) * 16
    assert uuid_to_text(minus).startswith("-")
    world.controller.state.topics._random = Drawn(ZERO_UUID, bytes(15) + b"\1", minus, good)
    assert world.create("orders", 1, 1).topic_id == good


def test_a_log_that_creates_a_topic_again_is_refused() -> None:
    world = World()
    world.create("orders", 1, 1)
    with pytest.raises(MetadataError, match="orders a second time"):
        world.controller.state.replay(TopicRecord(name="orders", topic_id=bytes([1]) * 16), 99)


def test_a_log_that_changes_what_is_not_there_is_refused() -> None:
    world = World()
    topic_id, stranger = world.create("orders", 1, 1).topic_id, bytes([1]) * 16
    replay = world.controller.state.replay
    with pytest.raises(MetadataError, match="orders-1, which does not exist"):
        replay(PartitionChangeRecord(topic_id=topic_id, partition_id=1, leader=1), 99)
    for record in (
        PartitionChangeRecord(topic_id=stranger, partition_id=0, leader=1),
        RemoveTopicRecord(topic_id=stranger),
    ):
        with pytest.raises(MetadataError, match="which does not exist"):
            replay(record, 99)


def test_of_two_names_that_collide_in_an_old_log_one_is_enough_to_refuse_a_third() -> None:
    world = World()
    state = world.controller.state
    ids = {name: bytes([number]) * 16 for number, name in enumerate(("a.b_c", "a_b.c"), 1)}
    for name, topic_id in ids.items():
        state.replay(TopicRecord(name=name, topic_id=topic_id), 99)
    state.replay(RemoveTopicRecord(topic_id=ids["a.b_c"]), 99)
    assert code(world.create("a.b_c", 1, 1)) is ErrorCode.INVALID_TOPIC_EXCEPTION
    state.replay(RemoveTopicRecord(topic_id=ids["a_b.c"]), 99)
    assert "a_b.c" not in [topic.name for topic in state.topics]
    (result,) = world.create_all(world.creation("a.b_c", 1, 1), validate_only=True)
    assert code(result) is ErrorCode.NONE


@pytest.mark.parametrize(("named", "cleared"), [("a", {"a"}), ("", {"a", "b"})])
def test_who_was_eligible_is_forgotten_for_one_topic_or_for_all(named: str, cleared: set[str]) -> None:
    world = World()
    ids = {name: world.create(name, 3, 1).topic_id for name in ("a", "b")}
    state = world.controller.state
    for topic_id in ids.values():
        state.replay(PartitionChangeRecord(topic_id=topic_id, partition_id=0, eligible_leader_replicas=[1]), 99)
        state.replay(PartitionChangeRecord(topic_id=topic_id, partition_id=1, last_known_elr=[1]), 99)
    epochs = {name: _epochs(world, name) for name in ids}
    state.replay(ClearElrRecord(topic_name=named), 99)
    for name in ids:
        topic = state.topics.get(name)
        assert topic is not None
        left = [(partition.elr, partition.last_known_elr) for partition in topic.partitions.values()]
        assert left == ([((), ())] * 3 if name in cleared else [((1,), ()), ((), (1,)), ((), ())])
        # Where there was nothing to forget, nothing has changed.
        first, second, third = epochs[name]
        raised = int(name in cleared)
        assert _epochs(world, name) == [first + raised, second + raised, third]


def _epochs(world: World, name: str) -> list[int]:
    topic = world.controller.state.topics.get(name)
    assert topic is not None
    return [partition.partition_epoch for partition in topic.partitions.values()]
