"""What is on its way between members: records and pieces of snapshots for others, pieces of the leader's for us.

A snapshot of the leader is checked, forced to disk and given its name by a worker; then it takes the place of the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from moldau.errors import ErrorCode, MoldauError
from moldau.raft.effects import ReplySnapshot, SaveSnapshot
from moldau.raft.log_view import Entries, EpochOffset
from moldau.raft.messages import FetchAnswer, SnapshotAnswer
from moldau.raft.metadata_log import MetadataLog
from moldau.raft.snapshot_file import SnapshotReader
from moldau.raft.voters import VoterChange
from moldau.runtime.ports import Loop, Workers

logger = logging.getLogger("moldau.raft")

_MOST_BYTES: Final = 1 << 20


class SnapshotTransfer:
    """`settled` is told what an installed snapshot says about the voters, or None if there will be none."""

    def __init__(
        self,
        log: MetadataLog,
        loop: Loop,
        workers: Workers | None,
        settled: Callable[[tuple[VoterChange, ...] | None], None],
    ) -> None:
        self._log = log
        self._loop = loop
        self._workers = workers
        self._settled = settled
        # A worker makes a download count: until it is done nobody else writes under that name.
        self._is_finishing = False

    def with_records(self, answer: FetchAnswer) -> FetchAnswer:
        """The answer to a fetch with what it is to carry."""
        base = answer.read_from
        if base is None:
            return answer
        data = self._log.read(base, max(1, min(answer.max_bytes, _MOST_BYTES)))
        entries = Entries(data, base, EpochOffset(0, 0))
        return FetchAnswer(answer.error, answer.standing, answer.high_watermark, entries=entries)

    def piece(self, effect: ReplySnapshot) -> SnapshotAnswer:
        request, standing = effect.request, effect.standing
        piece = self._log.snapshot_piece(request.snapshot, request.position, min(request.max_bytes, _MOST_BYTES))
        if piece is None:
            return SnapshotAnswer(ErrorCode.SNAPSHOT_NOT_FOUND, standing)
        data, size = piece
        if not data:
            return SnapshotAnswer(ErrorCode.POSITION_OUT_OF_RANGE, standing)
        return SnapshotAnswer(ErrorCode.NONE, standing, request.snapshot, size, request.position, data)

    def save(self, effect: SaveSnapshot) -> None:
        if self._is_finishing:
            # There is another leader by now, which sends the same. It is asked again when the first one has settled.
            self._loop.call_soon(lambda: self._settled(None))
            return
        try:
            download = self._log.save_piece(effect.snapshot, effect.data, effect.position)
        except OSError as error:
            self._later(None, error)
            return
        if not effect.is_last:
            return
        self._is_finishing = True
        if self._workers is not None:
            self._workers.submit(download.finish, self._finished)
            return
        try:
            reader = download.finish()
        except (OSError, MoldauError) as error:
            self._later(None, error)
        else:
            self._later(reader, None)

    def _later(self, reader: SnapshotReader | None, error: BaseException | None) -> None:
        """Not inside the step that asked for it."""
        self._loop.call_soon(lambda: self._finished(reader, error))

    def _finished(self, reader: SnapshotReader | None, error: BaseException | None) -> None:
        self._is_finishing = False
        if not self._log.is_open:
            return
        if reader is None:
            logger.error("the leader's snapshot could not be saved: %s", error)
            self._log.give_up_download()
            self._settled(None)
        elif self._log.install(reader):
            logger.info("the leader's snapshot %s takes the place of the metadata log", reader.id.file_name)
            self._settled(reader.changes)
        else:
            self._settled(None)
