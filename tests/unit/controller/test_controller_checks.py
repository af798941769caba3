"""Checks that stand behind one another with the same code: each is told apart by what it says, or by what it stops."""

from __future__ import annotations

from typing import Any

import pytest
from controller_kit import World, code, directory_of, show

from moldau.controller.decision import Decision
from moldau.controller.elections import Election, PartitionKey, change_partition
from moldau.controller.producer_ids import BLOCK_SIZE, ProducerIdControl
from moldau.controller.state import ControllerState
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import ConfigResource, ResourceType
from moldau.metadata.partition_registration import UNASSIGNED_DIRECTORY, PartitionRegistration
from moldau.metadata.records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    Message,
    MetadataError,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
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
from moldau.protocol.messages.broker_registration import Feature
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.timeline import SnapshotRegistry

KEY = PartitionKey(bytes(16), 0)


# ---------------------------------------------------------------------------------------------------------- brokers


@pytest.mark.parametrize("kind", [FenceBrokerRecord, UnfenceBrokerRecord])
def test_a_log_that_fences_an_incarnation_of_the_past_is_refused(kind: type[Any]) -> None:
    world = World(brokers=(1,))
    epoch = world.controller.state.brokers.registrations[1].epoch
    for broker_id, at in ((1, epoch - 1), (1, epoch + 1), (7, epoch)):
        with pytest.raises(MetadataError, match=f"broker {broker_id} at epoch {at}"):
            world.controller.state.replay(kind(id=broker_id, epoch=at), 99)


@pytest.mark.parametrize("broker_id", [1, 7])
def test_a_log_that_forgets_an_incarnation_of_the_past_is_refused(broker_id: int) -> None:
    world = World(brokers=(1,))
    epoch = world.controller.state.brokers.registrations[1].epoch + 1
    for record in (
        UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch),
        BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, fenced=1),
    ):
        with pytest.raises(MetadataError):
            world.controller.state.replay(record, 99)


def test_the_same_life_keeps_its_leaderships_when_it_registers_again() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [1, 2]})
    before = show(world.image)
    world.register(1)
    assert show(world.image) == before


def test_a_new_replica_has_the_directory_there_is_no_choice_about() -> None:
    brokers = World(brokers=(1,)).controller.state.brokers
    assert brokers.default_directory(1) == directory_of(1)
    assert brokers.default_directory(7) == UNASSIGNED_DIRECTORY
    assert not brokers.is_active(7)


def test_what_a_broker_says_twice_is_written_once() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [1, 2]})
    world.heartbeat(1, want_shut_down=True)
    end = world.quorum.end_offset
    world.heartbeat(1, want_shut_down=True)
    assert world.quorum.end_offset == end
    # Fencing one that is fenced moves its partitions and says nothing new about itself.
    world.clock.now += 3600
    world.loop.advance(0)
    world.quorum.commit()
    end = world.quorum.end_offset
    world.heartbeat(1, want_fence=True)
    assert world.quorum.end_offset == end


# ------------------------------------------------------------------------------------------------------- assignment


@pytest.mark.parametrize(
    ("assignment", "why"),
    [
        ({0: []}, "assigned to no broker"),
        ({0: [7]}, "broker 7, which is not registered"),
        ({0: [1, 7]}, "broker 7, which is not registered"),
        ({0: [1, 1]}, "the same broker twice"),
        ({0: [1], 1: [1, 2]}, "has 2 replicas; the partitions before it have 1"),
        ({0: [3]}, "are fenced"),
    ],
)
def test_why_an_assignment_cannot_be(assignment: dict[int, list[int]], why: str) -> None:
    world = World(brokers=(1, 2))
    world.register(3)
    result = world.create("orders", assignment=assignment)
    assert code(result) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert why in (result.error_message or "")


# ----------------------------------------------------------------------------------------------------- reassignment


def _reassigning(**fields: Any) -> PartitionRegistration:
    """From 1, 2 to 2, 3."""
    state: dict[str, Any] = {
        "replicas": (2, 3, 1),
        "directories": (directory_of(2), UNASSIGNED_DIRECTORY, directory_of(1)),
        "isr": (1, 2),
        "leader": 1,
        "leader_epoch": 5,
        "partition_epoch": 9,
        "removing_replicas": (1,),
        "adding_replicas": (3,),
        **fields,
    }
    return PartitionRegistration(**state)


