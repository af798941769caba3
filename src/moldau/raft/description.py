"""What DescribeQuorum answers: the leader's view of every replica of the metadata log."""

from __future__ import annotations

from moldau.errors import ErrorCode
from moldau.metadata.topic_name import METADATA_PARTITION
from moldau.protocol.message import Message
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from moldau.raft.machine import RaftMachine
from moldau.raft.progress import Replica
from moldau.raft.roles import Leader
from moldau.runtime.ports import Clock

_TOPIC, _INDEX = METADATA_PARTITION


def describe(request: Message, machine: RaftMachine, clock: Clock, version: int) -> DescribeQuorumResponse | None:
    """The answer to a DescribeQuorum; None for a request of another kind."""
    if not isinstance(request, DescribeQuorumRequest):
        return None
    # Kafka knows an answer only to whoever asks for this partition and nothing else.
    asked = [(topic.topic_name, row.partition_index) for topic in request.topics for row in topic.partitions]
    is_known = asked == [METADATA_PARTITION]
    topics = [
        ResponseTopicData(
            topic_name=topic.topic_name,
            partitions=[
                _partition(machine, clock, version)
                if is_known
                else _refusal(partition.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, version)
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return DescribeQuorumResponse(topics=topics, nodes=_nodes(machine) if version >= 2 else [])


def _refusal(index: int, error: ErrorCode, version: int) -> ResponsePartitionData:
    return ResponsePartitionData(
        partition_index=index, error_code=error, error_message=error.text if version >= 2 else None
    )


def _partition(machine: RaftMachine, clock: Clock, version: int) -> ResponsePartitionData:
    member, role = machine.member, machine.member.role
    if not isinstance(role, Leader):
        return _refusal(_INDEX, ErrorCode.NOT_LEADER_OR_FOLLOWER, version)

    def state(replica: Replica) -> ReplicaState:
        now_ms = clock.now_ms()
        directory = replica.key.directory if version >= 2 else bytes(16)
        if replica.key.id == member.key.id:
            # The leader is always with itself.
            return ReplicaState(
                replica_id=member.key.id,
                replica_directory_id=directory,
                log_end_offset=member.end.offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
        return ReplicaState(
            replica_id=replica.key.id,
            replica_directory_id=directory,
            log_end_offset=-1 if replica.end_offset is None else replica.end_offset,
            last_fetch_timestamp=_wall(replica.last_fetch, clock),
            last_caught_up_timestamp=_wall(replica.last_caught_up, clock),
        )

    return ResponsePartitionData(
        partition_index=_INDEX,
        leader_id=member.key.id,
        leader_epoch=member.epoch,
        high_watermark=member.high_watermark if role.is_settled else -1,
        current_voters=[state(replica) for replica in role.progress.voters.values()],
        observers=[state(replica) for replica in role.progress.active_observers(clock.monotonic())],
    )


def _wall(moment: float | None, clock: Clock) -> int:
    return -1 if moment is None else clock.now_ms() - int((clock.monotonic() - moment) * 1000)


def _nodes(machine: RaftMachine) -> list[Node]:
    return [
        Node(
            node_id=voter.key.id,
            listeners=[Listener(name=e.name, host=e.host, port=e.port) for e in voter.endpoints],
        )
        for voter in machine.member.voters
    ]
