"""Hands what is committed to the listeners, in order: snapshots, batches, news of leaders.

What this node appended itself is still at hand; everything else is read from the log. Much of it is read in portions,
with turns of the loop between them; so is a snapshot, and what comes after it waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from moldau.deferred import Deferred
from moldau.metadata.committed import CommittedBatch
from moldau.raft.batches import decode_batches
from moldau.raft.effects import Deliver, DeliverSnapshot, LeaderChanged
from moldau.raft.metadata_log import MetadataLog
from moldau.raft.quorum import QuorumListener
from moldau.raft.snapshot_file import SnapshotReader
from moldau.runtime.ports import Clock, Loop
from moldau.slicing import Slicer, Work, run_whole

# About five milliseconds of decoding and replaying; or of replaying alone, a batch counting like a record.
_READ_BYTES: Final = 64 << 10
_OWN_RECORDS: Final = 1000

News: TypeAlias = Deliver | DeliverSnapshot | LeaderChanged


class Delivery:
    def __init__(self, log: MetadataLog, loop: Loop, clock: Clock, on_fault: Callable[[BaseException], None]) -> None:
        self.listeners: list[QuorumListener] = []
        # The next offset to be delivered.
        self.offset = 0
        self._log = log
        self._loop = loop
        self._slicer = Slicer(loop, clock)
        self._on_fault = on_fault
        self._news: deque[News] = deque()
        # Appended here and not yet delivered, oldest first.
        self._own: deque[CommittedBatch] = deque()
        self._is_working = self._is_scheduled = False
        # The snapshot that is being handed out.
        self._snapshot: SnapshotReader | None = None

    def begin(self, snapshot: SnapshotReader | None, *, more: bool) -> None:
        """What there is before the log. `more` if the rest follows at once."""
        if snapshot is not None and snapshot.id.end_offset > 0:
            run_whole(self._hand_out_snapshot(snapshot, more=more))

    def appended(self, batch: CommittedBatch) -> None:
        self._own.append(batch)

    def cut(self, end_offset: int) -> None:
        while self._own and self._own[-1].last_offset >= end_offset:
            self._own.pop()

    def tell(self, news: News) -> None:
        self._news.append(news)
        if not self._is_scheduled and self._snapshot is None:
            self._work()

    def drain(self) -> None:
        """All of it, now."""
        self._work(whole=True)

    def close(self) -> None:
        self._news.clear()
        self._own.clear()
        self._snapshot = None

    def _work(self, *, whole: bool = False) -> None:
        if self._is_working:
            # A listener that appends is told of it when it has heard this.
            return
        self._is_working = True
        try:
            while self._news and self._snapshot is None:
                news = self._news[0]
                if isinstance(news, Deliver) and self.offset < min(news.end_offset, self._log.start_offset):
                    # Meanwhile a snapshot of the leader has come that contains it, and is the next to be told.
                    self._news.popleft()
                    continue
                if isinstance(news, Deliver) and not self._deliver(news.end_offset) and not whole:
                    self._schedule()
                    return
                if isinstance(news, Deliver) and self.offset < news.end_offset:
                    continue
                if self._news and self._news[0] is news:
                    self._news.popleft()
                if isinstance(news, DeliverSnapshot):
                    self._deliver_snapshot()
                elif isinstance(news, LeaderChanged):
                    for listener in self.listeners:
                        listener.on_leader(news.leader_id, news.epoch)
        finally:
            self._is_working = False

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_later(0, self._continue)

    def _continue(self) -> None:
        self._is_scheduled = False
        try:
            self._work()
        except Exception as error:
            self._on_fault(error)

    def _deliver(self, end_offset: int) -> bool:
        """A portion; whether that was all."""
        own = self._own
        while own and own[0].last_offset < self.offset:
            own.popleft()
        left = _OWN_RECORDS
        while own and own[0].base_offset == self.offset and own[0].last_offset < end_offset:
            if left <= 0:
                return False
            batch = own.popleft()
            left -= 1 + len(batch.records)
            self._hand_out(batch, end_offset)
        if self.offset >= end_offset:
            return True
        data = self._log.read(self.offset, _READ_BYTES)
        for batch in decode_batches(data):
            if batch.last_offset >= end_offset:
                break
            if batch.last_offset >= self.offset:
                self._hand_out(batch, end_offset)
        return self.offset >= end_offset

    def _hand_out(self, batch: CommittedBatch, end_offset: int) -> None:
        self.offset = batch.last_offset + 1
        more = self.offset < end_offset
        for listener in self.listeners:
            listener.on_commit(batch, more=more)

    def _deliver_snapshot(self) -> None:
        """The newest one: the log begins there."""
        if not self._log.is_open:
            return
        snapshot = self._log.open_snapshot()
        if snapshot.id.end_offset <= self.offset:
            return
        self._own.clear()
        self._snapshot = snapshot

        def told(_: None, error: BaseException | None) -> None:
            if self._snapshot is not snapshot:
                return
            self._snapshot = None
            if error is not None:
                self._on_fault(error)
            else:
                self._continue()

        work = self._hand_out_snapshot(snapshot, more=False)
        outcome = self._slicer.run(work, lambda: self._snapshot is snapshot)
        if isinstance(outcome, Deferred):
            outcome.then(told)
        else:
            self._snapshot = None

    def _hand_out_snapshot(self, snapshot: SnapshotReader, *, more: bool) -> Work[None]:
        self.offset = snapshot.id.end_offset
        for listener in self.listeners:
            work = listener.on_snapshot(snapshot, more=more)
            if work is not None:
                yield from work
            yield
