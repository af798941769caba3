"""How a decision becomes committed metadata.

    decide (records, response) -> replay -> append to the metadata log -> [committed] -> response

Operations run one at a time on the loop's thread and each is applied before the next one is decided, so a decision
always sees everything that was decided before it, committed or not. If the append fails, the timeline takes the change
back and the caller gets the error. If the leadership is lost, everything uncommitted is taken back and every waiting
caller hears NOT_CONTROLLER: a new leader may still commit the records, so the caller must ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from moldau.controller.decision import MAX_RECORDS, Decision
from moldau.controller.state import ControllerState
from moldau.deferred import Deferred, gather, pass_on
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.metadata.records import Message, versioned
from moldau.raft.quorum import MetadataQuorum
from moldau.runtime.ports import Loop, TimerHandle
from moldau.timeline import DeferredEventQueue

P = TypeVar("P")
R = TypeVar("R")


class WritePath:
    """A listener of the quorum that holds the state. A subclass says what happens when leadership comes and goes."""

    def __init__(self, quorum: MetadataQuorum, loop: Loop, new_state: Callable[[], ControllerState]) -> None:
        self._quorum = quorum
        self._loop = loop
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

    def run(self, decide: Callable[[], Decision[R]], timeout_ms: int | None = None) -> Deferred[R]:
        """Decides and applies now; the answer comes when it is committed, or REQUEST_TIMED_OUT after `timeout_ms`.

        A timeout answers the caller and changes nothing else: what was appended may still be committed. With no time
        at all, nothing is begun.
        """
        answer: Deferred[R] = Deferred()
        if self._epoch is None:
            answer.fail(KafkaError(ErrorCode.NOT_CONTROLLER))
            return answer
        if timeout_ms is not None and timeout_ms <= 0:
            answer.fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "The request leaves no time for the change."))
            return answer
        try:
            decision = decide()
            offset = self.append(decision.records, atomic=decision.atomic)
        except KafkaError as error:
            answer.fail(error)
            return answer
        except ProtocolError as error:
            # Something in it has no place in a record, such as a list that grew too long by what was appended to it.
            answer.fail(KafkaError(ErrorCode.INVALID_REQUEST, f"The change cannot be written: {error}."))
            return answer
        # Without records the answer still rests on what was decided before and may not be committed yet.
        self._park(answer, decision.response, self._waiting.highest_pending if offset is None else offset, timeout_ms)
        return answer

    def run_in_turns(
        self, parts: Sequence[P], decide: Callable[[P], Decision[R]], timeout_ms: int | None = None
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
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION, f"The change has {len(records)} records; at most {MAX_RECORDS} are allowed."
            )
        for start in range(0, len(records), MAX_RECORDS):
            self._append_batch(records[start : start + MAX_RECORDS])
        return self._last_offset

    def _append_batch(self, records: Sequence[Message]) -> None:
        assert self._epoch is not None
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

    # -------------------------------------------------------------------------------------------- from the quorum

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> None:
        state = self._new_state()
        for records in snapshot:
            for record in records:
                state.replay(record, snapshot.last_offset)
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
        registry.delete_up_to(self._committed)

    def _renounce(self) -> None:
        self._epoch = None
        self.state.registry.revert_to(self._committed)
        self.state.registry.clear()
        self._last_offset = self._committed
        self.renounced()
        self._waiting.fail_all(KafkaError(ErrorCode.NOT_CONTROLLER))