def _changed(current: PartitionRegistration, isr: tuple[int, ...], **options: Any) -> PartitionRegistration | None:
    state: ControllerState = World(brokers=(1, 2, 3)).controller.state
    record = change_partition(KEY, current, state.brokers, state.brokers.is_active, isr=isr, **options)
    return None if record is None else current.merge(record)


def test_a_reassignment_ends_when_those_who_stay_are_in_sync() -> None:
    done = _changed(_reassigning(), (1, 2, 3))
    assert done is not None
    assert (done.replicas, done.isr) == ((2, 3), (2, 3))
    assert (done.adding_replicas, done.removing_replicas) == ((), ())
    assert done.directories == (directory_of(2), UNASSIGNED_DIRECTORY)
    assert (done.leader, done.leader_epoch) == (2, 6)


@pytest.mark.parametrize(
    ("fields", "isr"),
    [
        ({}, (1, 2)),  # the new one is not in sync
        ({}, (1, 3)),  # one that stays is not
        ({"replicas": (1,), "directories": (directory_of(1),), "adding_replicas": ()}, (1,)),  # nobody would stay
    ],
)
def test_a_reassignment_goes_on_while_somebody_is_missing(fields: dict[str, Any], isr: tuple[int, ...]) -> None:
    current = _reassigning(**fields)
    changed = _changed(current, isr) or current
    assert changed.replicas == current.replicas
    assert changed.adding_replicas == current.adding_replicas
    assert changed.removing_replicas == (1,)
    assert changed.leader == 1


def test_a_dropped_replica_is_kept_out_by_a_new_epoch() -> None:
    done = _changed(_reassigning(leader=2), (1, 2, 3))
    assert done is not None
    assert (done.leader, done.leader_epoch) == (2, 6)
    # Where nobody is dropped, another in-sync set is no new epoch.
    grown = _changed(
        _reassigning(replicas=(2, 3), directories=(UNASSIGNED_DIRECTORY,) * 2, removing_replicas=(), leader=2), (2, 3)
    )
    assert grown is not None
    assert (grown.leader, grown.leader_epoch, grown.adding_replicas) == (2, 5, ())


def test_a_leader_is_told_when_the_end_of_a_reassignment_takes_the_leadership() -> None:
    world = World(brokers=(1, 2, 3))
    topic_id = b"t" * 16
    current = _reassigning()
    world.controller.append([TopicRecord(name="t", topic_id=topic_id), current.to_record(topic_id, 0)])
    partition = RequestPartitionData(
        partition_index=0,
        leader_epoch=5,
        partition_epoch=9,
        new_isr_with_epochs=[BrokerState(broker_id=broker, broker_epoch=-1) for broker in (1, 2, 3)],
    )
    request = AlterPartitionRequest(
        broker_id=1,
        broker_epoch=world.controller.state.brokers.registrations[1].epoch,
        topics=[
            RequestTopicData(topic_id=topic_id, partitions=[partition]),
            RequestTopicData(topic_id=b"x" * 16, partitions=[partition]),
        ],
    )
    answer = world.settle(world.controller.alter_partition(request, 3))
    assert [code(row.partitions[0]) for row in answer.topics] == [
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert world.image.topics.by_name["t"].partitions[0].replicas == (2, 3)


def test_who_is_eligible_does_not_lead_while_somebody_is_in_sync() -> None:
    """The one in sync cannot lead just now, but it may have committed what the other has not."""
    state: ControllerState = World(brokers=(1, 2)).controller.state
    current = PartitionRegistration((1, 2), (UNASSIGNED_DIRECTORY,) * 2, (1,), -1, 5, 9, elr=(2,))
    assert change_partition(KEY, current, state.brokers, lambda broker: broker == 2, min_isr=2) is None


def test_nothing_is_said_where_nothing_changes() -> None:
    current = _reassigning(
        replicas=(1, 2), directories=(UNASSIGNED_DIRECTORY,) * 2, removing_replicas=(), adding_replicas=()
    )
    assert _changed(current, (1, 2)) is None
    assert _changed(current, (1, 2), recovery_state=current.leader_recovery_state) is None
    assert _changed(current, (1, 2), election=Election.PREFERRED) is None


# --------------------------------------------------------------------------------------------------------- features


def _refusal(world: World, name: str, level: int, upgrade_type: int = 1, *, version: int = 2, **fields: Any) -> str:
    update = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type, **fields)
    response = world.settle(world.controller.update_features(UpdateFeaturesRequest(feature_updates=[update]), version))
    return response.error_message or ""


