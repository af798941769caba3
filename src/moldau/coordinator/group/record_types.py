"""The records of `__consumer_offsets`, by the number at the head of their key."""

from __future__ import annotations

from typing import Final

from moldau.coordinator.record_framing import RecordType, RecordTypes
from moldau.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from moldau.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from moldau.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from moldau.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from moldau.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from moldau.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from moldau.protocol.messages.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from moldau.protocol.messages.consumer_group_partition_metadata_value import ConsumerGroupPartitionMetadataValue
from moldau.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from moldau.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from moldau.protocol.messages.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from moldau.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from moldau.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from moldau.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from moldau.protocol.messages.group_metadata_key import GroupMetadataKey
from moldau.protocol.messages.group_metadata_value import GroupMetadataValue
from moldau.protocol.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from moldau.protocol.messages.offset_commit_key import OffsetCommitKey
from moldau.protocol.messages.offset_commit_value import OffsetCommitValue

OFFSETS_TOPIC: Final = "__consumer_offsets"

RECORD_TYPES: Final[RecordTypes] = {
    # The oldest key has the same body, and its values the same versions, as the one that followed it.
    LegacyOffsetCommitKey.API_KEY: RecordType(LegacyOffsetCommitKey, OffsetCommitValue),
    OffsetCommitKey.API_KEY: RecordType(OffsetCommitKey, OffsetCommitValue),
    GroupMetadataKey.API_KEY: RecordType(GroupMetadataKey, GroupMetadataValue),
    ConsumerGroupMetadataKey.API_KEY: RecordType(ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    ConsumerGroupPartitionMetadataKey.API_KEY: RecordType(
        ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue
    ),
    ConsumerGroupMemberMetadataKey.API_KEY: RecordType(
        ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue
    ),
    ConsumerGroupTargetAssignmentMetadataKey.API_KEY: RecordType(
        ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue
    ),
    ConsumerGroupTargetAssignmentMemberKey.API_KEY: RecordType(
        ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue
    ),
    ConsumerGroupCurrentMemberAssignmentKey.API_KEY: RecordType(
        ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue
    ),
    ConsumerGroupRegularExpressionKey.API_KEY: RecordType(
        ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue
    ),
}
