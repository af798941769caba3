"""What several nodes need of a controller: registrations of controllers, features all of them understand, the first
records of a log, an index that makes a broker's going cheap, and decisions it makes by itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from controller_kit import (
    ManualClock,
    ManualLoop,
    MemoryQuorum,
    SeededRandom,
    World,
    code,
    directory_of,
    refused,
    show,
    show_partitions,
)
from transcript_kit import Story

from moldau.config.broker import BrokerConfig
from moldau.controller import lifecycle
from moldau.controller.controller import Controller
from moldau.controller.leadership import MAX_ELECTIONS
from moldau.controller.partition_index import PartitionIndex, PartitionKey
from moldau.controller.periodic import PeriodicDecision
from moldau.deferred import Deferred, failed
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.features import bootstrap_records, supported_features
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.partition_registration import UNASSIGNED_DIRECTORY, PartitionRegistration
from moldau.metadata.records import FeatureLevelRecord, Message, NoOpRecord, PartitionChangeRecord
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    RequestDirectoryData,
)
from moldau.protocol.messages.assign_replicas_to_dirs import RequestPartitionData as PlacedPartition
from moldau.protocol.messages.assign_replicas_to_dirs import RequestTopicData as PlacedTopic
from moldau.protocol.messages.controller_registration import ControllerRegistrationRequest, Feature, Listener
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.raft.batches import decode_batches
from moldau.timeline import SnapshotRegistry

ELIGIBLE = "eligible.leader.replicas.version"

# ------------------------------------------------------------------------------------------------------- controllers


def controller_request(number: int, incarnation: int = 1, **maxima: int) -> ControllerRegistrationRequest:
    spans = {name: (span.minimum, span.maximum) for name, span in supported_features().items()}
    spans.update((name.replace("_", "."), (0, maximum)) for name, maximum in maxima.items())
    return ControllerRegistrationRequest(
        controller_id=number,
        incarnation_id=bytes([incarnation]) * 16,
        listeners=[Listener(name="CONTROLLER", host=f"host{number}", port=9093)],
        features=[
            Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in spans.items()
        ],
    )


def update(world: World, name: str, level: int, upgrade_type: int = 1, *, validate_only: bool = False) -> str:
    wanted = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
    request = UpdateFeaturesRequest(feature_updates=[wanted], validate_only=validate_only)
    return world.settle(world.controller.update_features(request, 2)).error_message or ""


def test_a_controller_registers_and_its_last_word_counts() -> None:
    world = World(brokers=())
    for incarnation in (1, 2):
        world.settle(world.controller.register_controller(controller_request(2, incarnation)))
    known = world.image.cluster.controllers[2]
    assert (known.incarnation_id, known.listeners["CONTROLLER"].host) == (bytes([2]) * 16, "host2")
    again = World(log=world.quorum.log, brokers=())
    assert dict(again.controller.state.controllers.registrations.items()) == {2: known}


def test_a_controller_must_be_able_to_live_with_what_is_agreed_on() -> None:
    world = World(brokers=())
    too_old = controller_request(2, transaction_version=1)
    assert refused(world.controller.register_controller(too_old)).code is ErrorCode.UNSUPPORTED_VERSION
    world.controller.append([FeatureLevelRecord(name="metadata.version", feature_level=14)])
    assert refused(world.controller.register_controller(controller_request(2))).code is ErrorCode.UNSUPPORTED_VERSION


def test_a_level_every_controller_must_support() -> None:
    world = World(brokers=())
    assert update(world, "transaction.version", 1, 2) == ""
    world.settle(world.controller.register_controller(controller_request(2, transaction_version=1)))
    assert "controller 2 supports 0 to 1" in update(world, "transaction.version", 2)
    # This controller knows by itself what it supports, whatever an earlier process of it said.
    world.settle(world.controller.register_controller(controller_request(1, transaction_version=1)))
    world.settle(world.controller.register_controller(controller_request(2)))
    assert update(world, "transaction.version", 2) == ""


class Quorum:
    """What the quorum knows about itself."""

    def __init__(self) -> None:
        self.kraft_version = 0
        self.voters: Collection[int] = (1,)
        self.asked: list[tuple[int, bool]] = []

    def voter_ids(self) -> Collection[int]:
        return self.voters

    def upgrade_kraft_version(self, level: int, *, validate_only: bool) -> None:
        if len(self.voters) > 3:
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, "too many voters")
        self.asked.append((level, validate_only))
        if not validate_only:
            self.kraft_version = level


class ClusterWorld(World):
    """A world whose controller was given more."""

    def __init__(self, quorum: Quorum | None = None, bootstrap: list[Message] | None = None) -> None:
        self.config = BrokerConfig.parse({"log.dirs": "/unused", "min.insync.replicas": "2"})
        self.clock = ManualClock()
        self.loop = ManualLoop(self.clock)
        self.quorum = MemoryQuorum()
        self.loader = MetadataLoader(self._raise)
        self.controller = Controller(
            "test-cluster",
            self.config,
            self.quorum,
            self.clock,
            self.loop,
            SeededRandom(0),
            has_local_broker=False,
            bootstrap=bootstrap or (),
            quorum_features=quorum,
        )
        self.quorum.register(self.loader)
        self.quorum.register(self.controller)
        self.quorum.start()
        self.quorum.commit()


def test_a_voter_nobody_has_heard_of_may_not_support_a_level() -> None:
    quorum = Quorum()
    world = ClusterWorld(quorum)
    quorum.voters = (1, 2)
    assert "controller 2 has not registered" in update(world, "transaction.version", 1, 2)
    world.settle(world.controller.register_controller(controller_request(2)))
    assert update(world, "transaction.version", 1, 2) == ""


def test_the_quorum_is_asked_for_its_version() -> None:
    quorum = Quorum()
    world = ClusterWorld(quorum)
    assert update(world, "kraft.version", 1, validate_only=True) == ""
    assert quorum.asked == [(1, True)]
    end = world.quorum.end_offset
    assert update(world, "kraft.version", 1) == ""
    assert quorum.asked[1:] == [(1, True), (1, False)]
    written = [r for batch in decode_batches(world.quorum.log) if batch.base_offset >= end for r in batch.records]
    assert [type(record) for record in written] == [NoOpRecord]
    assert "cannot go down" in update(world, "kraft.version", 0, 2)
    assert update(world, "kraft.version", 1) == ""
    assert len(quorum.asked) == 3
    quorum.voters, quorum.kraft_version = (1, 2, 3, 4), 0
    for number in (2, 3, 4):
        world.settle(world.controller.register_controller(controller_request(number)))
    assert update(world, "kraft.version", 1) == "too many voters"
    assert "are fixed" in update(World(), "kraft.version", 1)


def test_eligible_leaders_need_records_that_can_hold_them() -> None:
    world = ClusterWorld(bootstrap=[FeatureLevelRecord(name="metadata.version", feature_level=22)])
    assert "needs a metadata.version of 4.0-IV1" in update(world, ELIGIBLE, 1)
    both = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature="metadata.version", max_version_level=23),
            FeatureUpdateKey(feature=ELIGIBLE, max_version_level=1),
        ]
    )
    assert code(world.settle(world.controller.update_features(both, 2))) is ErrorCode.NONE
    assert dict(world.image.features) == {"metadata.version": 23, ELIGIBLE: 1}
    assert "supports 0 to 1" in update(world, "share.version", 2)


def test_an_empty_log_begins_with_what_it_was_formatted_with() -> None:
    levels = [
        FeatureLevelRecord(name="metadata.version", feature_level=25),
        FeatureLevelRecord(name=ELIGIBLE, feature_level=1),
    ]
    world = ClusterWorld(bootstrap=[*levels])
    assert dict(world.image.features) == {"metadata.version": 25, ELIGIBLE: 1}
    # From then on all agree on how many have to be in sync.
    assert show(world.image) == "brokers: min.insync.replicas=2"
    assert len(ClusterWorld().image.features) == len(bootstrap_records())


def test_settings_of_single_brokers_go_when_eligible_leaders_come() -> None:
    story = Story(eligible_leaders=False)
    story.broker("1")
    assert story.configure("1", "min.insync.replicas=3") == ""
    assert story.configure("cluster", "min.insync.replicas=2") == ""
    assert story.configure("1", "log.cleaner.threads=3") == ""
    story.broker("2")
    assert story.configure("2", "log.cleaner.threads=3") == ""
    gone = story.world.controller.state.configs.records_for_eligible_leaders()
    assert [(record.resource_name, record.value) for record in gone] == [("1", None)]
    story.feature(ELIGIBLE, "1")
    assert show(story.world.image).splitlines()[2:] == [
        "brokers: min.insync.replicas=2",
        "1: log.cleaner.threads=3",
        "2: log.cleaner.threads=3",
    ]
    # What has nothing to do with it may still be set for one broker.
    assert story.configure("1", "log.cleaner.threads=2") == ""


@pytest.mark.parametrize(("level", "error"), [(14, ErrorCode.UNSUPPORTED_VERSION), (15, ErrorCode.NONE)])
def test_controllers_register_since_the_level_that_has_a_record_for_it(level: int, error: ErrorCode) -> None:
    world = ClusterWorld(bootstrap=[FeatureLevelRecord(name="metadata.version", feature_level=level)])
    answer = world.controller.register_controller(controller_request(1))
    if error is ErrorCode.NONE:
        world.settle(answer)
    else:
        assert refused(answer).code is error


# ------------------------------------------------------------------------------------------------------------- index


def test_the_going_of_a_broker_costs_what_it_holds() -> None:
    world = World(brokers=(1, 2, 3))
    rows = {index: [1, 2] if index % 100 else [1, 3] for index in range(2000)}
    world.create("orders", assignment=rows)
    state = world.controller.state
    steps = {
        "fenced": lifecycle.fence_broker(state, 3),
        "asked whether it leads": lifecycle.leads_partitions(state, 3),
        "let in": lifecycle.unfence_broker(state, 3),
    }
    assert {name: sum(1 for _ in work) for name, work in steps.items()} == {
        "fenced": 20,
        "asked whether it leads": 20,
        "let in": 0,
    }


def partition(replicas: str, isr: str, leader: int, elr: str = "") -> PartitionRegistration:
    members = tuple(map(int, replicas))
    return PartitionRegistration(
        members, (UNASSIGNED_DIRECTORY,) * len(members), tuple(map(int, isr)), leader, 0, 0, elr=tuple(map(int, elr))
    )


def test_the_index_follows_and_goes_back_with_the_timeline() -> None:
    registry = SnapshotRegistry()
    index = PartitionIndex(registry)
    key, other = PartitionKey(b"t" * 16, 0), PartitionKey(b"t" * 16, 1)

    def shown() -> tuple[list[list[int]], ...]:
        sets = (index.in_sync, index.eligible)
        named = [[sorted(k.partition for k in find(broker)) for broker in (1, 2, 3)] for find in sets]
        return (*named, [sorted(k.partition for k in index.leaderless)])

    index.update(key, None, partition("123", "123", 1))
    index.update(other, None, partition("12", "1", 1))
    registry.create(1)
    before = shown()
    assert before == ([[0, 1], [0], [0]], [[], [], []], [[]])
    index.update(key, partition("123", "123", 1), partition("123", "", -1, "12"))
    assert shown() == ([[1], [], []], [[0], [0], []], [[0]])
    index.drop_topic(b"t" * 16)
    assert shown() == ([[], [], []], [[], [], []], [[]])
    index.update(key, None, partition("123", "3", 3))
    index.update(key, partition("123", "3", 3), partition("123", "2", 2))
    assert len(index.in_sync(3)._topics) == 0, "a topic of which nothing is left is forgotten"
    registry.revert_to(1)
    assert shown() == before


# --------------------------------------------------------------------------------------------------------- by itself


def far_from_home(count: int, properties: dict[str, str] | None = None) -> World:
    """Every partition is led by the second of its replicas, and the first is in sync."""
    world = World(properties, brokers=(1, 2))
    world.create("orders", assignment={index: [1, 2] for index in range(count)})
    topic = world.controller.state.topics.get("orders")
    assert topic is not None
    world.controller.append(
        [PartitionChangeRecord(topic_id=topic.id, partition_id=index, leader=2) for index in range(count)]
    )
    world.quorum.commit()
    return world


def at_home(world: World) -> int:
    return sum(state.leader == 1 for state in world.image.topics.by_name["orders"].partitions.values())


def pass_time(world: World, seconds: int) -> None:
    for _ in range(0, seconds, 5):
        world.loop.advance(5)
        world.quorum.commit()
        world.heartbeat(1)
        world.heartbeat(2)


def test_leaders_come_home_some_at_a_time() -> None:
    world = far_from_home(MAX_ELECTIONS + 5)
    pass_time(world, 295)
    assert at_home(world) == 0
    world.loop.advance(6)
    world.quorum.commit()
    assert at_home(world) == MAX_ELECTIONS
    world.loop.advance(0)
    world.quorum.commit()
    assert at_home(world) == MAX_ELECTIONS + 5


def test_leaders_stay_where_they_are_if_the_settings_say_so() -> None:
    world = far_from_home(2, {"auto.leader.rebalance.enable": "false"})
    pass_time(world, 400)
    assert at_home(world) == 0
    world = far_from_home(2, {"leader.imbalance.check.interval.seconds": "10"})
    pass_time(world, 15)
    assert at_home(world) == 2


class Decisions:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.loop = ManualLoop(self.clock)
        self.answers: list[Deferred[bool]] = []
        self.periodic = PeriodicDecision(self.loop, "something", 10.0, self.decide)

    def decide(self) -> Deferred[bool]:
        self.answers.append(Deferred())
        return self.answers[-1]


def test_a_periodic_decision_waits_for_the_one_before_it() -> None:
    made = Decisions()
    made.periodic.start()
    made.loop.advance(100)
    assert len(made.answers) == 1
    made.answers[0].resolve(False)
    made.loop.advance(9)
    assert len(made.answers) == 1
    made.loop.advance(1)
    made.answers[1].resolve(True)
    made.loop.advance(0)
    made.answers[2].fail(KafkaError(ErrorCode.NOT_CONTROLLER))
    made.loop.advance(9)
    assert len(made.answers) == 3
    made.periodic.hasten()
    made.loop.advance(0)
    assert len(made.answers) == 4
    # Nobody is waited for twice.
    made.periodic.hasten()
    made.loop.advance(50)
    assert len(made.answers) == 4


def test_an_answer_of_an_earlier_leadership_begins_nothing() -> None:
    made = Decisions()
    made.periodic.start()
    made.loop.advance(10)
    made.periodic.stop()
    made.answers[0].resolve(True)
    made.loop.advance(100)
    assert (len(made.answers), made.loop.timers) == (1, 0)
    made.periodic.start()
    made.periodic.stop()
    made.loop.advance(100)
    assert len(made.answers) == 1


# ------------------------------------------------------------------------------------------------------------ requests


def alter(world: World, version: int, *partitions: RequestPartitionData, leader: int = 1) -> list[ErrorCode]:
    request = AlterPartitionRequest(
        broker_id=leader,
        broker_epoch=world.image.cluster.brokers[leader].epoch,
        topics=[RequestTopicData(topic_id=world.image.topics.by_name["orders"].id, partitions=list(partitions))],
    )
    answer = world.settle(world.controller.alter_partition(request, version))
    return [code(row) for row in answer.topics[0].partitions]


def test_an_in_sync_set_without_and_with_the_epochs_of_its_members() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [1, 2]})
    without = RequestPartitionData(partition_index=0, leader_epoch=0, partition_epoch=0, new_isr=[1])
    assert alter(world, 2, without) == [ErrorCode.NONE]
    joining = BrokerState(broker_id=2, broker_epoch=world.image.cluster.brokers[2].epoch - 1)
    stale = RequestPartitionData(
        partition_index=0,
        leader_epoch=0,
        partition_epoch=1,
        new_isr_with_epochs=[BrokerState(broker_id=1, broker_epoch=-1), joining],
    )
    assert alter(world, 3, stale) == [ErrorCode.INELIGIBLE_REPLICA]
    joining.broker_epoch += 1
    # Named a second time, it speaks of a state that is no more.
    assert alter(world, 3, stale, stale) == [ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION]
    assert show_partitions(world.image).endswith("isr 1,2 of 1,2")


@pytest.mark.parametrize("leaving", ["want_fence", "want_shut_down"])
def test_whoever_is_going_cannot_come_into_sync(leaving: str) -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [1, 2], 1: [2, 1]})
    fields: dict[str, Any] = {leaving: True}
    world.heartbeat(2, **fields)
    state = world.image.topics.by_name["orders"].partitions[0]
    assert state.isr == (1,)
    wanted = RequestPartitionData(
        partition_index=0, leader_epoch=state.leader_epoch, partition_epoch=state.partition_epoch, new_isr=[1, 2]
    )
    assert alter(world, 2, wanted) == [ErrorCode.INELIGIBLE_REPLICA]


def test_a_partition_that_is_named_twice_is_elected_once() -> None:
    world = far_from_home(2)
    asked = [TopicPartitions(topic="orders", partitions=[0, 0]), TopicPartitions(topic="orders", partitions=[1])]
    request = ElectLeadersRequest(election_type=0, topic_partitions=asked)
    [result] = world.settle(world.controller.elect_leaders(request)).replica_election_results
    assert [(row.partition_id, code(row)) for row in result.partition_result] == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.NONE),
    ]
    assert [state.leader_epoch for state in world.image.topics.by_name["orders"].partitions.values()] == [2, 2]
    unknown = world.controller.elect_leaders(ElectLeadersRequest(election_type=7, topic_partitions=None))
    assert refused(unknown).code is ErrorCode.INVALID_REQUEST


def test_a_partition_that_is_named_twice_is_moved_once() -> None:
    world = World(brokers=(1, 2, 3))
    world.create("orders", assignment={0: [1]})
    rows = [ReassignablePartition(partition_index=0, replicas=[number]) for number in (2, 3)]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="orders", partitions=rows)])
    [result] = world.settle(world.controller.alter_partition_reassignments(request)).responses
    assert [code(row) for row in result.partitions] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]

    def listed(*indexes: int, name: str = "orders") -> list[int]:
        asked = [ListPartitionReassignmentsTopics(name=name, partition_indexes=list(indexes))]
        answer = world.settle(
            world.controller.list_partition_reassignments(ListPartitionReassignmentsRequest(topics=asked))
        )
        return [row.partition_index for topic in answer.topics for row in topic.partitions]

    assert (listed(0, 5), listed(5), listed(0, name="others")) == ([0], [], [])


def test_replicas_that_cannot_be_placed() -> None:
    world = World(brokers=(1, 2))
    topic_id = world.create("orders", assignment={0: [1]}).topic_id

    def place(broker: int, topic: bytes, index: int, epoch: int | None = None) -> ErrorCode:
        placed = PlacedTopic(topic_id=topic, partitions=[PlacedPartition(partition_index=index)])
        request = AssignReplicasToDirsRequest(
            broker_id=broker,
            broker_epoch=world.image.cluster.brokers[broker].epoch if epoch is None else epoch,
            directories=[RequestDirectoryData(id=directory_of(broker), topics=[placed])],
        )
        answer = world.settle(world.controller.assign_replicas_to_dirs(request))
        return code(answer.directories[0].topics[0].partitions[0])

    end = world.quorum.end_offset
    assert place(1, b"x" * 16, 0) is ErrorCode.UNKNOWN_TOPIC_ID
    assert place(1, topic_id, 7) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert place(2, topic_id, 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    # There it lies already.
    assert place(1, topic_id, 0) is ErrorCode.NONE
    assert world.quorum.end_offset == end
    with pytest.raises(KafkaError) as caught:
        place(1, topic_id, 0, epoch=-1)
    assert caught.value.code is ErrorCode.STALE_BROKER_EPOCH
    world.controller.append([FeatureLevelRecord(name="metadata.version", feature_level=16)])
    with pytest.raises(KafkaError) as caught:
        place(1, topic_id, 0)
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("eligible_leaders", "waits"), [(False, "isr 1 of 1"), (True, "isr - of 1 eligible 1 last led by 1")]
)
def test_a_broker_that_comes_with_a_failed_disk_does_not_lead_what_lies_there(
    eligible_leaders: bool, waits: str
) -> None:
    world = World(brokers=(), eligible_leaders=eligible_leaders)
    world.join(1, log_dirs=[directory_of(1, 0)])
    world.create("orders", assignment={0: [1]})
    world.register(1, log_dirs=[directory_of(1, 0), directory_of(1, 1)])
    world.heartbeat(1, want_fence=True)
    world.heartbeat(1, offline_log_dirs=[directory_of(1, 0)])
    assert show_partitions(world.image) == f"orders-0 leader -1 epoch 1 {waits}"
    assert world.image.cluster.brokers[1].is_active
    assert world.image.cluster.brokers[1].directories == (directory_of(1, 1),)


def test_a_broker_that_goes_with_a_failed_disk_gives_up_its_partitions_once() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [1, 2]})
    world.heartbeat(1, want_fence=True, offline_log_dirs=[directory_of(1)])
    assert show_partitions(world.image) == "orders-0 leader 2 epoch 1 isr 2 of 1,2"


def test_a_replica_that_begins_anew_on_another_disk_is_out_of_sync() -> None:
    story = Story()
    story.broker("1", "disks=2")
    story.broker("2")
    story.create("orders", "1,2")
    story.place("1", "orders-0", "0")
    story.world.register(1, log_dirs=[directory_of(1, 1)])
    assert story.state("orders-0").isr == (1, 2)
    story.place("1", "orders-0", "1")
    assert (story.state("orders-0").leader, story.state("orders-0").isr) == (2, (2,))


def test_what_is_cordoned_is_written_once() -> None:
    world = World(brokers=(1,))
    world.heartbeat(1, cordoned_log_dirs=[directory_of(1)])
    assert world.image.cluster.brokers[1].cordoned_directories == (directory_of(1),)
    end = world.quorum.end_offset
    world.heartbeat(1, cordoned_log_dirs=[directory_of(1)])
    world.heartbeat(1, cordoned_log_dirs=None)
    assert world.quorum.end_offset == end
    assert code(world.create("orders", 1, 1)) is ErrorCode.INVALID_REPLICATION_FACTOR
    world.heartbeat(1, cordoned_log_dirs=[])
    assert code(world.create("orders", 1, 1)) is ErrorCode.NONE


def test_a_registration_that_cannot_say_how_it_ended_did_not_end_well() -> None:
    for version, eligible in ((3, (1,)), (2, ())):
        story = Story()
        story.broker("1")
        story.create("orders", "1")
        story.feature(ELIGIBLE, "1")
        story.kill("1")
        epoch = story.world.image.cluster.brokers[1].epoch
        again = story.world.registration(1, 2, previous_broker_epoch=epoch)
        story.world.settle(story.world.controller.register_broker(again, version))
        assert story.state("orders-0").elr == eligible


def test_a_failed_decision_of_its_own_is_not_the_last() -> None:
    loop = ManualLoop(ManualClock())
    count = []

    def fails() -> Deferred[bool]:
        count.append(1)
        return failed(KafkaError(ErrorCode.NOT_CONTROLLER))

    PeriodicDecision(loop, "something", 1.0, fails).start()
    loop.advance(3.5)
    assert len(count) == 3