def test_why_a_level_cannot_be() -> None:
    world = World()
    for name, level, upgrade_type, why in [
        ("metadata.version", -1, 1, "is not negative"),
        ("metadata.version", 31, 1, "this controller supports"),
        ("metadata.version", 29, 1, "needs a downgrade"),
        ("metadata.version", 29, 2, "records would be lost"),
        ("transaction.version", 1, 1, "needs a downgrade"),
        ("metadata.version", 30, 9, "is not known"),
    ]:
        assert why in _refusal(world, name, level, upgrade_type), (name, level)
    # Other features lose no records when they go down, and metadata.version may go where it is.
    assert _refusal(world, "transaction.version", 1, 2) == ""
    assert _refusal(world, "metadata.version", 30, 2) == ""
    assert "is not a downgrade" in _refusal(world, "transaction.version", 2, 2)
    assert _refusal(world, "transaction.version", 2, 1) == ""
    assert dict(world.image.features)["transaction.version"] == 2


def test_a_level_every_broker_must_support() -> None:
    world = World()
    spans = [
        Feature(name=name, min_supported_version=0 if name != "metadata.version" else 7, max_supported_version=maximum)
        for name, maximum in (
            ("metadata.version", 30),
            ("transaction.version", 2),
            ("group.version", 1),
            ("eligible.leader.replicas.version", 1),
            ("share.version", 1),
            ("streams.version", 1),
        )
    ]
    assert _refusal(world, "transaction.version", 0, 2) == ""
    spans[1].max_supported_version = 1
    world.register(2, features=spans)
    assert "broker 2 supports 0 to 1" in _refusal(world, "transaction.version", 2, 1)
    assert _refusal(world, "transaction.version", 1, 1) == ""


def test_version_0_has_a_flag_for_downgrades() -> None:
    world = World()
    assert "needs a downgrade" in _refusal(world, "transaction.version", 1, version=0)
    assert _refusal(world, "transaction.version", 1, version=0, allow_downgrade=True) == ""


def test_a_feature_that_is_switched_off_has_no_level() -> None:
    world = World()
    world.controller.append([FeatureLevelRecord(name="group.version", feature_level=0)])
    world.quorum.commit()
    assert "group.version" not in world.controller.state.features.finalized
    assert "group.version" not in World(log=world.quorum.log, brokers=()).controller.state.features.finalized


# --------------------------------------------------------------------------------------------------------- settings


def test_a_setting_that_is_taken_back_leaves_nothing() -> None:
    world = World()
    resource = ConfigResource(ResourceType.BROKER, "1")
    configs = world.controller.state.configs

    def write(name: str, value: str | None) -> None:
        record: Message = ConfigRecord(resource_type=resource.type, resource_name="1", name=name, value=value)
        world.controller.append([record])

    write("log.cleaner.threads", "2")
    write("num.io.threads", "3")
    assert dict(configs.of(resource)) == {"log.cleaner.threads": "2", "num.io.threads": "3"}
    write("log.cleaner.threads", None)
    assert dict(configs.of(resource)) == {"num.io.threads": "3"}
    write("num.io.threads", None)
    assert dict(configs.of(resource)) == {}
    assert resource not in configs._settings


# --------------------------------------------------------------------------------------------------------- sessions


def test_there_is_one_timer_for_all_sessions_and_none_without_leadership() -> None:
    world = World(brokers=(1, 2, 3))
    for _ in range(5):
        world.heartbeat(1)
        world.heartbeat(2)
    # The others are those of balancing and of unclean elections.
    assert world.loop.timers == 1 + 2
    world.quorum.lose_leadership()
    assert world.loop.timers == 0
    world.controller._watch_sessions()
    assert world.loop.timers == 0


