"""Committing offsets of a group, and asking for what was committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from moldau.client.conversation import Ask, Conversation
from moldau.client.coordinators import CoordinatorOf, CoordinatorType, check_code
from moldau.client.leaders import by_topic
from moldau.client.structs import OffsetAndMetadata
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.errors.named import CommitFailedError
from moldau.links.versions import ByVersion
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from moldau.types import NO_OFFSET, TopicPartition

# From these versions on: several groups at once; topics by id instead of by name.
_SEVERAL_GROUPS: Final = 8
_LAST_BY_NAME: Final = 9

# The group has gone on without us; to commit again would be to overwrite what others did since.
_LEFT_BEHIND: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)


class Membership(NamedTuple):
    """As whom offsets are committed; outside of any generation for those who assign partitions themselves."""

    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None


class GroupOffsets:
    def __init__(self, group_id: str, coordinator: CoordinatorOf | None = None, *, stable_only: bool = False) -> None:
        self.group_id = group_id
        self.coordinator = coordinator or CoordinatorOf(group_id, CoordinatorType.GROUP)
        self._stable_only = stable_only

    def fetch(self, partitions: Iterable[TopicPartition]) -> Conversation[dict[TopicPartition, OffsetAndMetadata]]:
        """What was committed, for those partitions that have something."""
        topics = by_topic(partitions)

        def build(version: int) -> OffsetFetchRequest:
            stable = self._stable_only and version >= 7
            if version < _SEVERAL_GROUPS:
                return OffsetFetchRequest(
                    group_id=self.group_id,
                    topics=[
                        OffsetFetchRequestTopic(name=name, partition_indexes=[where.partition for where in group])
                        for name, group in topics.items()
                    ],
                    require_stable=stable,
                )
            wanted = [
                OffsetFetchRequestTopics(name=name, partition_indexes=[where.partition for where in group])
                for name, group in topics.items()
            ]
            group = OffsetFetchRequestGroup(group_id=self.group_id, topics=wanted)
            return OffsetFetchRequest(groups=[group], require_stable=stable)

        def check(response: OffsetFetchResponse) -> None:
            check_code(response.groups[0].error_code if response.groups else response.error_code)
            for topic in _topics(response):
                for entry in topic.partitions:
                    check_code(entry.error_code)

        response: OffsetFetchResponse = yield from self.coordinator.retrying(
            lambda: Ask(ByVersion(OffsetFetchRequest, build), at_most=_LAST_BY_NAME), check
        )
        return {
            TopicPartition(topic.name, entry.partition_index): OffsetAndMetadata(
                entry.committed_offset, entry.metadata or "", entry.committed_leader_epoch
            )
            for topic in _topics(response)
            for entry in topic.partitions
            if entry.committed_offset != NO_OFFSET
        }

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], member: Membership
    ) -> Conversation[dict[TopicPartition, OffsetAndMetadata]]:
        """Returns when the group remembers; CommitFailedError when it has gone on without us, and FencedInstanceIdError
        when another took our place: nobody may come back from that by joining again."""
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=member.generation,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=where.partition,
                            committed_offset=offsets[where].offset,
                            committed_leader_epoch=offsets[where].leader_epoch,
                            committed_metadata=offsets[where].metadata or "",
                        )
                        for where in partitions
                    ],
                )
                for topic, partitions in by_topic(offsets).items()
            ],
        )
        yield from self.coordinator.retrying(lambda: Ask(request, at_most=_LAST_BY_NAME), _check_commit)
        return dict(offsets)


def _check_commit(response: OffsetCommitResponse) -> None:
    for topic in response.topics:
        for entry in topic.partitions:
            code = error_code(entry.error_code)
            if code in _LEFT_BEHIND:
                raise CommitFailedError(f"The offsets were not committed: {code.text}")
            if code is not ErrorCode.NONE:
                where = TopicPartition(topic.name, entry.partition_index)
                raise KafkaError(code, f"The offset of {where} was not committed: {code.text}")


def _topics(response: OffsetFetchResponse) -> Iterable[Any]:
    return response.groups[0].topics if response.groups else response.topics
