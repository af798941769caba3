"""What the machine asks other members, as Kafka's messages, and what their answers say.

All of them speak of one topic with one partition. An answer of an older version names a leader without its endpoint:
then the list of voters has to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from moldau.errors import KafkaError, error_code
from moldau.links.addresses import Address
from moldau.metadata.topic_name import METADATA_PARTITION
from moldau.protocol.message import Message
from moldau.protocol.messages import (
    add_raft_voter,
    api_versions,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    remove_raft_voter,
    update_raft_voter,
    vote,
)
from moldau.raft import messages
from moldau.raft.batches import received_entries
from moldau.raft.log_view import EpochOffset
from moldau.raft.messages import Answer, Request, Standing
from moldau.raft.metadata_log import METADATA_TOPIC_ID
from moldau.runtime.ports import FileSlice

KRAFT_VERSION: Final = "kraft.version"
_TOPIC, _INDEX = METADATA_PARTITION


# -------------------------------------------------------------------------------------------------- requests that leave


def request_message(request: Request, cluster_id: str | None) -> Message:
    if isinstance(request, messages.FetchRequest):
        return _fetch_message(request, cluster_id)
    if isinstance(request, messages.VoteRequest):
        return _vote_message(request, cluster_id)
    if isinstance(request, messages.BeginEpochRequest):
        return _begin_message(request, cluster_id)
    if isinstance(request, messages.EndEpochRequest):
        return _end_message(request, cluster_id)
    if isinstance(request, messages.SnapshotRequest):
        return _snapshot_message(request, cluster_id)
    if isinstance(request, messages.AddVoterRequest):
        return add_raft_voter.AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=int(request.timeout * 1000),
            voter_id=request.voter.key.id,
            voter_directory_id=request.voter.key.directory,
            listeners=[add_raft_voter.Listener(name=e.name, host=e.host, port=e.port) for e in request.voter.endpoints],
            ack_when_committed=request.ack_when_committed,
        )
    if isinstance(request, messages.RemoveVoterRequest):
        return remove_raft_voter.RemoveRaftVoterRequest(
            cluster_id=cluster_id, voter_id=request.voter.id, voter_directory_id=request.voter.directory
        )
    if isinstance(request, messages.UpdateVoterRequest):
        return _update_message(request, cluster_id)
    return api_versions.ApiVersionsRequest(client_software_name="moldau", client_software_version="0")


def _vote_message(request: messages.VoteRequest, cluster_id: str | None) -> Message:
    partition = vote.RequestPartitionData(
        partition_index=_INDEX,
        replica_epoch=request.epoch,
        replica_id=request.candidate.id,
        replica_directory_id=request.candidate.directory,
        last_offset_epoch=request.end.epoch,
        last_offset=request.end.offset,
        pre_vote=request.pre_vote,
    )
    message = vote.VoteRequest(cluster_id=cluster_id, topics=[_topic(vote.RequestTopicData, partition)])
    if request.voter is not None:
        message.voter_id, partition.voter_directory_id = request.voter
    return message


def _begin_message(request: messages.BeginEpochRequest, cluster_id: str | None) -> Message:
    form = begin_quorum_epoch
    partition = form.RequestPartitionData(
        partition_index=_INDEX, leader_id=request.leader_id, leader_epoch=request.epoch
    )
    message = form.BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[_topic(form.RequestTopicData, partition)],
        leader_endpoints=[form.LeaderEndpoint(name=e.name, host=e.host, port=e.port) for e in request.endpoints],
    )
    if request.voter is not None:
        message.voter_id, partition.voter_directory_id = request.voter
    return message


def _end_message(request: messages.EndEpochRequest, cluster_id: str | None) -> Message:
    form = end_quorum_epoch
    partition = form.RequestPartitionData(
        partition_index=_INDEX,
        leader_id=request.leader_id,
        leader_epoch=request.epoch,
        preferred_successors=[key.id for key in request.successors],
        preferred_candidates=[
            form.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory) for key in request.successors
        ],
    )
    return form.EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[_topic(form.RequestTopicData, partition)],
        leader_endpoints=[form.LeaderEndpoint(name=e.name, host=e.host, port=e.port) for e in request.endpoints],
    )


def _fetch_message(request: messages.FetchRequest, cluster_id: str | None) -> Message:
    partition = fetch.FetchPartition(
        partition=_INDEX,
        current_leader_epoch=request.epoch,
        fetch_offset=request.end.offset,
        last_fetched_epoch=request.end.epoch,
        partition_max_bytes=0,
        replica_directory_id=request.replica.directory,
        high_watermark=request.high_watermark,
    )
    return fetch.FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch.ReplicaState(replica_id=request.replica.id),
        max_wait_ms=int(request.max_wait * 1000),
        min_bytes=0,
        max_bytes=request.max_bytes,
        topics=[fetch.FetchTopic(topic=_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


def _snapshot_message(request: messages.SnapshotRequest, cluster_id: str | None) -> Message:
    form = fetch_snapshot
    partition = form.RequestPartitionSnapshot(
        partition=_INDEX,
        current_leader_epoch=request.epoch,
        snapshot_id=form.RequestSnapshotId(end_offset=request.snapshot.offset, epoch=request.snapshot.epoch),
        position=request.position,
        replica_directory_id=request.replica.directory,
    )
    return form.FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=request.replica.id,
        max_bytes=request.max_bytes,
        topics=[form.RequestTopicSnapshot(name=_TOPIC, partitions=[partition])],
    )


def _update_message(request: messages.UpdateVoterRequest, cluster_id: str | None) -> Message:
    form, voter = update_raft_voter, request.voter
    return form.UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=request.epoch,
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory,
        listeners=[form.Listener(name=e.name, host=e.host, port=e.port) for e in voter.endpoints],
        kraft_version_feature=form.KRaftVersionFeature(
            min_supported_version=voter.min_version, max_supported_version=voter.max_version
        ),
    )


# --------------------------------------------------------------------------------------------------- answers that come


def answer_from(response: Any) -> Answer:
    """What an answer of another node says; KafkaError with the code of a request that was refused as a whole."""
    if isinstance(response, api_versions.ApiVersionsResponse):
        ranges = {feature.name: feature for feature in response.supported_features}
        kraft = ranges.get(KRAFT_VERSION)
        code = error_code(response.error_code)
        return messages.VersionsAnswer(
            code, 0 if kraft is None else kraft.min_version, 0 if kraft is None else kraft.max_version
        )
    if isinstance(response, add_raft_voter.AddRaftVoterResponse | remove_raft_voter.RemoveRaftVoterResponse):
        return messages.ChangeAnswer(error_code(response.error_code), Standing(-1))
    if isinstance(response, update_raft_voter.UpdateRaftVoterResponse):
        leader = response.current_leader
        address = Address(leader.host, leader.port) if leader.host else None
        return messages.ChangeAnswer(
            error_code(response.error_code), Standing(leader.leader_epoch, leader.leader_id, address)
        )
    if response.error_code:
        raise KafkaError(error_code(response.error_code))
    if isinstance(response, fetch.FetchResponse):
        return _fetch_answer(response)
    [topic] = response.topics
    [partition] = topic.partitions
    error = error_code(partition.error_code)
    if isinstance(response, fetch_snapshot.FetchSnapshotResponse):
        leader = partition.current_leader
        id = partition.snapshot_id
        return messages.SnapshotAnswer(
            error,
            _standing(leader.leader_epoch, leader.leader_id, response.node_endpoints),
            EpochOffset(id.epoch, id.end_offset),
            partition.size,
            partition.position,
            bytes(partition.unaligned_records or b""),
        )
    standing = _standing(partition.leader_epoch, partition.leader_id, response.node_endpoints)
    if isinstance(response, vote.VoteResponse):
        return messages.VoteAnswer(error, standing, partition.vote_granted)
    return messages.EpochAnswer(error, standing)


def _fetch_answer(response: fetch.FetchResponse) -> messages.FetchAnswer:
    [topic] = response.responses
    [partition] = topic.partitions
    records = partition.records
    leader, diverging, snapshot = partition.current_leader, partition.diverging_epoch, partition.snapshot_id
    return messages.FetchAnswer(
        error_code(partition.error_code),
        _standing(leader.leader_epoch, leader.leader_id, response.node_endpoints),
        partition.high_watermark,
        EpochOffset(diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None,
        EpochOffset(snapshot.epoch, snapshot.end_offset) if snapshot.epoch >= 0 <= snapshot.end_offset else None,
        entries=None if isinstance(records, FileSlice) or not records else received_entries(records),
    )


def _standing(epoch: int, leader_id: int, endpoints: Iterable[Any]) -> Standing:
    address = next((Address(node.host, node.port) for node in endpoints if node.node_id == leader_id), None)
    return Standing(epoch, leader_id, address)


def _topic(form: Any, partition: Any) -> Any:
    return form(topic_name=_TOPIC, partitions=[partition])
