"""More partitions, another in-sync set, another leader."""

from __future__ import annotations

import pytest
from controller_kit import World, code, directory_of, refused, show_partitions

from moldau.errors import ErrorCode
from moldau.metadata.partition_registration import LeaderRecoveryState, PartitionRegistration
from moldau.metadata.records import TopicRecord
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions


def _grow(world: World, *topics: CreatePartitionsTopic, validate_only: bool = False) -> list[ErrorCode]:
    request = CreatePartitionsRequest(topics=list(topics), validate_only=validate_only, timeout_ms=10_000)
    return [code(result) for result in world.settle(world.controller.create_partitions(request)).results]


def _topic(name: str, count: int, assignment: list[list[int]] | None = None) -> CreatePartitionsTopic:
    assignments = None if assignment is None else [CreatePartitionsAssignment(broker_ids=ids) for ids in assignment]
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments)


def test_a_topic_grows() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", 1, 2)
    assert _grow(world, _topic("orders", 3)) == [ErrorCode.NONE]
    topic = world.image.topics.get("orders")
    assert topic is not None
    assert sorted(topic.partitions) == [0, 1, 2]
    assert all(len(state.replicas) == 2 for state in topic.partitions.values())


def test_an_assignment_for_new_partitions() -> None:
    world = World(brokers=(1, 2, 3))
    world.create("orders", 1, 2)
    assert _grow(world, _topic("orders", 3, [[2, 3], [3, 1]])) == [ErrorCode.NONE]
    assert show_partitions(world.image).splitlines()[-2:] == [
        "orders-1 leader 2 epoch 0 isr 2,3 of 2,3",
        "orders-2 leader 3 epoch 0 isr 3,1 of 3,1",
    ]


