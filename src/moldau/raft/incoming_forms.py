"""What other members ask, as the machine understands it, and its answers as Kafka's messages.

All of them speak of one topic with one partition. Every answer names the leader that is known here, with the endpoint
under which it is reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.topic_name import METADATA_PARTITION
from moldau.protocol.message import Message
from moldau.protocol.messages import (
    add_raft_voter,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    remove_raft_voter,
    update_raft_voter,
    vote,
)
from moldau.raft import messages
from moldau.raft.log_view import EpochOffset
from moldau.raft.messages import Request, Standing
from moldau.raft.metadata_log import METADATA_TOPIC_ID
from moldau.raft.voters import Endpoint, ReplicaKey, Voter

_TOPIC, _INDEX = METADATA_PARTITION


# --------------------------------------------------------------------------------------------------- requests that come


def request_from(message: Any) -> Request:
    """A request of another node; KafkaError(INVALID_REQUEST) if it is not about the metadata log and nothing else."""
    if isinstance(message, add_raft_voter.AddRaftVoterRequest):
        key = ReplicaKey(message.voter_id, message.voter_directory_id)
        return messages.AddVoterRequest(
            Voter(key, _endpoints(message.listeners)), message.timeout_ms / 1000, message.ack_when_committed
        )
    if isinstance(message, remove_raft_voter.RemoveRaftVoterRequest):
        return messages.RemoveVoterRequest(ReplicaKey(message.voter_id, message.voter_directory_id))
    if isinstance(message, update_raft_voter.UpdateRaftVoterRequest):
        versions = message.kraft_version_feature
        voter = Voter(
            ReplicaKey(message.voter_id, message.voter_directory_id),
            _endpoints(message.listeners),
            versions.min_supported_version,
            versions.max_supported_version,
        )
        return messages.UpdateVoterRequest(message.current_leader_epoch, voter)
    partition = _only_partition(message)
    if isinstance(message, fetch.FetchRequest):
        replica_id = max(message.replica_id, message.replica_state.replica_id)
        return messages.FetchRequest(
            partition.current_leader_epoch,
            ReplicaKey(replica_id, partition.replica_directory_id),
            EpochOffset(partition.last_fetched_epoch, partition.fetch_offset),
            partition.high_watermark,
            message.max_wait_ms / 1000,
            message.max_bytes,
        )
    if isinstance(message, fetch_snapshot.FetchSnapshotRequest):
        return messages.SnapshotRequest(
            partition.current_leader_epoch,
            ReplicaKey(message.replica_id, partition.replica_directory_id),
            EpochOffset(partition.snapshot_id.epoch, partition.snapshot_id.end_offset),
            partition.position,
            message.max_bytes,
        )
    if isinstance(message, vote.VoteRequest):
        return messages.VoteRequest(
            partition.replica_epoch,
            ReplicaKey(partition.replica_id, partition.replica_directory_id),
            ReplicaKey(message.voter_id, partition.voter_directory_id) if message.voter_id >= 0 else None,
            EpochOffset(partition.last_offset_epoch, partition.last_offset),
            partition.pre_vote,
        )
    if isinstance(message, begin_quorum_epoch.BeginQuorumEpochRequest):
        return messages.BeginEpochRequest(
            partition.leader_epoch,
            partition.leader_id,
            ReplicaKey(message.voter_id, partition.voter_directory_id) if message.voter_id >= 0 else None,
            _endpoints(message.leader_endpoints),
        )
    if isinstance(message, end_quorum_epoch.EndQuorumEpochRequest):
        candidates = [
            ReplicaKey(one.candidate_id, one.candidate_directory_id) for one in partition.preferred_candidates
        ]
        return messages.EndEpochRequest(
            partition.leader_epoch,
            partition.leader_id,
            tuple(candidates or [ReplicaKey(id) for id in partition.preferred_successors]),
            _endpoints(message.leader_endpoints),
        )
    raise KafkaError(ErrorCode.INVALID_REQUEST)


def _only_partition(message: Any) -> Any:
    topics = message.topics
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        topic, partition = topics[0], topics[0].partitions[0]
        name = getattr(topic, "topic_name", None) or getattr(topic, "name", None) or getattr(topic, "topic", None)
        is_ours = name == _TOPIC or (not name and getattr(topic, "topic_id", None) == METADATA_TOPIC_ID)
        index = partition.partition_index if hasattr(partition, "partition_index") else partition.partition
        if is_ours and index == _INDEX:
            return partition
    raise KafkaError(ErrorCode.INVALID_REQUEST, "Only the metadata log has a quorum.")


def _endpoints(listeners: Iterable[Any]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(one.name, one.host, one.port) for one in listeners)


def _topic(form: Any, partition: Any) -> Any:
    return form(topic_name=_TOPIC, partitions=[partition])


# --------------------------------------------------------------------------------------------------- answers that leave


def response_message(request: Any, answer: Any, version: int) -> Message:
    standing: Standing = answer.standing
    if isinstance(request, add_raft_voter.AddRaftVoterRequest):
        return add_raft_voter.AddRaftVoterResponse(error_code=answer.error, error_message=_said(answer))
    if isinstance(request, remove_raft_voter.RemoveRaftVoterRequest):
        return remove_raft_voter.RemoveRaftVoterResponse(error_code=answer.error, error_message=_said(answer))
    if isinstance(request, update_raft_voter.UpdateRaftVoterRequest):
        host, port = standing.address or ("", 0)
        leader = update_raft_voter.CurrentLeader(
            leader_id=standing.leader_id, leader_epoch=standing.epoch, host=host, port=port
        )
        return update_raft_voter.UpdateRaftVoterResponse(error_code=answer.error, current_leader=leader)
    if isinstance(request, fetch.FetchRequest):
        return _fetch_response(answer, version)
    if isinstance(request, fetch_snapshot.FetchSnapshotRequest):
        return _snapshot_response(answer, version)
    said = {"partition_index": _INDEX, "leader_id": standing.leader_id, "leader_epoch": standing.epoch}
    if isinstance(request, vote.VoteRequest):
        partition = vote.ResponsePartitionData(error_code=answer.error, vote_granted=answer.granted, **said)
        return vote.VoteResponse(
            topics=[_topic(vote.ResponseTopicData, partition)],
            node_endpoints=_known(vote.NodeEndpoint, standing, version >= 1),
        )
    form: Any = (
        begin_quorum_epoch if isinstance(request, begin_quorum_epoch.BeginQuorumEpochRequest) else end_quorum_epoch
    )
    response = (
        begin_quorum_epoch.BeginQuorumEpochResponse
        if form is begin_quorum_epoch
        else end_quorum_epoch.EndQuorumEpochResponse
    )
    return response(
        topics=[_topic(form.ResponseTopicData, form.ResponsePartitionData(error_code=answer.error, **said))],
        node_endpoints=_known(form.NodeEndpoint, standing, version >= 1),
    )


def _said(answer: messages.ChangeAnswer) -> str | None:
    return answer.message or (answer.error.text if answer.error else None)


def _known(form: Any, standing: Standing, has_place: bool) -> list[Any]:
    if not has_place or standing.address is None:
        return []
    return [form(node_id=standing.leader_id, host=standing.address.host, port=standing.address.port)]


def _fetch_response(answer: messages.FetchAnswer, version: int) -> Message:
    standing = answer.standing
    partition = fetch.PartitionData(
        partition_index=_INDEX,
        error_code=answer.error,
        high_watermark=answer.high_watermark,
        current_leader=fetch.LeaderIdAndEpoch(leader_id=standing.leader_id, leader_epoch=standing.epoch),
        aborted_transactions=None,
        records=b"" if answer.entries is None else answer.entries.data,
    )
    if answer.diverging is not None:
        partition.diverging_epoch = fetch.EpochEndOffset(
            epoch=answer.diverging.epoch, end_offset=answer.diverging.offset
        )
    if answer.snapshot is not None:
        partition.snapshot_id = fetch.SnapshotId(end_offset=answer.snapshot.offset, epoch=answer.snapshot.epoch)
    topic = fetch.FetchableTopicResponse(topic=_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return fetch.FetchResponse(responses=[topic], node_endpoints=_known(fetch.NodeEndpoint, standing, version >= 16))


def _snapshot_response(answer: messages.SnapshotAnswer, version: int) -> Message:
    form, standing = fetch_snapshot, answer.standing
    partition = form.ResponsePartitionSnapshot(
        index=_INDEX,
        error_code=answer.error,
        current_leader=form.LeaderIdAndEpoch(leader_id=standing.leader_id, leader_epoch=standing.epoch),
        size=answer.size,
        position=answer.position,
        unaligned_records=answer.data,
    )
    if answer.snapshot is not None:
        partition.snapshot_id = form.ResponseSnapshotId(end_offset=answer.snapshot.offset, epoch=answer.snapshot.epoch)
    return form.FetchSnapshotResponse(
        topics=[form.ResponseTopicSnapshot(name=_TOPIC, partitions=[partition])],
        node_endpoints=_known(form.NodeEndpoint, standing, version >= 1),
    )
