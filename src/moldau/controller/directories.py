"""Log directories of brokers: which replica lies in which, and what the loss of one means.

A broker chooses the directory of a new replica and reports it (AssignReplicasToDirs); until then it is UNASSIGNED. One
that fails is reported with the heartbeat and leaves the registration, and what lies in it can neither lead nor be in
sync. A replica reported in a directory that the broker does not have, or in LOST, is lost from then on.
"""

from __future__ import annotations

from collections.abc import Collection

from moldau.controller.decision import Decision
from moldau.controller.state import ControllerState
from moldau.controller.topics import Topic
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.broker_registration import BrokerRegistration
from moldau.metadata.features import CORDONED_SINCE, DIRECTORIES_SINCE
from moldau.metadata.records import BrokerRegistrationChangeRecord, Message
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)
from moldau.slicing import Work
from moldau.types import Uuid


def assign_replicas(
    state: ControllerState, request: AssignReplicasToDirsRequest
) -> Work[Decision[AssignReplicasToDirsResponse]]:
    if state.features.metadata_version < DIRECTORIES_SINCE:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "The metadata.version is too old to hold directories.")
    broker = state.brokers.check_epoch(request.broker_id, request.broker_epoch)
    changed: dict[tuple[Uuid, int], Message] = {}
    directories = []
    for directory in request.directories:
        topics = []
        for wanted in directory.topics:
            topic = state.topics.by_id(wanted.topic_id)
            results = []
            for partition in wanted.partitions:
                index = partition.partition_index
                error = _assign(state, broker, directory.id, topic, index, changed)
                results.append(ResponsePartitionData(partition_index=index, error_code=error))
                yield
            topics.append(ResponseTopicData(topic_id=wanted.topic_id, partitions=results))
            yield
        directories.append(ResponseDirectoryData(id=directory.id, topics=topics))
        yield
    return Decision(list(changed.values()), AssignReplicasToDirsResponse(directories=directories), atomic=False)


def _assign(
    state: ControllerState,
    broker: BrokerRegistration,
    directory: Uuid,
    topic: Topic | None,
    index: int,
    changed: dict[tuple[Uuid, int], Message],
) -> ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    current = topic.partitions.get(index)
    if current is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker.id not in current.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    is_there = broker.has_online_directory(directory)
    # One that comes out of a directory that is gone starts anew: nothing that it acknowledged is left.
    was_there = broker.has_online_directory(current.directory(broker.id))
    others = tuple(replica for replica in current.isr if replica != broker.id)
    record = state.leadership.change(
        topic,
        index,
        current,
        isr=current.isr if is_there and was_there else others,
        directories={broker.id: directory},
        incomplete=() if was_there else (broker.id,),
    )
    if record is not None:
        changed[topic.id, index] = record
    else:
        changed.pop((topic.id, index), None)
    return ErrorCode.NONE


def lose_directories(
    state: ControllerState, broker: BrokerRegistration, lost: Collection[Uuid], *, moves_anyway: bool
) -> Work[list[Message]]:
    """Disks failed: the replicas on them are no longer in sync and cannot lead. With `moves_anyway` something else was
    decided about the partitions of the broker in the same breath."""
    on_lost_disks = []
    for key in () if moves_anyway else state.topics.index.in_sync(broker.id):
        _, partition = state.topics.partition(key)
        if partition.directory(broker.id) in lost:
            on_lost_disks.append(key)
        yield
    records: list[Message] = []
    records += yield from state.leadership.updates(on_lost_disks, leaving=broker.id)
    records.append(
        BrokerRegistrationChangeRecord(
            broker_id=broker.id,
            broker_epoch=broker.epoch,
            log_dirs=[directory for directory in broker.directories if directory not in lost],
        )
    )
    return records


def cordon_directories(
    state: ControllerState, broker: BrokerRegistration, cordoned: Collection[Uuid] | None
) -> list[Message]:
    """A broker says which of its directories take no new replicas; None until it knows."""
    known = broker.cordoned_directories or ()
    if cordoned is None or state.features.metadata_version < CORDONED_SINCE or set(cordoned) == set(known):
        return []
    return [
        BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=sorted(cordoned)
        )
    ]