def test_what_a_topic_cannot_grow_to() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", 2, 1)
    assert _grow(world, _topic("missing", 3)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert _grow(world, _topic("orders", 2)) == [ErrorCode.INVALID_PARTITIONS]
    assert _grow(world, _topic("orders", 1)) == [ErrorCode.INVALID_PARTITIONS]
    assert _grow(world, _topic("orders", 2**31 - 1)) == [ErrorCode.POLICY_VIOLATION]
    assert _grow(world, _topic("orders", 4, [[1]])) == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert _grow(world, _topic("orders", 3, [[1, 2]])) == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert _grow(world, _topic("orders", 3), _topic("orders", 4)) == [ErrorCode.INVALID_REQUEST]
    topic = world.image.topics.get("orders")
    assert topic is not None
    assert len(topic.partitions) == 2


def test_validate_only_adds_nothing() -> None:
    world = World()
    world.create("orders", 1, 1)
    assert _grow(world, _topic("orders", 5), validate_only=True) == [ErrorCode.NONE]
    topic = world.image.topics.get("orders")
    assert topic is not None
    assert len(topic.partitions) == 1


# ------------------------------------------------------------------------------------------------------- in-sync set


def _alter(world: World, broker: int, isr: list[int], **fields: int) -> ResponsePartitionData:
    """What broker `broker` gets when it asks for this in-sync set of orders-0, as it sees the partition now."""
    topic = world.image.topics.get("orders")
    assert topic is not None
    state = topic.partitions[0]
    epochs = {broker_id: broker.epoch for broker_id, broker in world.image.cluster.brokers.items()}
    request = AlterPartitionRequest(
        broker_id=broker,
        broker_epoch=epochs[broker],
        topics=[
            RequestTopicData(
                topic_id=topic.id,
                partitions=[
                    RequestPartitionData(
                        **{
                            "partition_index": 0,
                            "leader_epoch": state.leader_epoch,
                            "partition_epoch": state.partition_epoch,
                            "new_isr_with_epochs": [
                                BrokerState(broker_id=member, broker_epoch=epochs.get(member, -1)) for member in isr
                            ],
                            **fields,
                        }
                    )
                ],
            )
        ],
    )
    return world.settle(world.controller.alter_partition(request, 3)).topics[0].partitions[0]


@pytest.fixture
def replicated() -> World:
    """orders-0 on brokers 1, 2 and 3, led by 1."""
    world = World(brokers=(1, 2, 3))
    world.create("orders", assignment={0: [1, 2, 3]})
    return world


def test_a_leader_shrinks_and_grows_the_in_sync_set(replicated: World) -> None:
    answer = _alter(replicated, 1, [1, 3])
    assert (answer.error_code, answer.isr, answer.partition_epoch, answer.leader_epoch) == (0, [1, 3], 1, 0)
    assert _alter(replicated, 1, [1, 3, 2]).isr == [1, 3, 2]
    state = replicated.image.topics.partition("orders", 0)
    assert state is not None
    # The leader stayed, so did its epoch; every change moved the partition's.
    assert (state.leader_epoch, state.partition_epoch) == (0, 2)


@pytest.mark.parametrize(
    ("broker", "isr", "fields", "expected"),
    [
        (2, [1, 2], {}, ErrorCode.INVALID_REQUEST),  # not the leader
        (1, [2, 3], {}, ErrorCode.INVALID_REQUEST),  # without itself
        (1, [1, 4], {}, ErrorCode.INVALID_REQUEST),  # not a replica
        (1, [1, 1], {}, ErrorCode.INVALID_REQUEST),
        (1, [1], {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        (1, [1], {"leader_epoch": 5}, ErrorCode.NOT_CONTROLLER),
        (1, [1], {"partition_epoch": 5}, ErrorCode.NOT_CONTROLLER),
        (1, [1], {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        (1, [1], {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        (1, [1], {"partition_index": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_in_sync_sets_that_cannot_be(
    replicated: World, broker: int, isr: list[int], fields: dict[str, int], expected: ErrorCode
) -> None:
    assert code(_alter(replicated, broker, isr, **fields)) is expected
    state = replicated.image.topics.partition("orders", 0)
    assert state is not None
    assert state.isr == (1, 2, 3)


def test_a_leader_that_is_not_done_recovering_may_say_so_while_it_is_alone() -> None:
    world = World(brokers=(1, 2))
    topic_id = b"t" * 16
    state = PartitionRegistration(
        replicas=(1, 2),
        directories=(directory_of(1), directory_of(2)),
        isr=(1,),
        leader=1,
        leader_epoch=5,
        partition_epoch=9,
        leader_recovery_state=LeaderRecoveryState.RECOVERING,
    )
    world.controller.append([TopicRecord(name="orders", topic_id=topic_id), state.to_record(topic_id, 0)])
    world.quorum.commit()
    assert code(_alter(world, 1, [1], leader_recovery_state=1)) is ErrorCode.NONE
    assert code(_alter(world, 1, [1, 2], leader_recovery_state=1)) is ErrorCode.INVALID_REQUEST
    assert code(_alter(world, 1, [1, 2])) is ErrorCode.NONE


def test_a_replica_of_another_life_is_not_in_sync(replicated: World) -> None:
    _alter(replicated, 1, [1, 3])
    replicated.heartbeat(2, want_fence=True)
    assert code(_alter(replicated, 1, [1, 3, 2])) is ErrorCode.INELIGIBLE_REPLICA
    replicated.join(2, incarnation=2)
    assert _alter(replicated, 1, [1, 3, 2]).isr == [1, 3, 2]


def test_a_stale_broker_is_refused(replicated: World) -> None:
    request = AlterPartitionRequest(broker_id=1, broker_epoch=0)
    assert refused(replicated.controller.alter_partition(request, 3)).code is ErrorCode.STALE_BROKER_EPOCH


# ------------------------------------------------------------------------------------------------------------ leaders


def _elect(world: World, election_type: int, partitions: list[int] | None) -> list[ErrorCode]:
    asked = None if partitions is None else [TopicPartitions(topic="orders", partitions=partitions)]
    request = ElectLeadersRequest(election_type=election_type, topic_partitions=asked)
    results = world.settle(world.controller.elect_leaders(request)).replica_election_results
    return [code(partition) for result in results for partition in result.partition_result]


def test_a_preferred_leader_takes_over_again(replicated: World) -> None:
    replicated.heartbeat(1, want_fence=True)
    assert _elect(replicated, 0, [0]) == [ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE]
    replicated.heartbeat(1)
    _alter(replicated, 2, [2, 3, 1])
    assert show_partitions(replicated.image) == "orders-0 leader 2 epoch 1 isr 2,3,1 of 1,2,3"
    assert _elect(replicated, 0, [0, 9]) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert show_partitions(replicated.image) == "orders-0 leader 1 epoch 2 isr 2,3,1 of 1,2,3"
    assert _elect(replicated, 0, [0]) == [ErrorCode.ELECTION_NOT_NEEDED]
    # Asked for all partitions, those that need nothing are left out.
    assert _elect(replicated, 0, None) == []


@pytest.mark.parametrize(
    ("eligible_leaders", "waits"), [(False, "isr 1 of 1,2"), (True, "isr - of 1,2 eligible 1 last led by 1")]
)
def test_an_unclean_election_needs_someone_alive(eligible_leaders: bool, waits: str) -> None:
    world = World(brokers=(1, 2), eligible_leaders=eligible_leaders)
    world.create("orders", assignment={0: [1, 2]})
    _alter(world, 1, [1])
    world.heartbeat(1, want_fence=True)
    assert show_partitions(world.image) == f"orders-0 leader -1 epoch 1 {waits}"
    assert _elect(world, 1, [0]) == [ErrorCode.NONE]
    assert show_partitions(world.image) == "orders-0 leader 2 epoch 2 isr 2 of 1,2 recovering"
    state = world.image.topics.partition("orders", 0)
    assert state is not None
    assert state.leader_recovery_state == 1
    # The leader says when it has recovered.
    assert _alter(world, 2, [2], leader_recovery_state=0).leader_recovery_state == 0
