"""Group requests: who asks, and what those hear who could not be served: which code, and where the response has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import consumer_group_heartbeat as consumer_heartbeat
from moldau.protocol.messages import heartbeat as heartbeats
from moldau.protocol.messages import join_group as joins
from moldau.protocol.messages import leave_group as leaves
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages import offset_delete as offset_deletion
from moldau.protocol.messages import offset_fetch as fetches
from moldau.protocol.messages import sync_group as syncs
from moldau.protocol.messages import txn_offset_commit as transactional
from moldau.runtime.ports import Random

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE)


# Which of these topics somebody may know of.
Visible: TypeAlias = Callable[[frozenset[str]], frozenset[str]]


class RequestInfo(NamedTuple):
    """What a coordinator knows of a request besides its content."""

    client_id: str
    client_host: str
    api_version: int
    random: Random
    # Of topics that a pattern stands for, those that the client may know of; None: all of them.
    visible: Visible | None = None

    def new_member_id(self, prefix: str) -> str:
        """`prefix` and a random id, as the groups' tools print it."""
        return f"{prefix}-{random_uuid(self.random)}" if prefix else random_uuid(self.random)


def random_uuid(random: Random) -> str:
    """A random UUID (version 4) in the usual notation."""
    raw = bytearray(random.bytes(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


# ------------------------------------------------------------------------------------------------------------- refusals


def append_error(error: KafkaError) -> ErrorCode:
    """What a member hears when the group could not be stored."""
    return ErrorCode.UNKNOWN_SERVER_ERROR if error.code in _TOO_LARGE else error.code


def commit_error(error: KafkaError) -> ErrorCode:
    """The same for offsets, which can be made smaller."""
    return ErrorCode.INVALID_COMMIT_OFFSET_SIZE if error.code in _TOO_LARGE else error.code


def join_refused(request: joins.JoinGroupRequest, code: ErrorCode) -> joins.JoinGroupResponse:
    return joins.JoinGroupResponse(error_code=code, member_id=request.member_id)


def sync_refused(error: KafkaError) -> syncs.SyncGroupResponse:
    return syncs.SyncGroupResponse(error_code=append_error(error))


def heartbeat_refused(error: KafkaError) -> heartbeats.HeartbeatResponse:
    # A client cannot do anything about a coordinator that loads, and must not think it was removed.
    loading = error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return heartbeats.HeartbeatResponse(error_code=ErrorCode.NONE if loading else error.code)


def leave_refused(request: leaves.LeaveGroupRequest, error: KafkaError, *, single: bool) -> leaves.LeaveGroupResponse:
    """Whoever is not a member hears so in its own row, where the version has rows."""
    if error.code != ErrorCode.UNKNOWN_MEMBER_ID or single:
        return leaves.LeaveGroupResponse(error_code=error.code)
    rows = [
        leaves.MemberResponse(member_id=row.member_id, group_instance_id=row.group_instance_id, error_code=error.code)
        for row in request.members
    ]
    return leaves.LeaveGroupResponse(members=rows)


def consumer_heartbeat_refused(error: KafkaError) -> consumer_heartbeat.ConsumerGroupHeartbeatResponse:
    return consumer_heartbeat.ConsumerGroupHeartbeatResponse(
        error_code=append_error(error), error_message=error.message
    )


def commit_refused(request: commits.OffsetCommitRequest, error: KafkaError) -> commits.OffsetCommitResponse:
    code = commit_error(error)
    return commits.OffsetCommitResponse(
        topics=[
            commits.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    commits.OffsetCommitResponsePartition(partition_index=row.partition_index, error_code=code)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def transactional_commit_refused(
    request: transactional.TxnOffsetCommitRequest, error: KafkaError
) -> transactional.TxnOffsetCommitResponse:
    code = commit_error(error)
    return transactional.TxnOffsetCommitResponse(
        topics=[
            transactional.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    transactional.TxnOffsetCommitResponsePartition(partition_index=row.partition_index, error_code=code)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def fetch_refused(request: fetches.OffsetFetchRequestGroup, error: KafkaError) -> fetches.OffsetFetchResponseGroup:
    return fetches.OffsetFetchResponseGroup(group_id=request.group_id, error_code=error.code)


def offset_delete_refused(error: KafkaError) -> offset_deletion.OffsetDeleteResponse:
    return offset_deletion.OffsetDeleteResponse(error_code=append_error(error))
