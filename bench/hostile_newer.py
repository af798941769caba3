"""Requests of the newer APIs that name very many things: share and streams groups, rules, users, and what clients push.

Built as those of `hostile`, which are older; those that are about a group are all about `GROUP`.
"""

from __future__ import annotations

from bench.conversation import frame
from bench.hostile import Build, Element
from moldau.protocol.api import ApiKey
from moldau.protocol.messages import alter_partition_reassignments as reassignments
from moldau.protocol.messages import alter_share_group_offsets as share_offsets
from moldau.protocol.messages import share_acknowledge, share_fetch
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from moldau.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from moldau.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from moldau.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from moldau.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from moldau.protocol.messages.push_telemetry import PushTelemetryRequest
from moldau.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from moldau.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from moldau.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology
from moldau.protocol.records import Compression
from moldau.protocol.records.compression import compress
from moldau.types import Uuid

GROUP = "hostile"
MEMBER = "A" * 22
TOPIC, LITERAL, READ, ALLOW = 2, 3, 3, 3
SCRAM_SHA_256 = 1


def _id(name: str) -> bytes:
    return name.encode().ljust(16, b"-")


def _shares(name: str) -> share_fetch.FetchTopic:
    return share_fetch.FetchTopic(topic_id=_id(name), partitions=[share_fetch.FetchPartition()])


def _acknowledged(name: str) -> share_acknowledge.AcknowledgeTopic:
    batches = [share_acknowledge.AcknowledgementBatch(acknowledge_types=[1])]
    rows = [share_acknowledge.AcknowledgePartition(acknowledgement_batches=batches)]
    return share_acknowledge.AcknowledgeTopic(topic_id=_id(name), partitions=rows)


def _moved(name: str) -> share_offsets.AlterShareGroupOffsetsRequestTopic:
    rows = [share_offsets.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)]
    return share_offsets.AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=rows)


def _rule(name: str) -> AclCreation:
    return AclCreation(
        resource_type=TOPIC,
        resource_name=name,
        resource_pattern_type=LITERAL,
        principal="User:somebody",
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )


def _quota(name: str) -> RequestEntryData:
    entity = [RequestEntityData(entity_type="user", entity_name=name)]
    return RequestEntryData(entity=entity, ops=[OpData(key="producer_byte_rate", remove=True)])


def _reassigned(name: str) -> reassignments.ReassignableTopic:
    rows = [reassignments.ReassignablePartition(partition_index=0, replicas=[1])]
    return reassignments.ReassignableTopic(name=name, partitions=rows)


NEWER: dict[ApiKey, tuple[Build, Element]] = {
    ApiKey.SHARE_FETCH: (
        lambda e: share_fetch.ShareFetchRequest(
            group_id=GROUP, member_id=MEMBER, max_wait_ms=100, min_bytes=1, max_records=500, batch_size=500, topics=e
        ),
        _shares,
    ),
    ApiKey.SHARE_ACKNOWLEDGE: (
        lambda e: share_acknowledge.ShareAcknowledgeRequest(
            group_id=GROUP, member_id=MEMBER, share_session_epoch=1, topics=e
        ),
        _acknowledged,
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: (
        lambda e: ShareGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, subscribed_topic_names=e),
        str,
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: (lambda e: ShareGroupDescribeRequest(group_ids=e), str),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (
        lambda e: StreamsGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=MEMBER,
            rebalance_timeout_ms=60_000,
            topology=Topology(epoch=1, subtopologies=[Subtopology(subtopology_id="0", source_topics=e)]),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            process_id="p",
        ),
        str,
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: (lambda e: StreamsGroupDescribeRequest(group_ids=e), str),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        lambda e: DescribeShareGroupOffsetsRequest(groups=e),
        lambda name: DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None),
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (
        lambda e: share_offsets.AlterShareGroupOffsetsRequest(group_id=GROUP, topics=e),
        _moved,
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        lambda e: AddPartitionsToTxnRequest(transactions=e),
        lambda name: AddPartitionsToTxnTransaction(transactional_id=name),
    ),
    ApiKey.OFFSET_FETCH: (
        lambda e: OffsetFetchRequest(groups=e),
        lambda name: OffsetFetchRequestGroup(group_id=name, topics=None),
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: (lambda e: AlterClientQuotasRequest(entries=e), _quota),
    ApiKey.CREATE_ACLS: (lambda e: CreateAclsRequest(creations=e), _rule),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (
        lambda e: DescribeClientQuotasRequest(components=e),
        lambda name: ComponentData(entity_type=name, match_type=0, match=""),
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (
        lambda e: AlterUserScramCredentialsRequest(deletions=e),
        lambda name: ScramCredentialDeletion(name=name, mechanism=SCRAM_SHA_256),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (
        lambda e: reassignments.AlterPartitionReassignmentsRequest(topics=e),
        _reassigned,
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (
        lambda e: DescribeTopicPartitionsRequest(topics=e),
        lambda name: TopicRequest(name=name),
    ),
}


def pushes(instance_id: Uuid, subscription_id: int, megabytes: int) -> bytes:
    """Metrics of some kilobytes that become very many when they are unpacked."""
    packed = bytes(compress(Compression.ZSTD, bytes(megabytes << 20)))
    request = PushTelemetryRequest(
        client_instance_id=instance_id,
        subscription_id=subscription_id,
        compression_type=Compression.ZSTD,
        metrics=packed,
    )
    return frame(request, 0)
