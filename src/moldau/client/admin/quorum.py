"""The quorum that keeps the cluster's metadata: who votes, how far each of them is, and who joins or leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from moldau.client.conversation import Ask, Conversation, retrying
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import add_raft_voter as adding
from moldau.protocol.messages import describe_quorum as quorums
from moldau.protocol.messages import remove_raft_voter as removing
from moldau.types import ZERO_UUID, Uuid

_METADATA_TOPIC = "__cluster_metadata"
_REQUEST_TIMEOUT_MS = 30_000


class QuorumReplica(NamedTuple):
    """Times are milliseconds since the epoch, -1 where the leader does not tell."""

    id: int
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int
    # Which disk it votes from; zeros where voters are told apart by their ids alone.
    directory: Uuid = ZERO_UUID


class ControllerEndpoint(NamedTuple):
    listener: str
    host: str
    port: int


@dataclass(slots=True, frozen=True)
class QuorumDescription:
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    # Where the voters are reached, by id; empty where the broker is too old to say.
    endpoints: Mapping[int, tuple[ControllerEndpoint, ...]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The end of the leader's log: what lag is counted from."""
        return max(
            (each.log_end_offset for each in self.voters if each.id == self.leader_id), default=self.high_watermark
        )

    def lag(self, replica: QuorumReplica) -> int | None:
        """Records it does not have yet; None for one that was not heard of since this leader leads."""
        return None if replica.log_end_offset < 0 else max(0, self.end - replica.log_end_offset)


def describe_quorum() -> Conversation[QuorumDescription]:
    """Any broker passes the question on to the leader of the quorum; a controller answers it only if it leads."""
    asked = quorums.RequestTopicData(
        topic_name=_METADATA_TOPIC, partitions=[quorums.RequestPartitionData(partition_index=0)]
    )

    def attempt() -> Conversation[QuorumDescription]:
        response: quorums.DescribeQuorumResponse = yield Ask(quorums.DescribeQuorumRequest(topics=[asked]))
        _check(response.error_code, response.error_message)
        row = response.topics[0].partitions[0]
        _check(row.error_code, row.error_message)
        endpoints = {
            node.node_id: tuple(ControllerEndpoint(each.name, each.host, each.port) for each in node.listeners)
            for node in response.nodes
        }
        return QuorumDescription(
            row.leader_id,
            row.leader_epoch,
            row.high_watermark,
            _replicas(row.current_voters),
            _replicas(row.observers),
            endpoints,
        )

    return retrying(attempt)


def add_voter(
    voter: int, directory: Uuid, endpoints: Iterable[ControllerEndpoint], *, cluster_id: str | None = None
) -> Conversation[None]:
    """Lets a controller that follows already vote."""
    request = adding.AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=_REQUEST_TIMEOUT_MS,
        voter_id=voter,
        voter_directory_id=directory,
        listeners=[adding.Listener(name=each.listener, host=each.host, port=each.port) for each in endpoints],
    )

    def attempt() -> Conversation[None]:
        response: adding.AddRaftVoterResponse = yield Ask(request)
        _check(response.error_code, response.error_message)

    return retrying(attempt)


def remove_voter(voter: int, directory: Uuid, *, cluster_id: str | None = None) -> Conversation[None]:
    """From then on it follows, and its vote is not counted."""
    request = removing.RemoveRaftVoterRequest(cluster_id=cluster_id, voter_id=voter, voter_directory_id=directory)

    def attempt() -> Conversation[None]:
        response: removing.RemoveRaftVoterResponse = yield Ask(request)
        _check(response.error_code, response.error_message)

    return retrying(attempt)


def _replicas(rows: Iterable[quorums.ReplicaState]) -> tuple[QuorumReplica, ...]:
    return tuple(
        QuorumReplica(
            row.replica_id,
            row.log_end_offset,
            row.last_fetch_timestamp,
            row.last_caught_up_timestamp,
            row.replica_directory_id,
        )
        for row in rows
    )


def _check(number: int, message: str | None) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, message)
