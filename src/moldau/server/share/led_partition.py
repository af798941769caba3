"""A share partition as this broker leads it: its state, and everything that state needs of the world.

The state is read when somebody wants records of it first, and every change of it is written by the persister. One write
is under way at a time, so that none overtakes another; what changes meanwhile goes with the next, all of it in one
request. It is a state of one leader epoch: in another one, somebody else may have written, and it is read anew.

Where a group begins that has no offset yet is written down before the first record is given to anybody. Else the next
leader would find another beginning, behind records that nobody has acknowledged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from moldau.config.group import EARLIEST, LATEST, GroupConfig, reset_duration_ms
from moldau.coordinator.share.shard import Change as Written
from moldau.coordinator.share.state import SharePartitionKey
from moldau.coordinator.share.state_batches import Batch
from moldau.deferred import Deferred, ready
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import read_share_group_state as reads
from moldau.protocol.messages import write_share_group_state as writes
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.runtime.ports import Clock, Loop, TimerHandle, Workers
from moldau.server.share.persister import SharePersister
from moldau.server.share.share_partition import Acknowledgement, Change, Limits, SharePartition
from moldau.slicing import Slicer, Work
from moldau.storage.timestamp_search import Found, LargeBatch
from moldau.types import NO_OFFSET

logger = logging.getLogger("moldau.server")

# Somebody else writes this state now, or there is none any more.
_FENCED: Final = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    }
)
_NO_COORDINATOR: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)


class LedSharePartition:
    """`config` says how the group is set at the moment; `settled` hears that nothing is being written any more, and
    `fenced` that this state is no longer the one that counts."""

    def __init__(
        self,
        key: SharePartitionKey,
        partition: Partition,
        replicas: ReplicaManager,
        persister: SharePersister,
        config: Callable[[], GroupConfig],
        clock: Clock,
        loop: Loop,
        workers: Workers,
        slicer: Slicer,
        settled: Callable[[LedSharePartition], None],
        fenced: Callable[[LedSharePartition], None],
    ) -> None:
        self.key = key
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        # Why there is nothing to be had here, now and later.
        self.error: KafkaError | None = None
        self._state: SharePartition | None = None
        self._state_epoch = 0
        # The settings that the limits of the state are from.
        self._limited_by: GroupConfig | None = None
        self._replicas = replicas
        self._persister = persister
        self._config = config
        self._clock = clock
        self._loop = loop
        self._workers = workers
        self._slicer = slicer
        self._settled = settled
        self._fenced = fenced
        self._queue: list[tuple[Change, Deferred[None]]] = []
        self._writing = False
        self._timer: TimerHandle | None = None
        self._timer_ms = 0

    @property
    def is_current(self) -> bool:
        """Whether this broker still leads the partition in the same epoch."""
        partition = self.partition
        return partition.is_leader and partition.leader_epoch == self.leader_epoch and self.error is None

    @property
    def is_idle(self) -> bool:
        return not self._writing and not self._queue

    @property
    def now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)

    @property
    def state(self) -> SharePartition | None:
        """With the limits of the moment; None while it is being read."""
        if self._state is not None:
            config = self._config()
            if config is not self._limited_by:
                self._limited_by = config
                self._state.limits = Limits(
                    config.share_record_lock_duration_ms,
                    config.share_delivery_count_limit,
                    config.share_partition_max_record_locks,
                    config.share_renew_acknowledge_enable,
                )
        return self._state

    # ----------------------------------------------------------------------------------------------------- reading

    def load(self) -> None:
        row = reads.PartitionData(partition=self.key.partition, leader_epoch=self.leader_epoch)
        topic = reads.ReadStateData(topic_id=self.key.topic_id, partitions=[row])
        asked = self._persister.read(reads.ReadShareGroupStateRequest(group_id=self.key.group_id, topics=[topic]))
        asked.then(self._loaded)

    def _loaded(self, response: Any, error: BaseException | None) -> None:
        row, refused = _row_of(response, error)
        if refused is not None:
            self._failed(refused)
            return
        self._state_epoch = row.state_epoch
        if row.start_offset != NO_OFFSET:
            batches = [
                Batch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
                for batch in row.state_batches
            ]
            self._begin(SharePartition(row.start_offset, batches))
            return

        def found(start: int | None, error: BaseException | None) -> None:
            if start is None or error is not None:
                code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
                self._failed(KafkaError(code))
                return
            state = SharePartition(start)
            self._send([], state).then(
                lambda _, error: self._begin(state) if error is None else self._failed(_refusal(error))
            )

        self._first_offset().then(found)

    def _begin(self, state: SharePartition) -> None:
        self._state = state
        self.wake()
        self._settled(self)

    def _failed(self, error: KafkaError) -> None:
        logger.info("the state of the share partition %s cannot be had: %s", self.key, error)
        self.error = error
        self._fenced(self)

    def _first_offset(self) -> Deferred[int]:
        """Where a group begins that has never read this partition."""
        reset, log = self._config().share_auto_offset_reset, self.partition.log
        if reset == EARLIEST:
            return ready(log.log_start_offset)
        answer: Deferred[int] = Deferred()
        if log.high_watermark < self.partition.epoch_start_offset:
            # A new leader does not know the end of what is committed before its followers have told.
            answer.fail(KafkaError(ErrorCode.LEADER_NOT_AVAILABLE))
        elif reset == LATEST:
            answer.resolve(log.high_watermark)
        else:
            since = self._clock.now_ms() - (reset_duration_ms(reset) or 0)
            self._slicer.run_into(self._search(since, 0), answer)
        return answer

    def _search(self, since: int, first: int) -> Work[int | Deferred[int]]:
        return self._offset_of((yield from self.partition.log.offset_for_timestamp(since, first)), since)

    def _offset_of(self, found: Found, since: int) -> int | Deferred[int]:
        end = self.partition.log.high_watermark
        if not isinstance(found, LargeBatch):
            return end if found is None else min(found.offset, end)
        answer: Deferred[int] = Deferred()

        def opened(record: Any, error: BaseException | None) -> None:
            if error is not None:
                answer.fail(self.partition.log.directory.unopened(error))
            elif record is not None:
                answer.resolve(min(record.offset, end))
            else:
                self._slicer.run_into(self._search(since, found.next_offset), answer)

        self._workers.submit(found.find, opened)
        return answer

    # ----------------------------------------------------------------------------------------------------- changes

    def acknowledge(self, member: str, said: Sequence[Acknowledgement]) -> Deferred[None]:
        """Settles when it is written down, or cannot be."""
        state, answer = self.state, Deferred[None]()
        if state is None:
            answer.fail(KafkaError(ErrorCode.INVALID_RECORD_STATE, "Nobody has acquired anything here."))
            return answer
        try:
            change = state.acknowledge(member, said, self.now_ms)
        except KafkaError as error:
            answer.fail(error)
            return answer
        self.watch_locks()
        if change is None:
            return ready(None)
        return self._write(change)

    def release(self, member: str) -> None:
        """Whatever the member has goes to others."""
        change = None if self._state is None else self._state.release(member)
        if change is not None:
            self._write(change)

    def watch_locks(self) -> None:
        """Looks again when the first lock runs out."""
        deadline = None if self._state is None else self._state.next_deadline
        if deadline is None or self.error is not None:
            return
        if self._timer is not None:
            if self._timer_ms <= deadline:
                return
            self._timer.cancel()
        self._timer_ms = deadline
        self._timer = self._loop.call_later(max(0, deadline - self.now_ms) / 1000, self._expire)

    def _expire(self) -> None:
        self._timer = None
        state = self.state
        if state is None:
            return
        change = state.expire(self.now_ms)
        self.watch_locks()
        if change is not None:
            self._write(change)
            self.wake()

    def _write(self, change: Change) -> Deferred[None]:
        answer: Deferred[None] = Deferred()
        self._queue.append((change, answer))
        self._write_next()
        return answer

    def _write_next(self) -> None:
        state = self._state
        if self._writing or not self._queue or state is None:
            return
        queue, self._queue = self._queue, []
        self._writing = True

        def written(_: None, error: BaseException | None) -> None:
            self._writing = False
            refused = None if error is None else _refusal(error)
            for change, _answer in queue:
                state.complete(change, written=refused is None)
            self.watch_locks()
            for _change, answer in queue:
                if refused is None:
                    answer.resolve(None)
                else:
                    answer.fail(refused)
            self.wake()
            if self._queue:
                self._write_next()
            else:
                self._settled(self)

        batches = [batch for change, _ in queue for batch in change.batches]
        here = self._persister.write_here(self.key, self._changed(batches, state))
        if here is True:
            written(None, None)
        elif here is None:
            self._send(batches, state).then(written)
        else:
            # Written or not: asked again it does no harm, and is as long as it may help.
            here.then(lambda _, error: self._send(batches, state).then(written) if error else written(None, None))

    def _changed(self, batches: Sequence[Batch], state: SharePartition) -> Written:
        return Written(self._state_epoch, self.leader_epoch, state.start, state.delivery_complete_count, batches)

    def _send(self, batches: Sequence[Batch], state: SharePartition) -> Deferred[None]:
        row = writes.PartitionData(
            partition=self.key.partition,
            state_epoch=self._state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=state.start,
            delivery_complete_count=state.delivery_complete_count,
            state_batches=[
                writes.StateBatch(
                    first_offset=first, last_offset=last, delivery_state=delivery_state, delivery_count=count
                )
                for first, last, delivery_state, count in batches
            ],
        )
        topic = writes.WriteStateData(topic_id=self.key.topic_id, partitions=[row])
        asked = self._persister.write(writes.WriteShareGroupStateRequest(group_id=self.key.group_id, topics=[topic]))
        answer: Deferred[None] = Deferred()

        def answered(response: Any, error: BaseException | None) -> None:
            _, refused = _row_of(response, error)
            if refused is None:
                answer.resolve(None)
                return
            if refused.code in _FENCED and self.error is None:
                self.error = _told(refused)
                self._fenced(self)
            answer.fail(_told(refused))

        asked.then(answered)
        return answer

    # --------------------------------------------------------------------------------------------------- its end

    def drop(self, error: KafkaError) -> None:
        """This state counts no more; whoever waits for records of it is told why."""
        if self.error is None:
            self.error = error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.wake()

    def wake(self) -> None:
        """Looks at the fetches that wait for records of this partition."""
        if self.partition in self._replicas.fetches.watched:
            self._replicas.fetches.check_soon(self.partition)


def _row_of(response: Any, error: BaseException | None) -> tuple[Any, KafkaError | None]:
    if response is None:
        return None, _refusal(error)
    row = response.results[0].partitions[0]
    code = error_code(row.error_code)
    return row, None if code is ErrorCode.NONE else KafkaError(code, row.error_message or None)


def _refusal(error: BaseException | None) -> KafkaError:
    return error if isinstance(error, KafkaError) else KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _told(error: KafkaError) -> KafkaError:
    """What a member hears of a state that could not be written."""
    if error.code in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH):
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, error.message)
    if error.code in _NO_COORDINATOR:
        return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message)
    if error.code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        return error
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, error.message)
