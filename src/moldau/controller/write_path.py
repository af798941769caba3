"""How a decision becomes committed metadata.

    decide (records, response) -> replay -> append to the metadata log -> [committed] -> response

Operations run one at a time on the loop's thread and each is applied before the next one is decided, so a decision
always sees everything that was decided before it, committed or not. If the append fails, the timeline takes the change
back and the caller gets the error. If the leadership is lost, everything uncommitted is taken back and every waiting
caller hears NOT_CONTROLLER: a new leader may still commit the records, so the caller must ask again.

A decision that takes long is work that pauses; others wait in order until it is applied. More records than a turn of
the loop can take are written as a transaction of the log, some in each turn: who reads it takes all of them or none. A
crash in the middle leaves it open, and the next leader aborts it. Records of which any part may stand alone, such as
those of a broker that leaves, need no transaction and are published as they come.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from types import GeneratorType
from typing import Final, TypeVar, cast

from moldau.controller.decision import MAX_RECORDS, MAX_TRANSACTION, TURN_RECORDS, Decision, refusal
from moldau.controller.state import ControllerState
from moldau.deferred import Deferred, gather, pass_on
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    Message,
    versioned,
)
from moldau.raft.quorum import MetadataQuorum
from moldau.runtime.ports import Loop, TimerHandle
from moldau.slicing import Slicer, Work, pieces
from moldau.timeline import DeferredEventQueue

logger = logging.getLogger("moldau.controller")

P = TypeVar("P")
R = TypeVar("R")

# The metadata.version (3.6-IV1) whose readers know transactions of the metadata log.
_TRANSACTIONS_SINCE: Final = 13


class _Transaction:
    """A large decision on its way into the log."""

    def __init__(self, start: int) -> None:
        # The last offset before it, which it is taken back to; and what was appended of it.
        self.start = start
        self.written: list[tuple[Message, int]] = []


class WritePath:
    """A listener of the quorum that holds the state. A subclass says what happens when leadership comes and goes."""

    def __init__(
        self, quorum: MetadataQuorum, loop: Loop, slicer: Slicer, new_state: Callable[[], ControllerState]
    ) -> None:
        self._quorum = quorum
        self._loop = loop
        self._slicer = slicer
        # A decision is being made in slices, or its transaction is not committed yet; and those who wait for it.
        self._deciding = False
        self._next: deque[Callable[[], None]] = deque()
        # One of these is just being begun.
        self._beginning = False
        self._transaction: _Transaction | None = None
        # A transaction was begun and could be neither ended nor aborted: nothing may be written behind it.
        self._must_abort = False
        self._new_state = new_state
        self.state = new_state()
        self._waiting = DeferredEventQueue()
        # The epoch this node leads in, or None.
        self._epoch: int | None = None
        # The last offset that was replayed, and the last that is committed.
        self._last_offset = self._committed = -1

    @property
    def is_active(self) -> bool:
        return self._epoch is not None

    @property
    def committed_offset(self) -> int:
        return self._committed

    def activated(self) -> None:
        """Called when this node has become the leader and may append."""

    def renounced(self) -> None:
        """Called when it no longer is."""

    # -------------------------------------------------------------------------------------------------- operations

    def run(self, decide: Callable[[], Decision[R] | Work[Decision[R]]], timeout_ms: int | None = None) -> Deferred[R]:
        """Decides and applies, now or when those before it are done; the answer comes when it is committed, or
        REQUEST_TIMED_OUT after `timeout_ms`.

        A timeout answers the caller and changes nothing else: what was appended may still be committed. With no time
        at all, nothing is begun.
        """
        answer: Deferred[R] = Deferred()
        if self._deciding:
            self._next.append(lambda: self._run(decide, timeout_ms, answer))
        else:
            self._run(decide, timeout_ms, answer)
        return answer

    def _run(
        self, decide: Callable[[], Decision[R] | Work[Decision[R]]], timeout_ms: int | None, answer: Deferred[R]
    ) -> None:
        if self._epoch is None:
            answer.fail(KafkaError(ErrorCode.NOT_CONTROLLER))
            return
        if timeout_ms is not None and timeout_ms <= 0:
            answer.fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "The request leaves no time for the change."))
            return
        try:
            decided = decide()
            if isinstance(decided, GeneratorType):
                self._deciding = True
                self._slicer.run(self._decide_in_slices(decided, timeout_ms, answer))
                return
            decision = cast("Decision[R]", decided)
            offset = self.append(decision.records, atomic=decision.atomic)
        except Exception as error:  # perhaps a fault of ours: whoever asked is told, those behind it go on
            answer.fail(refusal(error))
            return
        self._park_decision(answer, decision.response, offset, timeout_ms)

    def _decide_in_slices(self, work: Work[Decision[R]], timeout_ms: int | None, answer: Deferred[R]) -> Work[None]:
        epoch = self._epoch
        try:
            decision = yield from self._while_leading(work, epoch)
            can_split = self.state.features.metadata_version >= _TRANSACTIONS_SINCE
            if not decision.atomic:
                offset = yield from self._append_in_turns(decision.records, epoch)
            elif len(decision.records) <= TURN_RECORDS or not can_split:
                offset = self.append(decision.records)
            else:
                offset = yield from self._append_in_slices(decision.records, epoch)
        except Exception as error:  # perhaps a fault of ours: whoever asked is told, those behind it go on
            settle = partial(answer.fail, refusal(error))
        else:
            settle = partial(self._park_decision, answer, decision.response, offset, timeout_ms)
        try:
            settle()
        finally:
            # Whatever those who are told make of it.
            if self._transaction is None:
                self._go_on()

    def _while_leading(self, work: Work[R], epoch: int | None) -> Work[R]:
        while True:
            try:
                next(work)
            except StopIteration as done:
                result: R = done.value
                return result
            yield
            if self._epoch != epoch:
                work.close()
                raise KafkaError(ErrorCode.NOT_CONTROLLER)

    def _go_on(self) -> None:
        """With those who waited for a long decision, some in a turn."""
        self._deciding = False
        # Whoever begins one that is done at once goes on with the next: they must not stand upon each other.
        if self._next and not self._beginning:
            self._deciding = True
            self._slicer.run(self._work_through())

    def _work_through(self) -> Work[None]:
        while self._next:
            self._deciding = False
            self._beginning = True
            try:
                self._next.popleft()()
            except Exception:
                logger.exception("the answer to a decision was not taken")
            finally:
                self._beginning = False
            if self._deciding:
                # Another long one: it comes back here.
                return
            self._deciding = True
            yield
        self._deciding = False

    def run_in_turns(
        self, parts: Sequence[P], decide: Callable[[P], Decision[R] | Work[Decision[R]]], timeout_ms: int | None = None
    ) -> Deferred[list[R]]:
        """The same for a request whose parts stand alone: one of them in each turn of the loop, so that nobody waits
        for all. A part that fails fails the request; those before it stay, as with a timeout."""
        answer: Deferred[list[R]] = Deferred()
        answers: list[Deferred[R]] = []

        def run_next() -> None:
            part = parts[len(answers)]
            answers.append(self.run(lambda: decide(part), timeout_ms))
            if len(answers) < len(parts):
                self._loop.call_soon(run_next)
            else:
                pass_on(gather(answers), answer)

        run_next()
        return answer

    def _park_decision(self, answer: Deferred[R], response: R, offset: int | None, timeout_ms: int | None) -> None:
        # Without records the answer still rests on what was decided before and may not be committed yet.
        self._park(answer, response, self._waiting.highest_pending if offset is None else offset, timeout_ms)

    def _park(self, answer: Deferred[R], response: R, offset: int | None, timeout_ms: int | None) -> None:
        if offset is None or offset <= self._committed:
            answer.resolve(response)
            return
        timer: TimerHandle | None = None

        def finish(error: BaseException | None) -> None:
            if timer is not None:
                timer.cancel()
            if answer.settled:
                return
            if error is None:
                answer.resolve(response)
            else:
                answer.fail(error)

        def expire() -> None:
            if not answer.settled:
                answer.fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "The change was not committed in time."))

        self._waiting.add(offset, finish)
        if timeout_ms is not None:
            timer = self._loop.call_later(timeout_ms / 1000, expire)

    def append(self, records: Sequence[Message], *, atomic: bool = True) -> int | None:
        """Applies the records and writes them; the offset of the last one, None if there are none."""
        if not records:
            return None
        if atomic and len(records) > MAX_RECORDS:
            raise _too_many(len(records), MAX_RECORDS)
        for start in range(0, len(records), MAX_RECORDS):
            self._append_batch(records[start : start + MAX_RECORDS])
        return self._last_offset

    def _append_in_turns(self, records: Sequence[Message], epoch: int | None) -> Work[int | None]:
        """The same for records of which any part may stand alone: some in each turn, and so are they published."""
        offset = None
        for part in pieces(records, TURN_RECORDS):
            if offset is not None:
                yield
                if self._epoch != epoch:
                    raise KafkaError(ErrorCode.NOT_CONTROLLER)
            offset = self.append(part)
        return offset

    def _append_batch(self, records: Sequence[Message]) -> None:
        assert self._epoch is not None
        self._abort_if_open()
        state, before = self.state, self._last_offset
        state.registry.create(before)
        # Chosen before the replay: a batch that raises the metadata.version is itself still written at the old one.
        metadata_version = state.features.metadata_version
        first = self._quorum.end_offset
        try:
            for index, record in enumerate(records):
                state.replay(record, first + index)
            self._last_offset = self._quorum.append(self._epoch, [versioned(r, metadata_version) for r in records])
        except BaseException:
            state.registry.revert_to(before)
            raise

    # ------------------------------------------------------------------------------------------------ transactions

    def _append_in_slices(self, records: Sequence[Message], epoch: int | None) -> Work[int]:
        """Applies and writes the records as one transaction; the offset of its end."""
        assert epoch is not None
        if len(records) > MAX_TRANSACTION:
            raise _too_many(len(records), MAX_TRANSACTION)
        self._abort_if_open()
        registry, transaction = self.state.registry, _Transaction(self._last_offset)
        registry.create(transaction.start)
        self._transaction = transaction
        try:
            begin: list[Message] = [BeginTransactionRecord(name="a large change")]
            for part in pieces(records, TURN_RECORDS):
                self._write_part(transaction, epoch, begin + part)
                begin = []
                yield
                if self._epoch != epoch:
                    raise KafkaError(ErrorCode.NOT_CONTROLLER)
            self._write_part(transaction, epoch, [EndTransactionRecord()])
        except BaseException:
            self._transaction = None
            if self._epoch == epoch:
                registry.revert_to(transaction.start)
                self._must_abort = self._last_offset > transaction.start
                self._abort_if_open()
            raise
        self._waiting.add(self._last_offset, self._transaction_settled)
        return self._last_offset

    def _write_part(self, transaction: _Transaction, epoch: int, records: Sequence[Message]) -> None:
        first = self._quorum.end_offset
        metadata_version = self.state.features.metadata_version
        for offset, record in enumerate(records, first):
            # Applied as it comes: this node knows how the transaction will end.
            if not isinstance(record, BeginTransactionRecord | EndTransactionRecord):
                self.state.apply(record, offset)
        self._last_offset = self._quorum.append(epoch, [versioned(r, metadata_version) for r in records])
        transaction.written += zip(records, range(first, self._last_offset + 1), strict=True)

    def _transaction_settled(self, error: BaseException | None) -> None:
        self._transaction = None
        if self._epoch is not None:
            self._keep_snapshot()
        self._go_on()

    def _abort_if_open(self) -> None:
        if self._must_abort and self._epoch is not None:
            abort = AbortTransactionRecord(reason="The change could not be written.")
            version = self.state.features.metadata_version
            self._last_offset = self._quorum.append(self._epoch, [versioned(abort, version)])
            self._must_abort = False

    # -------------------------------------------------------------------------------------------- from the quorum

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> Work[None]:
        state = self._new_state()
        for records in snapshot:
            for record in records:
                state.replay(record, snapshot.last_offset)
            yield
        self.state = state
        self._last_offset = self._committed = snapshot.last_offset

    def on_commit(self, batch: CommittedBatch, *, more: bool) -> None:
        # Our own records were applied when they were appended.
        if batch.epoch != self._epoch or batch.last_offset > self._last_offset:
            for index, record in enumerate(batch.records):
                self.state.replay(record, batch.base_offset + index)
            self._last_offset = batch.last_offset
        self._committed = batch.last_offset
        if self._epoch is not None:
            self._keep_snapshot()
        self._waiting.complete_up_to(batch.last_offset)

    def on_leader(self, leader_id: int, epoch: int) -> None:
        leads = leader_id == self._quorum.node_id
        if self._epoch is not None and not (leads and epoch == self._epoch):
            self._renounce()
        if leads and self._epoch is None:
            self._epoch = epoch
            self._keep_snapshot()
            self.activated()

    def close(self) -> None:
        if self._epoch is not None:
            self._renounce()

    def _keep_snapshot(self) -> None:
        """There is always a snapshot at the committed offset: it is what a lost leadership goes back to."""
        registry = self.state.registry
        if self._committed == self._last_offset:
            registry.create(self._committed)
        registry.delete_up_to(self._safe_offset)

    @property
    def _safe_offset(self) -> int:
        """As far as nothing can be taken back any more: inside a transaction it may still be aborted as a whole.

        What is left in the log of one that was given up changed nothing, and there is no snapshot within it.
        """
        safe = self._committed if self._transaction is None else min(self._committed, self._transaction.start)
        return self.state.registry.at_or_before(safe)

    def _renounce(self) -> None:
        self._epoch = None
        self._must_abort = False
        self.state.registry.revert_to(self._safe_offset)
        self.state.registry.clear()
        if self._transaction is not None:
            # The next leader ends it or aborts it: until then it is held back, like one of somebody else.
            for record, offset in self._transaction.written:
                if offset <= self._committed:
                    self.state.replay(record, offset)
        self._last_offset = self._committed
        self.renounced()
        self._waiting.fail_all(KafkaError(ErrorCode.NOT_CONTROLLER))


def _too_many(count: int, most: int) -> KafkaError:
    return KafkaError(ErrorCode.POLICY_VIOLATION, f"The change has {count} records; at most {most} are allowed.")
