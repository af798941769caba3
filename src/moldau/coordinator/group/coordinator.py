"""The face of the group coordinator: requests in, Deferred responses out.

Wiring, for the node:

    groups = GroupCoordinator(config, log, loop, clock, random, workers, slicer)
                                         log: a PartitionLog over the replica manager
    groups.on_image(delta, image)        a Publisher of the metadata; to be added after the replica manager, because a
                                         partition of `__consumer_offsets` that this broker leads now is read at once
    groups.load(partition, epoch)        this broker leads the partition of `__consumer_offsets` in that epoch
    groups.unload(partition, epoch)      it no longer does; epoch None if the partition is gone
    groups.close()

`on_image` does not call `load` and `unload` itself: what this broker leads is for the replica manager to say.
Every method below returns at once. Failures of a whole request arrive inside its response, where the response has a
place for them, so a handler only passes the response on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group import listing
from moldau.coordinator.group.classic_join import Joining
from moldau.coordinator.group.classic_member import MemberProtocol
from moldau.coordinator.group.plain_commits import PlainCommits
from moldau.coordinator.group.record_types import OFFSETS_TOPIC, RECORD_TYPES
from moldau.coordinator.group.requests import (
    RequestInfo,
    Visible,
    append_error,
    commit_refused,
    consumer_heartbeat_refused,
    fetch_refused,
    heartbeat_refused,
    join_refused,
    leave_refused,
    offset_delete_refused,
    sync_refused,
    transactional_commit_refused,
)
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.group.share_groups import ShareGroups
from moldau.coordinator.group.streams_groups import StreamsGroups
from moldau.coordinator.group.topic_pattern import PatternResolver
from moldau.coordinator.marker import Marker
from moldau.coordinator.partition_log import PartitionLog
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.shard import Result
from moldau.coordinator.write_path import Operation
from moldau.deferred import Deferred, chained, gather, mapped, ready, recovered
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import consumer_group_describe as describe_consumer
from moldau.protocol.messages import consumer_group_heartbeat as consumer_heartbeat
from moldau.protocol.messages import delete_groups as deletion
from moldau.protocol.messages import describe_groups as describe_classic
from moldau.protocol.messages import heartbeat as heartbeats
from moldau.protocol.messages import join_group as joins
from moldau.protocol.messages import leave_group as leaves
from moldau.protocol.messages import list_groups as lists
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages import offset_delete as offset_deletion
from moldau.protocol.messages import offset_fetch as fetches
from moldau.protocol.messages import sync_group as syncs
from moldau.protocol.messages import txn_offset_commit as transactional
from moldau.runtime.ports import Clock, Loop, Random, Workers
from moldau.slicing import Slicer, Work, pieces

T = TypeVar("T")

_SEVERAL_MEMBERS_SINCE = 3
_CONSUMER_PROTOCOL = "consumer"
_GROUP_VERSION = "group.version"


class GroupCoordinator:
    def __init__(
        self,
        config: BrokerConfig,
        log: PartitionLog,
        loop: Loop,
        clock: Clock,
        random: Random,
        workers: Workers,
        slicer: Slicer | None = None,
        current: Callable[[], BrokerConfig] | None = None,
    ) -> None:
        """`current` says what the settings are by now, of which some may change while the node runs."""
        self._config = config
        self._clock = clock
        self._random = random
        self.patterns = patterns = PatternResolver(workers, loop)
        self._slicer = Slicer(loop, clock) if slicer is None else slicer
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            OFFSETS_TOPIC,
            RECORD_TYPES,
            lambda context: GroupShard(context, config, patterns, current),
            log,
            loop,
            clock,
            load_slice=config.offsets_load_buffer_size,
            commit_timeout_ms=config.offsets_commit_timeout_ms,
            compression=config.offsets_topic_compression_codec,
            slicer=self._slicer,
        )
        self.plain_commits = PlainCommits(self.runtime, clock)
        # Share groups need the share coordinator; the node brings the two together.
        self.shares = ShareGroups(self._write, self._look, self.runtime, clock)
        self.streams = StreamsGroups(self._write, self._look, self.runtime, clock, config)

    # ------------------------------------------------------------------------------------------------- from the node

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        if delta.topics.deleted or any(topic.base is None for topic in delta.topics.changed.values()):
            self.patterns.on_topics(image)
        self.runtime.on_image(delta, image)
        gone = {topic.name for topic in delta.topics.deleted.values()}
        if gone:
            ids = set(delta.topics.deleted)
            self.runtime.write_all("forget topics", lambda shard: shard.forget_topics(gone, ids))

    def load(self, partition: int, leader_epoch: int) -> None:
        self.runtime.load(partition, leader_epoch)

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        self.runtime.unload(partition, leader_epoch)

    def close(self) -> None:
        self.patterns.close()
        self.runtime.close()

    def info(
        self, client_id: str | None, client_host: str, api_version: int, visible: Visible | None = None
    ) -> RequestInfo:
        """What goes with a request; `client_host` as Kafka writes it, with a slash before the address."""
        return RequestInfo(client_id or "", client_host, api_version, self._random, visible)

    # ------------------------------------------------------------------------------------------------ classic groups

    def join_group(self, info: RequestInfo, request: joins.JoinGroupRequest) -> Deferred[joins.JoinGroupResponse]:
        if not request.group_id:
            return ready(join_refused(request, ErrorCode.INVALID_GROUP_ID))
        low, high = self._config.group_min_session_timeout_ms, self._config.group_max_session_timeout_ms
        if not low <= request.session_timeout_ms <= high:
            return ready(join_refused(request, ErrorCode.INVALID_SESSION_TIMEOUT))
        if request.rebalance_timeout_ms == -1:
            # Version 0 has one timeout for both.
            request.rebalance_timeout_ms = request.session_timeout_ms
        protocols = tuple(MemberProtocol(row.name, row.metadata) for row in request.protocols)
        answer: Deferred[joins.JoinGroupResponse] = Deferred()
        joining = Joining(info, request, protocols, answer, self._clock.now_ms())
        written = self._write("join", request.group_id, lambda shard: shard.join(joining))
        _on_failure(written, answer, lambda error: join_refused(request, append_error(error)))
        return answer

    def sync_group(self, info: RequestInfo, request: syncs.SyncGroupRequest) -> Deferred[syncs.SyncGroupResponse]:
        answer: Deferred[syncs.SyncGroupResponse] = Deferred()
        if not request.group_id:
            answer.resolve(syncs.SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
            return answer
        now = self._clock.now_ms()
        written = self._write("sync", request.group_id, lambda shard: shard.sync(request, answer, now))
        _on_failure(written, answer, sync_refused)
        return answer

    def heartbeat(
        self, info: RequestInfo, request: heartbeats.HeartbeatRequest
    ) -> Deferred[heartbeats.HeartbeatResponse]:
        if not request.group_id:
            return ready(heartbeats.HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        return recovered(
            self._write("heartbeat", request.group_id, lambda shard: shard.heartbeat(request)), heartbeat_refused
        )

    def leave_group(self, info: RequestInfo, request: leaves.LeaveGroupRequest) -> Deferred[leaves.LeaveGroupResponse]:
        if not request.group_id:
            return ready(leaves.LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        single = info.api_version < _SEVERAL_MEMBERS_SINCE
        if single:
            request.members = [leaves.MemberIdentity(member_id=request.member_id)]
        now = self._clock.now_ms()

        def shaped(response: leaves.LeaveGroupResponse) -> leaves.LeaveGroupResponse:
            if single and response.members:
                return leaves.LeaveGroupResponse(error_code=response.members[0].error_code)
            return response

        written = self._write("leave", request.group_id, lambda shard: shard.leave(request, now))
        return recovered(mapped(written, shaped), lambda error: leave_refused(request, error, single=single))

    # ----------------------------------------------------------------------------------------------- consumer groups

    def consumer_group_heartbeat(
        self, info: RequestInfo, request: consumer_heartbeat.ConsumerGroupHeartbeatRequest
    ) -> Deferred[consumer_heartbeat.ConsumerGroupHeartbeatResponse]:
        if not self.consumer_protocol_enabled:
            off = KafkaError(ErrorCode.UNSUPPORTED_VERSION, "The consumer protocol is switched off.")
            return ready(consumer_heartbeat_refused(off))

        def heartbeat() -> Deferred[consumer_heartbeat.ConsumerGroupHeartbeatResponse]:
            now = self._clock.now_ms()
            return self._write(
                "consumer heartbeat", request.group_id, lambda shard: shard.consumers.heartbeat(info, request, now)
            )

        if not request.subscribed_topic_regex:
            return recovered(heartbeat(), consumer_heartbeat_refused)
        prepared = self.patterns.prepare(request.subscribed_topic_regex)
        return recovered(chained(prepared, heartbeat), consumer_heartbeat_refused)

    @property
    def consumer_protocol_enabled(self) -> bool:
        """Switched on for the cluster by the feature group.version, and on this broker by its settings."""
        features = self.runtime.image.features
        allowed = _CONSUMER_PROTOCOL in self._config.group_coordinator_rebalance_protocols
        return allowed and features.get(_GROUP_VERSION, 0) >= 1

    # ------------------------------------------------------------------------------------------------------- offsets

    def commit_offsets(
        self, info: RequestInfo, request: commits.OffsetCommitRequest
    ) -> Deferred[commits.OffsetCommitResponse]:
        now = self._clock.now_ms()
        written = self._write("commit", request.group_id, lambda shard: shard.commits.commit(info, request, now))
        return recovered(written, lambda error: commit_refused(request, error))

    def commit_transactional_offsets(
        self, info: RequestInfo, request: transactional.TxnOffsetCommitRequest
    ) -> Deferred[transactional.TxnOffsetCommitResponse]:
        """The producer must have been checked already; the offsets count once its transaction is committed."""
        now = self._clock.now_ms()
        if not request.group_id:
            return ready(transactional_commit_refused(request, KafkaError(ErrorCode.INVALID_GROUP_ID)))
        try:
            partition = self.runtime.partition_of(request.group_id)
        except KafkaError as error:
            return ready(transactional_commit_refused(request, error))
        written = self.runtime.write(
            "transactional commit",
            partition,
            lambda shard: shard.commits.commit_transactional(request, now),
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            transactional=True,
        )
        return recovered(written, lambda error: transactional_commit_refused(request, error))

    def complete_transaction(self, partition: int, marker: Marker) -> Deferred[None]:
        """The transaction marker on a partition of `__consumer_offsets`."""
        return self.runtime.write_marker(partition, marker)

    def fetch_offsets(
        self, request: fetches.OffsetFetchRequestGroup, *, require_stable: bool
    ) -> Deferred[fetches.OffsetFetchResponseGroup]:
        def newest(shard: GroupShard) -> Work[Result[fetches.OffsetFetchResponseGroup]]:
            return Result((), (yield from shard.fetches.fetch(request, None, require_stable=True)))

        if require_stable:
            answer = self._write("fetch offsets", request.group_id, newest)
        else:
            answer = Deferred()
            self._slicer.run_into(self._fetch_committed(request), answer)
        return recovered(answer, lambda error: fetch_refused(request, error))

    def _fetch_committed(self, request: fetches.OffsetFetchRequestGroup) -> Work[fetches.OffsetFetchResponseGroup]:
        return (
            yield from self._look(
                "fetch offsets",
                request.group_id,
                lambda shard, committed: shard.fetches.fetch(request, committed, require_stable=False),
            )
        )

    def delete_offsets(
        self, request: offset_deletion.OffsetDeleteRequest
    ) -> Deferred[offset_deletion.OffsetDeleteResponse]:
        if not request.group_id:
            return ready(offset_deletion.OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        written = self._write("delete offsets", request.group_id, lambda shard: shard.commits.delete(request))
        return recovered(written, offset_delete_refused)

    # ---------------------------------------------------------------------------------------------------- for tools

    def list_groups(self, request: lists.ListGroupsRequest) -> Work[lists.ListGroupsResponse]:
        if self.runtime.loading:
            return lists.ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        states = {state.lower() for state in request.states_filter}
        types = {kind.lower() for kind in request.types_filter}
        response = lists.ListGroupsResponse()
        for _, shard, committed in self.runtime.shards():
            for some in pieces(listing.list_groups(shard.groups, committed, states, types)):
                response.groups += [listed for listed in some if listed is not None]
                yield
        return response

    def describe_group(self, group_id: str, version: int) -> Work[describe_classic.DescribedGroup]:
        try:
            return (
                yield from self._look(
                    "describe",
                    group_id,
                    lambda shard, committed: listing.describe_classic(shard.groups, group_id, committed, version),
                )
            )
        except KafkaError as error:
            return describe_classic.DescribedGroup(group_id=group_id, error_code=error.code)

    def describe_consumer_group(self, group_id: str) -> Work[describe_consumer.DescribedGroup]:
        image = self.runtime.image
        try:
            if not group_id:
                # Of classic groups that is an id like any other, whose group nobody can join.
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            return (
                yield from self._look(
                    "describe",
                    group_id,
                    lambda shard, committed: listing.describe_consumer(
                        shard.groups, group_id, committed, image, shard.update.default_assignor
                    ),
                )
            )
        except KafkaError as error:
            return describe_consumer.DescribedGroup(
                group_id=group_id, error_code=error.code, error_message=error.message
            )

    def delete_groups(self, group_ids: Sequence[str]) -> Deferred[list[deletion.DeletableGroupResult]]:
        def delete(group_id: str) -> Deferred[deletion.DeletableGroupResult]:
            first = self.shares.before_deletion(group_id)
            codes = recovered(
                chained(first, lambda: self._write("delete", group_id, lambda shard: shard.delete_group(group_id))),
                append_error,
            )
            return mapped(codes, lambda code: deletion.DeletableGroupResult(group_id=group_id, error_code=code))

        return gather([delete(group_id) for group_id in dict.fromkeys(group_ids)])

    # ---------------------------------------------------------------------------------------------------- to a shard

    def _write(self, name: str, group_id: str, operation: Operation[GroupShard, T]) -> Deferred[T]:
        try:
            partition = self.runtime.partition_of(group_id)
        except KafkaError as error:
            refused: Deferred[T] = Deferred()
            refused.fail(error)
            return refused
        return self.runtime.write(name, partition, operation)

    def _look(self, name: str, group_id: str, operation: Callable[[GroupShard, int], Work[T]]) -> Work[T]:
        return self.runtime.look(name, self.runtime.partition_of(group_id), operation)


def _on_failure(written: Deferred[None], answer: Deferred[T], build: Callable[[KafkaError], T]) -> None:
    """An operation that answers when others have come: if it could not even be written, it answers now."""

    def settled(_: None, error: BaseException | None) -> None:
        if error is not None and not answer.settled:
            if isinstance(error, KafkaError):
                answer.resolve(build(error))
            else:
                answer.fail(error)

    written.then(settled)
