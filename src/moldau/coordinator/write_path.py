"""How a decision of a shard becomes part of its partition.

    decide (records, response) -> replay -> append one batch -> [high watermark] -> response

Operations on a shard run one at a time, in the order they were asked for. One may take long (a group over ten thousand
topics): then deciding, encoding and replaying go on in slices, and those behind it wait while the loop serves everybody
else. If the append fails, the timeline takes the change back and the caller gets the error; memory is as the log is.

A writer belongs to one leader epoch of its partition. It appends in that epoch and in no other, and once the partition
is led in another one, or elsewhere, nobody is answered from its shard: not those who wait, nor those who come.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from moldau.coordinator.log_errors import coordinator_error, unexpected_error
from moldau.coordinator.partition_log import PartitionLog
from moldau.coordinator.record_framing import EncodedBatch, batches
from moldau.coordinator.shard import CoordinatorRecord, Outcome, Result, Shard, ShardContext, TimeoutOperation, decided
from moldau.coordinator.timers import ShardTimers
from moldau.deferred import Deferred, ready
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.records import BatchFields, EndTransaction, encode_batch, end_transaction_record
from moldau.runtime.ports import Clock, Loop, TimerHandle
from moldau.slicing import Slicer, Work
from moldau.timeline import DeferredEventQueue, SnapshotRegistry
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

logger = logging.getLogger("moldau.coordinator")

S = TypeVar("S", bound=Shard)
T = TypeVar("T")

# The pause after a timeout could not be written, before it is tried again.
RETRY_MS: Final = 500
# Records that are replayed between two pauses.
_PIECE: Final = 32

Operation: TypeAlias = Callable[[S], Outcome[T]]


class _Step(NamedTuple):
    """One operation that waits for its turn or has it."""

    begin: Callable[[], Work[None]]
    answer: Deferred[Any]


class ShardWriter(Generic[S]):
    """One loaded (or loading) shard with its timers, its snapshots and the answers that wait."""

    def __init__(
        self,
        partition: TopicPartition,
        epoch: int,
        make: Callable[[ShardContext], S],
        log: PartitionLog,
        loop: Loop,
        clock: Clock,
        *,
        commit_timeout_ms: int,
        compression: int,
        slicer: Slicer | None = None,
    ) -> None:
        self.partition = partition
        self.epoch = epoch
        self.role = log.role(partition, epoch)
        self.registry = SnapshotRegistry()
        self.timers = ShardTimers(loop, clock, self._timeout)
        self.shard = make(ShardContext(partition, epoch, self.registry, self.timers))
        # The offset after the last record that was replayed, and the high watermark.
        self.last_written = self.committed = 0
        # The end of the log as it was found. The leader before may have answered for all of it, while our high
        # watermark is still behind: until it is there, what is committed cannot be told from what is not.
        self.found_end = 0
        self._log = log
        self._loop = loop
        self._clock = clock
        self._commit_timeout_ms = commit_timeout_ms
        self._compression = compression
        self._slicer = Slicer(loop, clock) if slicer is None else slicer
        self._waiting = DeferredEventQueue()
        self._steps: deque[_Step] = deque()
        # Somebody works through the steps; and within that, a batch is being handed to the log.
        self._running = self._appending = False
        self.closed = False

    @property
    def leads(self) -> bool:
        """Whether this broker is still what the shard was loaded for; the replica hears of it before the runtime."""
        return self.role.is_leader and self.role.leader_epoch == self.epoch

    # ------------------------------------------------------------------------------------------------- operations

    def write(
        self, operation: Operation[S, T], *, producer_id: int, producer_epoch: int, transactional: bool
    ) -> Deferred[T]:
        answer: Deferred[T] = Deferred()
        begun: Outcome[T] | None = None
        if not self._running and not self.closed:
            begun = self._begin(operation, answer)
            if begun is None:
                self._go_on()
                return answer
        # No sequence: a coordinator writes on behalf of the producer, it is not the producer.
        fields = BatchFields(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=transactional,
            compression=self._compression,
        )

        def run() -> Work[None]:
            before = self.last_written
            self.registry.create(before)
            try:
                result = yield from decided(operation(self.shard) if begun is None else begun)
            except KafkaError as error:
                self.registry.revert_to(before)
                answer.fail(error)
                return
            try:
                yield from self._append(result, fields)
            except Exception as error:
                failed = coordinator_error(error) if isinstance(error, KafkaError) else unexpected_error(error)
                self._tell(result, failed)
                if not isinstance(error, KafkaError | ProtocolError):
                    raise
                answer.fail(failed)
                return
            # Without records the answer still rests on what was decided before and may not be committed yet: by this
            # leader, or by the one before it, whose last records were read from the log and nobody here waits for.
            self._park(self.last_written, result, answer)

        # What one that has begun led to while it was decided comes after it.
        place = self._steps.append if begun is None else self._steps.appendleft
        place(_Step(run, answer))
        self._go_on()
        return answer

    def _begin(self, operation: Operation[S, T], answer: Deferred[T]) -> Outcome[T] | None:
        """Decides; None if that was all, because it was refused or writes nothing, as nearly every heartbeat."""
        before = self.last_written
        self._running = True
        try:
            self.registry.create(before)
            try:
                outcome = operation(self.shard)
            except Exception as error:
                if isinstance(error, KafkaError):
                    self.registry.revert_to(before)
                answer.fail(error)
                return None
            if not isinstance(outcome, Result) or outcome.records or outcome.stream is not None:
                return outcome
            self._park(before, outcome, answer)
            return None
        finally:
            self._running = False

    @property
    def idle(self) -> bool:
        """Whether an operation asked for now has its turn at once; and nothing has to be done to its batch."""
        return not (self._running or self.closed or self._compression) and self.leads

    def write_encoded(
        self, batch: bytes, records: int, now_ms: int, replay: Callable[[int], None]
    ) -> Deferred[None] | None:
        """A change that was decided and encoded in one go, for a writer that is `idle`; `replay` is told the offset of
        its first record. None if it is committed already, else what comes of it. KafkaError if the log refuses it; then
        nothing has changed."""
        before = self.last_written
        self._running = True
        try:
            if self.committed >= before and not self._waiting:
                # Where it counts as soon as it is written it is applied only then: nothing has to be taken back.
                end = self._log.append_run(self.partition, bytearray(batch), records, now_ms, self.epoch)
                if end is not None:
                    self.registry.clear()
                    replay(before)
                    self.last_written = self.committed = end
                    self.registry.create(end)
                    return None
            self.registry.create(before)
            try:
                replay(before)
                self._appending = True
                self.last_written = self._log.append(self.partition, bytearray(batch), self.epoch)
            except BaseException:
                self.registry.revert_to(before)
                raise
            finally:
                self._appending = False
            self.advance(self.committed)
            if self.last_written <= self.committed:
                return None
            answer: Deferred[None] = Deferred()
            self._park(self.last_written, Result((), None), answer)
            return answer
        finally:
            self._running = False
            if self._steps:
                self._go_on()

    def write_marker(
        self, producer_id: int, producer_epoch: int, marker: EndTransaction, transaction_version: int
    ) -> Deferred[None]:
        """Ends a transaction in this partition: a control batch, which the shard replays like a record."""
        answer: Deferred[None] = Deferred()

        def replay() -> Work[None]:
            yield from self.shard.replay_marker(producer_id, producer_epoch, marker.committed) or ()

        def run() -> Work[None]:
            batch = encode_batch(
                [end_transaction_record(marker, self._clock.now_ms())],
                is_control=True,
                is_transactional=True,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
            )
            try:
                # Only now: what stood before it may have been the first commit of the producer's next transaction.
                self._log.check_marker(self.partition, producer_id, producer_epoch, transaction_version)
                yield from self._apply(replay(), batch)
            except KafkaError as error:
                answer.fail(coordinator_error(error))
                return
            self._park(self.last_written, Result((), None), answer)

        self._steps.append(_Step(run, answer))
        self._go_on()
        return answer

    def _go_on(self) -> None:
        if self._steps and not self._running:
            self._running = True
            self._slicer.run(self._work_through())

    def _work_through(self) -> Work[None]:
        """The steps that wait, one after the other, and those that come meanwhile."""
        try:
            while self._steps:
                yield from self._do(self._steps.popleft())
                if self._steps:
                    yield
        finally:
            self._running = False

    def _do(self, step: _Step) -> Work[None]:
        work = step.begin()
        try:
            while not self.closed:
                try:
                    next(work)
                except StopIteration:
                    return
                yield
            # What it has changed so far is given up with the shard.
            work.close()
            if not step.answer.settled:
                step.answer.fail(KafkaError(ErrorCode.NOT_COORDINATOR))
        except Exception as error:  # a fault of ours: whoever asked is told, those behind it go on
            if step.answer.settled:
                logger.exception("an operation on %s went wrong", self.partition)
            else:
                step.answer.fail(error)

    def _append(self, result: Result[Any], fields: BatchFields) -> Work[None]:
        limit = self._log.max_batch_size(self.partition)
        for encoded in batches(result, self.partition, limit, self._clock.now_ms(), fields):
            if isinstance(encoded, EncodedBatch):
                records, batch = encoded
                yield from self._apply(self._replay(records if result.replay else (), fields), batch)
            else:
                yield

    def _apply(self, replay: Work[None], batch: bytes) -> Work[None]:
        before = self.last_written
        self.registry.create(before)
        try:
            yield from replay
            self._appending = True
            self.last_written = self._log.append(self.partition, bytearray(batch), self.epoch)
        except BaseException:
            self.registry.revert_to(before)
            raise
        finally:
            self._appending = False
        self.advance(self.committed)

    def _replay(self, records: Sequence[CoordinatorRecord], fields: BatchFields) -> Work[None]:
        in_transaction = fields["is_transactional"]
        producer_id = fields["producer_id"] if in_transaction else NO_PRODUCER_ID
        producer_epoch = fields["producer_epoch"] if in_transaction else NO_PRODUCER_EPOCH
        for index, record in enumerate(records):
            yield from self.shard.replay(record, self.last_written + index, producer_id, producer_epoch) or ()
            if not (index + 1) % _PIECE:
                yield

    def _park(self, offset: int, result: Result[T], answer: Deferred[T]) -> None:
        timer: TimerHandle | None = None
        finished = False

        def finish(error: BaseException | None) -> None:
            nonlocal finished
            if finished:
                return
            finished = True
            if timer is not None:
                timer.cancel()
            failure = None if error is None else error if isinstance(error, KafkaError) else unexpected_error(error)
            self._tell(result, failure)
            if failure is None:
                answer.resolve(result.response)
            else:
                answer.fail(failure)

        if offset <= self.committed:
            finish(None)
            return
        self._waiting.add(offset, finish)
        if offset > self._log.high_watermark(self.partition):
            timer = self._loop.call_later(
                self._commit_timeout_ms / 1000, lambda: finish(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            )

    def _tell(self, result: Result[Any], failure: KafkaError | None) -> None:
        work = None if result.done is None else result.done(failure)
        if work is not None:
            self._steps.appendleft(_Step(lambda: work, ready(None)))
            self._go_on()

    def _timeout(self, key: str, operation: TimeoutOperation) -> None:
        """A timeout whose records could not be written is tried again, unless it has changed the shard already."""
        again = True

        def run(_: S) -> Work[Result[None]]:
            nonlocal again
            if not self.timers.take(key, operation):
                return Result((), None)
            result = yield from decided(operation(self._clock.now_ms()))
            again = result.replay
            return result

        def settled(_: None, error: BaseException | None) -> None:
            if error is not None and not isinstance(error, KafkaError):
                logger.error("the timeout %s of %s went wrong", key, self.partition, exc_info=error)
            if isinstance(error, KafkaError) and again and not self.closed and not self.timers.is_scheduled(key):
                logger.info("the timeout %s of %s is tried again: %s", key, self.partition, error)
                self.timers.schedule(key, RETRY_MS, operation)

        self.write(run, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH, transactional=False).then(settled)

    # ------------------------------------------------------------------------------------------------ from the log

    def loaded_to(self, offset: int, high_watermark: int) -> None:
        """While loading: everything before `offset` was replayed."""
        self.last_written = self.found_end = offset
        self.committed = min(high_watermark, offset)
        if offset >= high_watermark:
            # What follows is not committed yet and may have to be read around.
            self.registry.create(offset)

    def high_watermark_moved(self, high_watermark: int) -> None:
        if not self.closed:
            self.advance(high_watermark)

    def advance(self, high_watermark: int) -> None:
        if high_watermark > self.committed:
            self.committed = high_watermark
        if self._appending:
            # It moved inside an append that has not returned; `_apply` comes back to it.
            return
        # What lies before the high watermark can no longer be taken back. While loading nothing is kept before it.
        if self.committed >= self.last_written:
            self.registry.create(self.last_written)
        self.registry.delete_up_to(min(self.committed, self.last_written))
        if self._waiting.reached(self.committed):
            self._waiting.complete_up_to(self.committed, self._shortage())

    def _shortage(self) -> KafkaError | None:
        """The in-sync set may have shrunk below its minimum since the append: then one disk is all that has it."""
        code = self._log.replicated(self.partition, self.committed)
        return None if code == ErrorCode.NONE else coordinator_error(KafkaError(code))

    def close(self) -> Work[None]:
        """The shard is gone; everybody who waits hears NOT_COORDINATOR, those inside the shard by the work."""
        self.closed = True
        timers = self.timers.close()
        self._waiting.fail_all(KafkaError(ErrorCode.NOT_COORDINATOR))
        return self._let_go(timers, self.shard.on_unloaded())

    def _let_go(self, timers: Work[None], waiting: Work[None] | None) -> Work[None]:
        yield from waiting or ()
        yield from timers
