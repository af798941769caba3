"""The records of `__consumer_offsets`, by the number at the head of their key."""

from __future__ import annotations

from typing import Final

from moldau.coordinator.record_framing import RecordType, RecordTypes
from moldau.protocol.message import Message
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
from moldau.protocol.messages.share_group_current_member_assignment_key import ShareGroupCurrentMemberAssignmentKey
from moldau.protocol.messages.share_group_current_member_assignment_value import ShareGroupCurrentMemberAssignmentValue
from moldau.protocol.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from moldau.protocol.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from moldau.protocol.messages.share_group_metadata_key import ShareGroupMetadataKey
from moldau.protocol.messages.share_group_metadata_value import ShareGroupMetadataValue
from moldau.protocol.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from moldau.protocol.messages.share_group_state_partition_metadata_value import ShareGroupStatePartitionMetadataValue
from moldau.protocol.messages.share_group_target_assignment_member_key import ShareGroupTargetAssignmentMemberKey
from moldau.protocol.messages.share_group_target_assignment_member_value import ShareGroupTargetAssignmentMemberValue
from moldau.protocol.messages.share_group_target_assignment_metadata_key import ShareGroupTargetAssignmentMetadataKey
from moldau.protocol.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)
from moldau.protocol.messages.streams_group_current_member_assignment_key import StreamsGroupCurrentMemberAssignmentKey
from moldau.protocol.messages.streams_group_current_member_assignment_value import (
    StreamsGroupCurrentMemberAssignmentValue,
)
from moldau.protocol.messages.streams_group_member_metadata_key import StreamsGroupMemberMetadataKey
from moldau.protocol.messages.streams_group_member_metadata_value import StreamsGroupMemberMetadataValue
from moldau.protocol.messages.streams_group_metadata_key import StreamsGroupMetadataKey
from moldau.protocol.messages.streams_group_metadata_value import StreamsGroupMetadataValue
from moldau.protocol.messages.streams_group_target_assignment_member_key import StreamsGroupTargetAssignmentMemberKey
from moldau.protocol.messages.streams_group_target_assignment_member_value import (
    StreamsGroupTargetAssignmentMemberValue,
)
from moldau.protocol.messages.streams_group_target_assignment_metadata_key import (
    StreamsGroupTargetAssignmentMetadataKey,
)
from moldau.protocol.messages.streams_group_target_assignment_metadata_value import (
    StreamsGroupTargetAssignmentMetadataValue,
)
from moldau.protocol.messages.streams_group_topology_key import StreamsGroupTopologyKey
from moldau.protocol.messages.streams_group_topology_value import StreamsGroupTopologyValue

OFFSETS_TOPIC: Final = "__consumer_offsets"

_PAIRS: Final[tuple[tuple[type[Message], type[Message]], ...]] = (
    # The oldest key has the same body, and its values the same versions, as the one that followed it.
    (LegacyOffsetCommitKey, OffsetCommitValue),
    (OffsetCommitKey, OffsetCommitValue),
    (GroupMetadataKey, GroupMetadataValue),
    (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    (ShareGroupMetadataKey, ShareGroupMetadataValue),
    (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
    (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
    (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    (StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
    (StreamsGroupMetadataKey, StreamsGroupMetadataValue),
    (StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue),
    (StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue),
    (StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue),
    (StreamsGroupTopologyKey, StreamsGroupTopologyValue),
)

RECORD_TYPES: Final[RecordTypes] = {key.API_KEY: RecordType(key, value) for key, value in _PAIRS}
