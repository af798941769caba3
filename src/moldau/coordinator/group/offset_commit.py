"""Committing and deleting offsets: who may, and the records of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.classic_rebalance import ClassicRebalance
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import ConsumerMember
from moldau.coordinator.group.consumer_update import ConsumerUpdate
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.offset_store import CommittedOffset, OffsetStore, offset_record, offset_tombstone
from moldau.coordinator.group.requests import RequestInfo
from moldau.coordinator.group.share_group import ShareGroup
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_member import StreamsMember
from moldau.coordinator.shard import CoordinatorRecord, Result
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import offset_commit as messages
from moldau.protocol.messages import offset_delete as deletion
from moldau.protocol.messages import txn_offset_commit as transactional
from moldau.slicing import Work, in_order, pieces
from moldau.types import ZERO_UUID, TopicPartition, Uuid

M = TypeVar("M", bound=ConsumerMember | StreamsMember)

_MEMBER_EPOCHS_SINCE = 9


class PlainCommit(NamedTuple):
    """A commit of few partitions that all exist, in the way a client means it nearly always."""

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    api_version: int
    # Topic, its id, partition, offset, leader epoch, metadata.
    rows: list[tuple[str, Uuid, int, int, int, str]]


class OffsetCommits:
    def __init__(
        self,
        groups: Groups,
        store: OffsetStore,
        rebalance: ClassicRebalance,
        update: ConsumerUpdate,
        config: BrokerConfig,
    ) -> None:
        self._groups = groups
        self._store = store
        self._rebalance = rebalance
        self._update = update
        self._max_metadata = config.offset_metadata_max_bytes

    # ------------------------------------------------------------------------------------------------------ commit

    def commit(
        self, info: RequestInfo, request: messages.OffsetCommitRequest, now_ms: int
    ) -> Result[messages.OffsetCommitResponse]:
        generation = request.generation_id_or_member_epoch
        group_id = request.group_id
        lagging = self._check(group_id, generation, request.member_id, request.group_instance_id, info.api_version)
        expires = None if request.retention_time_ms == -1 else now_ms + request.retention_time_ms
        records: list[CoordinatorRecord] = []
        response = messages.OffsetCommitResponse()
        for topic in request.topics:
            row = messages.OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
            response.topics.append(row)
            for each in topic.partitions:
                where = TopicPartition(topic.name, each.partition_index)
                code = self._record(records, group_id, where, each, now_ms, expires, topic.topic_id)
                if lagging is not None and code == ErrorCode.NONE:
                    self._check_assigned(group_id, lagging, generation, where)
                row.partitions.append(
                    messages.OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                )
        return Result(records, response)

    def admits(self, commit: PlainCommit) -> bool:
        """Whether it may be written as it is; False where `commit` has more to say, or refuses it."""
        group_id, generation, member_id, instance_id, version, rows = commit
        for row in rows:
            if len(row[5]) > self._max_metadata:
                return False
        try:
            return self._check(group_id, generation, member_id, instance_id, version) is None
        except KafkaError:
            return False

    def replay_plainly(self, commits: list[PlainCommit], now_ms: int, first: int) -> None:
        """Applies commits whose records were written one after the other, from the offset `first` on."""
        groups, put = self._groups, self._store.put
        for commit in commits:
            group_id = commit[0]
            groups.classic_for_offsets(group_id)
            for topic, topic_id, partition, offset, leader_epoch, metadata in commit[5]:
                committed = CommittedOffset(offset, leader_epoch, metadata, now_ms, None, topic_id, first)
                put(group_id, TopicPartition(topic, partition), committed)
                first += 1

    def _check(
        self, group_id: str, generation: int, member_id: str, instance_id: str | None, version: int
    ) -> ConsumerMember | StreamsMember | None:
        """Whether this member may commit; itself if it has to be asked for each partition."""
        group = self._groups.get(group_id)
        if group is None:
            if generation >= 0:
                old = version < _MEMBER_EPOCHS_SINCE
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION if old else ErrorCode.GROUP_ID_NOT_FOUND)
            return None
        if isinstance(group, ConsumerGroup | StreamsGroup):
            return check_consumer(group, member_id, generation, version)
        if isinstance(group, ShareGroup):
            raise not_a_consumer_group(group_id)
        if generation < 0 and group.is_empty:
            # A tool, or a consumer that chooses its partitions itself.
            return None
        check_classic(group, member_id, instance_id, generation, transactional=False)
        member = group.members.get(member_id)
        if member is not None and group.is_in(ClassicState.STABLE, ClassicState.PREPARING_REBALANCE):
            # Whoever commits is alive.
            self._rebalance.extend_session(group, member)
        return None

    def commit_transactional(
        self, request: transactional.TxnOffsetCommitRequest, now_ms: int
    ) -> Result[transactional.TxnOffsetCommitResponse]:
        group = self._groups.get(request.group_id)
        if group is None and request.generation_id >= 0:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        lagging = None
        if isinstance(group, ClassicGroup):
            check_classic(
                group, request.member_id, request.group_instance_id, request.generation_id, transactional=True
            )
        elif isinstance(group, ShareGroup):
            raise not_a_consumer_group(request.group_id)
        elif group is not None:
            lagging = check_consumer_transactional(
                group, request.member_id, request.group_instance_id, request.generation_id
            )
        records: list[CoordinatorRecord] = []
        response = transactional.TxnOffsetCommitResponse()
        for topic in request.topics:
            row = transactional.TxnOffsetCommitResponseTopic(name=topic.name)
            response.topics.append(row)
            for each in topic.partitions:
                where = TopicPartition(topic.name, each.partition_index)
                code = self._record(records, request.group_id, where, each, now_ms, None, ZERO_UUID)
                if lagging is not None and code == ErrorCode.NONE:
                    with _for_producers():
                        self._check_assigned(request.group_id, lagging, request.generation_id, where)
                row.partitions.append(
                    transactional.TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=code
                    )
                )
        return Result(records, response)

    def _record(
        self,
        records: list[CoordinatorRecord],
        group_id: str,
        partition: TopicPartition,
        row: messages.OffsetCommitRequestPartition | transactional.TxnOffsetCommitRequestPartition,
        now_ms: int,
        expires: int | None,
        topic_id: Uuid,
    ) -> ErrorCode:
        metadata = row.committed_metadata or ""
        if len(metadata) > self._max_metadata:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        committed = CommittedOffset(
            row.committed_offset, row.committed_leader_epoch, metadata, now_ms, expires, topic_id
        )
        records.append(offset_record(group_id, partition, committed))
        return ErrorCode.NONE

    def _check_assigned(
        self, group_id: str, member: ConsumerMember | StreamsMember, epoch: int, where: TopicPartition
    ) -> None:
        """A commit with an earlier epoch: the member may have been told its new one and not know yet. What it
        consumed is its own if it has had the partition, or the task that reads it, since that epoch; one foreign
        partition refuses them all."""
        assigned_at = None
        if isinstance(member, StreamsMember):
            group = self._groups.streams(group_id)
            readers = {} if group is None or group.topology is None else group.topology.readers
            assigned_at = member.assignment_epochs.get((readers.get(where.topic, ""), where.partition))
        else:
            topic = self._update.image.topics.get(where.topic)
            if topic is not None:
                assigned_at = member.assignment_epochs.get((topic.id, where.partition))
        if assigned_at is None or epoch < assigned_at:
            raise member.stale(epoch)

    # ------------------------------------------------------------------------------------------------------ delete

    def delete(self, request: deletion.OffsetDeleteRequest) -> Result[deletion.OffsetDeleteResponse]:
        group = self._groups.get(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if isinstance(group, ShareGroup):
            raise not_a_consumer_group(request.group_id)
        if isinstance(group, ClassicGroup):
            if group.is_in(ClassicState.DEAD):
                raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
            if not group.is_empty and not group.uses_consumer_protocol:
                raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        records: list[CoordinatorRecord] = []
        response = deletion.OffsetDeleteResponse()
        for topic in request.topics:
            subscribed = group.is_subscribed(topic.name)
            row = deletion.OffsetDeleteResponseTopic(name=topic.name)
            response.topics.append(row)
            for each in topic.partitions:
                result = deletion.OffsetDeleteResponsePartition(partition_index=each.partition_index)
                row.partitions.append(result)
                where = TopicPartition(topic.name, each.partition_index)
                if subscribed:
                    result.error_code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                elif self._exists(request.group_id, where):
                    records.append(offset_tombstone(request.group_id, where))
        return Result(records, response)

    def tombstones(self, group_id: str) -> Work[list[CoordinatorRecord]]:
        """For every offset of the group, pending ones included."""
        partitions = set(self._store.of_group(group_id))
        for some in pieces(self._store.pending()):
            partitions.update(partition for _, group, partition, _ in some if group == group_id)
            yield
        records: list[CoordinatorRecord] = []
        for found in pieces((yield from in_order(partitions))):
            records += [offset_tombstone(group_id, partition) for partition in found]
            yield
        return records

    def forget_topics(self, topics: set[str]) -> Iterator[CoordinatorRecord | None]:
        """The topics were deleted: a topic of the same name created later must not start in the middle."""
        for found in self._store.of_topics(topics):
            yield None if found is None else offset_tombstone(*found)

    def _exists(self, group_id: str, partition: TopicPartition) -> bool:
        return self._store.get(group_id, partition) is not None or self._store.is_pending(group_id, partition)

    # ------------------------------------------------------------------------------------------------------ expiry

    def expired(
        self, group: ClassicGroup | ConsumerGroup | StreamsGroup, now_ms: int, retention_ms: int
    ) -> Generator[CoordinatorRecord | None, None, bool]:
        """Tombstones for what is no longer needed; whether the group has no offset left that must be kept."""
        group_id = group.group_id
        offsets = self._store.of_group(group_id)
        open_transactions = self._store.has_open_transactions(group_id)
        if not offsets:
            return not open_transactions
        since = _expiry_base(group)
        if since is None:
            return False
        all_gone = True
        for partition, committed in offsets.items():
            if (
                _is_expired(committed, since(committed), now_ms, retention_ms)
                and not group.is_subscribed(partition.topic)
                and not self._store.is_pending(group_id, partition)
            ):
                yield offset_tombstone(group_id, partition)
            else:
                all_gone = False
                yield None
        return all_gone and not open_transactions


def _expiry_base(
    group: ClassicGroup | ConsumerGroup | StreamsGroup,
) -> Callable[[CommittedOffset], int] | None:
    """From when on the retention counts, per offset; None if nothing of the group may expire now.

    An empty classic group keeps everything for the whole retention after its last member left, however old the
    offsets are; a group that nobody joined, and one that no longer subscribes to a topic, from each commit on.
    """

    def of_commit(committed: CommittedOffset) -> int:
        return committed.commit_timestamp

    if not isinstance(group, ClassicGroup) or group.is_simple:
        return of_commit
    if group.is_empty:
        emptied = group.state_timestamp
        return of_commit if emptied is None else (lambda _: emptied)
    if group.uses_consumer_protocol and group.subscribed_topics is not None and group.is_in(ClassicState.STABLE):
        return of_commit
    return None


def _is_expired(committed: CommittedOffset, since: int, now_ms: int, retention_ms: int) -> bool:
    if committed.expire_timestamp is not None:
        return now_ms >= committed.expire_timestamp
    return now_ms - since >= retention_ms


def not_a_consumer_group(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")


def check_classic(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, *, transactional: bool
) -> None:
    if group.is_in(ClassicState.DEAD):
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if generation < 0 and group.is_empty:
        # A tool, or a consumer that chooses its partitions itself.
        return
    if generation >= 0 or member_id or instance_id is not None:
        group.check_member(member_id, instance_id)
        if generation != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    elif not transactional and not group.is_empty:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    if not transactional and group.is_in(ClassicState.COMPLETING_REBALANCE):
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)


def check_consumer(
    group: ConsumerGroup | StreamsGroup, member_id: str, epoch: int, api_version: int
) -> ConsumerMember | StreamsMember | None:
    """The member, if it commits with an earlier epoch: then each of its partitions has to be looked at."""
    if epoch < 0 and not group.members:
        return None
    member = group.member(member_id)
    classic = member.classic if isinstance(member, ConsumerMember) else None
    if classic is None and api_version < _MEMBER_EPOCHS_SINCE:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"Members of a {group.TYPE} group commit offsets with version {_MEMBER_EPOCHS_SINCE} or later.",
        )
    return _lagging(member, epoch)


def check_consumer_transactional(
    group: ConsumerGroup | StreamsGroup, member_id: str, instance_id: str | None, epoch: int
) -> ConsumerMember | StreamsMember | None:
    if epoch < 0 and (not group.members or (not member_id and instance_id is None)):
        return None
    with _for_producers():
        return _lagging(group.member(member_id), epoch)


def _lagging(member: M, epoch: int) -> M | None:
    if epoch > member.epoch:
        raise member.stale(epoch)
    return member if epoch < member.epoch else None


@contextmanager
def _for_producers() -> Iterator[None]:
    """Producers know generations only."""
    try:
        yield
    except KafkaError as error:
        if error.code == ErrorCode.STALE_MEMBER_EPOCH:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION, error.message) from error
        raise
