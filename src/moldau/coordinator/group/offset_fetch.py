"""Reading committed offsets.

By default a reader sees what is committed in the log. With `require_stable` it sees the newest state, its answer waits
until that is committed, and a partition with offsets of an open transaction says so instead of giving an old offset.
"""

from __future__ import annotations

from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.offset_store import CommittedOffset, OffsetStore
from moldau.coordinator.group.share_group import ShareGroup
from moldau.errors import ErrorCode
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from moldau.slicing import Work, pieces
from moldau.types import ZERO_UUID, TopicPartition, Uuid


class OffsetFetches:
    def __init__(self, groups: Groups, store: OffsetStore) -> None:
        self._groups = groups
        self._store = store

    def fetch(
        self, request: OffsetFetchRequestGroup, committed: int | None, *, require_stable: bool
    ) -> Work[OffsetFetchResponseGroup]:
        """`committed` is the offset to read as of; None for the newest state."""
        response = OffsetFetchResponseGroup(group_id=request.group_id)
        group = (
            self._groups.get(request.group_id)
            if committed is None
            else self._groups.get_at(request.group_id, committed)
        )
        known = group is not None and not (isinstance(group, ClassicGroup) and group.is_in(ClassicState.DEAD))
        if isinstance(group, ShareGroup):
            # It has offsets of another kind, with the share coordinator.
            known = False
        elif group is not None and not isinstance(group, ClassicGroup):
            group.check_fetch(request.member_id, request.member_epoch, committed)
        if request.topics is None:
            if known:
                yield from self._fetch_all(request.group_id, response, committed, require_stable)
            return response
        for topic in request.topics:
            row = OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id)
            response.topics.append(row)
            for index in topic.partition_indexes:
                where = TopicPartition(topic.name, index)
                found = self._store.get(request.group_id, where, committed) if known else None
                if found is not None and _other_topic(found.topic_id, topic.topic_id):
                    found = None
                row.partitions.append(self._partition(request.group_id, where, found, require_stable))
            yield
        return response

    def _fetch_all(
        self, group_id: str, response: OffsetFetchResponseGroup, committed: int | None, require_stable: bool
    ) -> Work[None]:
        rows: dict[str, OffsetFetchResponseTopics] = {}
        for some in pieces(self._store.of_group(group_id, committed).items()):
            for where, found in some:
                row = rows.get(where.topic)
                if row is None:
                    row = rows[where.topic] = OffsetFetchResponseTopics(name=where.topic, topic_id=found.topic_id)
                    response.topics.append(row)
                row.partitions.append(self._partition(group_id, where, found, require_stable))
            yield

    def _partition(
        self, group_id: str, where: TopicPartition, found: CommittedOffset | None, require_stable: bool
    ) -> OffsetFetchResponsePartitions:
        row = OffsetFetchResponsePartitions(partition_index=where.partition, committed_offset=-1, metadata="")
        if require_stable and self._store.is_pending(group_id, where):
            row.error_code = ErrorCode.UNSTABLE_OFFSET_COMMIT
        elif found is not None:
            row.committed_offset = found.offset
            row.committed_leader_epoch = found.leader_epoch
            row.metadata = found.metadata
        return row


def _other_topic(stored: Uuid, asked: Uuid) -> bool:
    """Whether the offset belongs to an earlier topic of the same name."""
    return ZERO_UUID not in (stored, asked) and stored != asked