def test_a_partition_of_a_log_that_names_nobody_alive_has_no_leader_to_elect() -> None:
    """The only replica was unregistered: asking whether it is alive finds nobody."""
    world = World(brokers=(1, 2))
    topic_id = b"t" * 16
    lost = PartitionRecord(topic_id=topic_id, partition_id=0, replicas=[7, 2], isr=[7], leader=-1)
    world.controller.append([TopicRecord(name="t", topic_id=topic_id), lost])
    world.heartbeat(2, want_fence=True)
    world.heartbeat(2)
    assert world.controller.state.topics.get("t").partitions[0].leader == -1  # type: ignore[union-attr]


# ----------------------------------------------------------------------------------------------------- producer ids


def test_producer_ids_never_go_back_and_end_some_day() -> None:
    ids = ProducerIdControl(SnapshotRegistry())
    for following in (1000, 2000):
        ids.replay(ProducerIdsRecord(next_producer_id=following))
    for earlier in (2000, 1000):
        with pytest.raises(MetadataError, match=f"from producer id 2000 to {earlier}"):
            ids.replay(ProducerIdsRecord(next_producer_id=earlier))
    last = 2**63 - 1 - BLOCK_SIZE
    ids.replay(ProducerIdsRecord(next_producer_id=last))
    assert ids.allocate(1, 1).response.first == last
    ids.replay(ProducerIdsRecord(next_producer_id=last + 1))
    with pytest.raises(KafkaError, match="All producer ids"):
        ids.allocate(1, 1)


def test_a_reassignment_from_nobody_cannot_be_taken_back() -> None:
    """Everybody who was there before is gone already: without those who come there would be nobody."""
    world = World(brokers=(1, 2))
    topic_id = b"t" * 16
    only_new = PartitionRecord(
        topic_id=topic_id, partition_id=0, replicas=[1], isr=[1], leader=1, adding_replicas=[1], directories=[b"d" * 16]
    )
    world.controller.append([TopicRecord(name="t", topic_id=topic_id), only_new])
    world.quorum.commit()
    row = ReassignablePartition(partition_index=0, replicas=None)
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=[row])])
    answers: list[Any] = []
    world.controller.alter_partition_reassignments(request).then(lambda value, error: answers.append(value or error))
    world.quorum.commit()
    (partition,) = answers[0].responses[0].partitions
    assert partition.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "it has no other replicas" in partition.error_message


@pytest.mark.parametrize(("last_leader", "stays"), [(3, True), (2, False)])
def test_what_a_reassignment_was_adding_goes_unless_it_led_last(last_leader: int, stays: bool) -> None:
    """Nobody is in sync or eligible: whoever led last is waited for, so it is not dropped by another reassignment."""
    world = World(brokers=(1, 2, 3))
    topic_id = b"t" * 16
    current = _reassigning(isr=(), leader=-1, elr=(), last_known_elr=(last_leader,))
    world.controller.append([TopicRecord(name="t", topic_id=topic_id), current.to_record(topic_id, 0)])
    wanted = ReassignablePartition(partition_index=0, replicas=[2, 1])
    topics = [ReassignableTopic(name="t", partitions=[wanted])]
    answer = world.settle(
        world.controller.alter_partition_reassignments(AlterPartitionReassignmentsRequest(topics=topics))
    )
    assert code(answer.responses[0].partitions[0]) is ErrorCode.NONE
    assert (3 in world.image.topics.by_name["t"].partitions[0].replicas) is stays


def test_only_another_minimum_clears_those_who_are_eligible() -> None:
    world = World(brokers=(1, 2))
    topic_id = b"t" * 16
    state = PartitionRegistration(
        replicas=(1, 2),
        directories=(directory_of(1), directory_of(2)),
        isr=(1,),
        leader=1,
        leader_epoch=5,
        partition_epoch=9,
        elr=(2,),
    )
    world.controller.append([TopicRecord(name="t", topic_id=topic_id), state.to_record(topic_id, 0)])
    leadership = world.controller.state.leadership
    other = ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="t", name="retention.ms", value="5")
    minimum = ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="t", name="min.insync.replicas", value="2")
    for record, cleared in ((other, 0), (TopicRecord(name="u", topic_id=b"u" * 16), 0), (minimum, 1)):
        assert len(leadership.with_eligible_cleared(Decision([record], None)).records) == 1 + cleared
