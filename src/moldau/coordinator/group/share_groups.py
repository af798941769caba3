"""The requests of share groups: the part of the group coordinator that needs the share coordinator as well.

    groups.shares.connect(persister, end_offsets)      by the node, before the first request

Until then, and while the feature share.version is off, there are no share groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from moldau.coordinator.group import listing
from moldau.coordinator.group.requests import RequestInfo, append_error
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.group.share_group import NO_STATE, ShareGroup, TopicStates
from moldau.coordinator.group.share_heartbeat import check
from moldau.coordinator.group.share_offsets import EndOffsets, ShareOffsets, SharePersister, Write, then
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.deferred import Deferred, mapped, ready, recovered
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import alter_share_group_offsets as alteration
from moldau.protocol.messages import delete_share_group_offsets as deletion
from moldau.protocol.messages import describe_share_group_offsets as description
from moldau.protocol.messages import share_group_describe as describes
from moldau.protocol.messages import share_group_heartbeat as heartbeats
from moldau.runtime.ports import Clock
from moldau.slicing import Work

T = TypeVar("T")

_SHARE_VERSION = "share.version"


class Look(Protocol):
    """Reads the shard of a group as of what is committed."""

    def __call__(self, name: str, group_id: str, operation: Callable[[GroupShard, int], Work[T]]) -> Work[T]: ...


class ShareGroups:
    def __init__(self, write: Write, look: Look, runtime: CoordinatorRuntime[GroupShard], clock: Clock) -> None:
        self._write = write
        self._look = look
        self._runtime = runtime
        self._clock = clock
        self._offsets: ShareOffsets | None = None

    def connect(self, persister: SharePersister, end_offsets: EndOffsets) -> None:
        self._offsets = ShareOffsets(persister, end_offsets, self._write, lambda: self._runtime.image)

    @property
    def enabled(self) -> bool:
        return self._offsets is not None and self._runtime.image.features.get(_SHARE_VERSION, 0) >= 1

    def _connected(self) -> ShareOffsets:
        if self._offsets is None or not self.enabled:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Share groups are switched off.")
        return self._offsets

    # ----------------------------------------------------------------------------------------------------- members

    def heartbeat(
        self, info: RequestInfo, request: heartbeats.ShareGroupHeartbeatRequest
    ) -> Deferred[heartbeats.ShareGroupHeartbeatResponse]:
        offsets, group_id, now = self._connected(), request.group_id, self._clock.now_ms()
        check(request)
        heard = self._write("share heartbeat", group_id, lambda shard: shard.shares.heartbeat(info, request, now))
        return recovered(mapped(heard, lambda each: offsets.heard(group_id, each)), _refused)

    def describe(self, group_id: str) -> Work[describes.DescribedGroup]:
        image = self._runtime.image
        try:
            self._connected()
            if not group_id:
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            return (
                yield from self._look(
                    "describe",
                    group_id,
                    lambda shard, committed: listing.describe_share(shard.groups, group_id, committed, image),
                )
            )
        except KafkaError as error:
            return describes.DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)

    # ------------------------------------------------------------------------------------------------------- offsets

    def describe_offsets(
        self, group: description.DescribeShareGroupOffsetsRequestGroup
    ) -> Work[Deferred[description.DescribeShareGroupOffsetsResponseGroup]]:
        try:
            offsets = self._connected()
            initialized: TopicStates | None = None
            if group.topics is None:
                initialized = yield from self._look("describe share offsets", group.group_id, _initialized(group))
            return recovered(offsets.describe(group, initialized), lambda error: offsets_undescribed(group, error))
        except KafkaError as error:
            return ready(offsets_undescribed(group, error))

    def alter_offsets(
        self, request: alteration.AlterShareGroupOffsetsRequest
    ) -> Deferred[alteration.AlterShareGroupOffsetsResponse]:
        offsets = self._connected()
        if not request.group_id:
            return ready(alteration.AlterShareGroupOffsetsResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        return recovered(
            offsets.alter(request, self._clock.now_ms()),
            lambda error: alteration.AlterShareGroupOffsetsResponse(
                error_code=append_error(error), error_message=error.message
            ),
        )

    def delete_offsets(
        self, request: deletion.DeleteShareGroupOffsetsRequest
    ) -> Deferred[deletion.DeleteShareGroupOffsetsResponse]:
        offsets = self._connected()
        if not request.group_id:
            return ready(deletion.DeleteShareGroupOffsetsResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        return recovered(
            offsets.delete(request),
            lambda error: deletion.DeleteShareGroupOffsetsResponse(
                error_code=append_error(error), error_message=error.message
            ),
        )

    def before_deletion(self, group_id: str) -> Deferred[None]:
        """Has the state of a share group deleted, so that the group can be; of another kind there is none."""
        offsets = self._offsets
        done: Deferred[None] = ready(None)
        if offsets is None:
            return done
        try:
            partition = self._runtime.partition_of(group_id)
            group = self._runtime.read("delete", partition, lambda shard, _: shard.groups.get(group_id))
        except KafkaError:
            # Whoever deletes the group hears of it there.
            return done
        if not isinstance(group, ShareGroup) or not group.is_empty or group.state_partitions == NO_STATE:
            return done

        def deleted(error: KafkaError | None) -> Deferred[None]:
            answer: Deferred[None] = Deferred()
            if error is None:
                answer.resolve(None)
            else:
                answer.fail(error)
            return answer

        return then(offsets.delete_group(group_id), deleted)


def _initialized(
    group: description.DescribeShareGroupOffsetsRequestGroup,
) -> Callable[[GroupShard, int], Work[TopicStates]]:
    def operation(shard: GroupShard, committed: int) -> Work[TopicStates]:
        yield
        known = shard.groups.get_at(group.group_id, committed)
        if not isinstance(known, ShareGroup):
            return {}
        return known.state_partitions_at(committed).initialized

    return operation


def offsets_undescribed(
    group: description.DescribeShareGroupOffsetsRequestGroup, error: KafkaError
) -> description.DescribeShareGroupOffsetsResponseGroup:
    return description.DescribeShareGroupOffsetsResponseGroup(
        group_id=group.group_id, error_code=error.code, error_message=error.message
    )


def _refused(error: KafkaError) -> heartbeats.ShareGroupHeartbeatResponse:
    return heartbeats.ShareGroupHeartbeatResponse(error_code=append_error(error), error_message=error.message)
