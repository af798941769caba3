"""One compaction of one log: only the latest record of each key stays, where it was.

First the dirty segments are read and the latest offset of every key is noted, as many as fit the memory. Then all
closed segments up to there are written again, a few small ones into one, without the records that were replaced. A new
segment is complete and on disk before it is announced, and announced before it takes the place of the old ones, so a
crash at any moment leaves either the old segments or the new ones.

`run` is a generator of slices. Between two slices it may move to another thread: all it touches are files of its own,
opened by name. What concerns the log itself (putting a new segment in its place) it hands out, to be done on the loop.

Why slices in worker threads: the kernel releases the GIL, so the loop runs beside it on another core. Compacting 10
million records (bench/compaction.py, 2 busy cores), a timer of the loop is late at p99 by 0.2 to 1.5 ms without a
compaction, by 2 to 4 ms with the slices in workers, which is what any thread costs that only computes (4 ms), and by
80 ms with the slices on the loop. A process of its own would not disturb the loop either, but needs a copy of all that
is in the plan, and could not be run by the simulator.
"""

from __future__ import annotations

import posixpath
from collections.abc import Generator, Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from moldau._speed import BatchFilter, OffsetMap, read_header, scan_batches
from moldau._speed.layout import HEADER_SIZE, PREFIX_SIZE
from moldau.config.topic import LogConfig
from moldau.dataclass import dataclass
from moldau.errors import MoldauError, ProtocolError
from moldau.protocol.records import batch_body
from moldau.runtime.ports import Disk, File
from moldau.storage.checkpoint import sync_file
from moldau.storage.cleaned_transactions import CleanedTransactions
from moldau.storage.dirtiness import Dirtiness
from moldau.storage.file_names import CLEANED, SWAP
from moldau.storage.log import Log
from moldau.storage.producer_state import read_end_marker
from moldau.storage.recompression import recompressed, uncompressed
from moldau.storage.segment import MAX_RELATIVE_OFFSET, Segment
from moldau.storage.transaction_index import AbortedTransaction

# Batches that need a decision in Python are taken in small portions: each holds the GIL for some microseconds.
_SPECIAL_BATCHES: Final = 100
_NO_INTERVAL: Final = (1 << 63) - 1


class Uncleanable(MoldauError):
    """The log cannot be compacted, and trying again would not help."""


class Replacement(NamedTuple):
    """A slice for the loop: the new segment takes the place of the old ones."""

    new: Segment
    old: Sequence[Segment]


@dataclass(slots=True, frozen=True)
class CompactionPlan:
    """What a compaction needs to know of its log; taken down on the loop, so that it does not change under way."""

    directory: str
    config: LogConfig
    segments: tuple[Segment, ...]  # closed ones, up to `end_offset`
    first_dirty_offset: int
    end_offset: int
    aborted: tuple[AbortedTransaction, ...]
    last_offsets: frozenset[int]  # of the last batch of every producer
    last_epochs: dict[int, int]  # of producers that wrote no batch in their epoch: their marker alone tells it
    now_ms: int


def plan_compaction(log: Log, found: Dirtiness, now_ms: int) -> CompactionPlan:
    segments = tuple(segment for segment in log.segments if segment.base_offset < found.end_offset)
    producers = log.producers.entries.values()
    return CompactionPlan(
        directory=log.directory.path,
        config=log.config,
        segments=segments,
        first_dirty_offset=found.first_dirty_offset,
        end_offset=found.end_offset,
        aborted=tuple(log.segments.aborted_between(segments[0].base_offset, found.end_offset)) if segments else (),
        last_offsets=frozenset(entry.batches[-1].last_offset for entry in producers if entry.batches),
        last_epochs={entry.producer_id: entry.epoch for entry in producers if not entry.batches},
        now_ms=now_ms,
    )


class Compaction:
    """`clean_offset` and the counts are right when `run` has come to its end."""

    def __init__(
        self, plan: CompactionPlan, disk: Disk, *, memory: int, load_factor: float, buffer_size: int, seed: bytes
    ) -> None:
        self._plan = plan
        self._disk = disk
        self._buffer_size = max(buffer_size, HEADER_SIZE)
        # There cannot be more keys than offsets, and a small map is a fast one.
        slots = max(2, memory // 24)
        needed = int((plan.end_offset - plan.first_dirty_offset) / load_factor) + 2
        slots = min(slots, needed)
        self._map = OffsetMap(slots, max(1, int(slots * load_factor)), seed)
        self._writing: Segment | None = None
        self.clean_offset = plan.first_dirty_offset
        self.records_read = 0
        self.records_kept = 0
        self.bytes_read = 0
        self.bytes_written = 0

    def run(self) -> Generator[int | Replacement, None, None]:
        """Slices: a number of bytes that were read or written, or something to be done on the loop."""
        try:
            yield from self._index()
            # One for all groups: a transaction may begin in one and end in another.
            transactions = CleanedTransactions(self._plan.aborted)
            for group in self._groups():
                yield from self._rewrite(group, transactions)
            self._disk.sync_directory(self._plan.directory)
            self._map.close()  # here, and not when the loop forgets the compaction
        except ProtocolError as error:
            raise Uncleanable(f"its records are damaged: {error}") from error

    def accepted(self) -> None:
        """The segment that was handed out belongs to the log from now on."""
        self._writing = None

    def discard(self) -> None:
        """Removes what a compaction that was given up has left. OSError is for the next start to deal with."""
        writing, self._writing = self._writing, None
        if writing is None:
            return
        if writing.is_announced:
            # First the announcement: half of the files of an announced segment would still be put in place.
            writing.rename(CLEANED)
            self._disk.sync_directory(self._plan.directory)
        writing.undo_create()

    # ------------------------------------------------------------------------------------- the latest offset of keys

    def _index(self) -> Generator[int, None, None]:
        plan, known = self._plan, self._map
        transactions = CleanedTransactions(plan.aborted)
        dirty = [segment for segment in plan.segments if segment.base_offset >= plan.first_dirty_offset]
        if len(dirty) < len(plan.segments) and (not dirty or dirty[0].base_offset > plan.first_dirty_offset):
            # The last compaction ended in the middle of a segment.
            dirty.insert(0, plan.segments[-len(dirty) - 1])
        for segment, end in _with_ends(dirty, plan.end_offset):
            for data, reader in self._chunks(segment):
                position, special = 0, 0
                while True:
                    position = known.index_batches(data, position, len(data), plan.first_dirty_offset)
                    if not known.full and _whole_batch_at(data, position):
                        size = self._index_special(data, position, transactions)
                        if not known.full:
                            position += size
                            special += 1
                            if special % _SPECIAL_BATCHES == 0:
                                yield 0
                            continue
                    break
                self.bytes_read += position
                if known.full:
                    self._full_at(read_header(data, position).base_offset)
                    return
                reader.used(position)
                yield position
            self.clean_offset = max(self.clean_offset, end)

    def _index_special(self, data: bytes, position: int, transactions: CleanedTransactions) -> int:
        """A compressed, transactional or control batch; its size."""
        header = read_header(data, position)
        end = position + header.size
        scan_batches(data, position, end)
        if header.is_control:
            transactions.is_superfluous(header, read_end_marker(data, position, end))
        elif not transactions.is_aborted(header):
            body, first, last = batch_body(header, data, position)
            self._map.index_records(header, body, first, last, self._plan.first_dirty_offset)
        return header.size

    def _full_at(self, offset: int) -> None:
        """The map is full: this time the log is compacted up to the batch at `offset` only."""
        self.clean_offset = max(self.clean_offset, offset)
        if self.clean_offset == self._plan.first_dirty_offset:
            raise Uncleanable(
                f"the batch at offset {offset} has more keys than the {self._map.limit} that fit into "
                "log.cleaner.dedupe.buffer.size"
            )

    # ------------------------------------------------------------------------------------------------- writing again

    def _groups(self) -> list[list[Segment]]:
        """Neighbours that fit into one segment, in the log, in its indexes and in the range of its offsets."""
        config = self._plan.config
        groups: list[list[Segment]] = []
        sizes = (0, 0, 0)
        segments = [segment for segment in self._plan.segments if segment.base_offset < self.clean_offset]
        for segment, end in _with_ends(segments, self._plan.end_offset):
            _, index, time_index, _ = segment.paths
            own = (segment.size, self._disk.size(index), self._disk.size(time_index))
            together = tuple(a + b for a, b in zip(sizes, own, strict=True))
            if (
                groups
                and together[0] <= config.segment_bytes
                and max(together[1:]) <= config.segment_index_bytes
                and (segment.size == 0 or end - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
            ):
                groups[-1].append(segment)
                sizes = together[0], together[1], together[2]
            else:
                groups.append([segment])
                sizes = own
        return groups

    def _rewrite(
        self, group: list[Segment], transactions: CleanedTransactions
    ) -> Generator[int | Replacement, None, None]:
        plan, base = self._plan, group[0].base_offset
        new = self._writing = Segment.create(self._disk, plan.directory, base, plan.config, plan.now_ms, CLEANED)
        new.index_interval = _NO_INTERVAL  # entries come from the filter, which sees the batches one by one
        kept = BatchFilter(
            self._map,
            self.clean_offset - 1,
            plan.last_offsets | {plan.end_offset - 1},
            now_ms=plan.now_ms,
            delete_retention_ms=plan.config.delete_retention_ms,
            index_interval=plan.config.index_interval_bytes,
        )
        for segment in group:
            yield from self._filter(segment, kept, transactions, new)
        for aborted in transactions.take_retained():
            new.transaction_index.append(aborted)
        self.records_read += kept.records_read
        self.records_kept += kept.records_kept
        self._finish(new)
        # Opened anew: what the log gets shall know nothing but what is in the files.
        self._writing = Segment.open(self._disk, plan.directory, base, plan.config, plan.now_ms, SWAP)
        yield Replacement(self._writing, group)

    def _filter(
        self, segment: Segment, kept: BatchFilter, transactions: CleanedTransactions, new: Segment
    ) -> Generator[int, None, None]:
        for data, reader in self._chunks(segment):
            position, special = 0, 0
            while True:
                position = kept.add_batches(data, position, len(data))
                if not _whole_batch_at(data, position):
                    break
                position += self._filter_special(data, position, kept, transactions)
                special += 1
                if special % _SPECIAL_BATCHES == 0:
                    yield 0
            written = self._write(kept, new)
            self.bytes_read += position
            reader.used(position)
            yield position + written

    def _filter_special(self, data: bytes, position: int, kept: BatchFilter, transactions: CleanedTransactions) -> int:
        plan, header = self._plan, read_header(data, position)
        end = position + header.size
        scan_batches(data, position, end)
        if header.is_control:
            superfluous = transactions.is_superfluous(header, read_end_marker(data, position, end))
            expired = superfluous and header.has_delete_horizon and header.base_timestamp <= plan.now_ms
            # Of a producer that wrote nothing else the marker tells the epoch, which keeps older ones out.
            is_last = plan.last_epochs.get(header.producer_id) == header.producer_epoch
            kept.add_batch(
                data, position, end, discard=expired, keep_records=True, set_horizon=superfluous, keep_empty=is_last
            )
        elif transactions.is_aborted(header):
            kept.add_batch(data, position, end, discard=True)
        elif header.compression:
            selected = kept.select_batch(*uncompressed(header, data, position))
            if selected is None:
                kept.copy_batch(data, position, end)
            elif selected:
                again = recompressed(selected, header.compression)
                kept.copy_batch(again, 0, len(again))
            else:
                kept.add_batch(data, position, end, discard=True)
        else:
            kept.add_batch(data, position, end)
        return header.size

    def _write(self, kept: BatchFilter, new: Segment) -> int:
        data, marks = kept.take()
        if not data:
            return 0
        new.append(data, kept.last_offset, kept.max_timestamp, kept.max_timestamp_offset)
        self.bytes_written += len(data)
        for mark in marks:
            if new.index_full:
                break
            new.offset_index.make_room()
            new.time_index.make_room()
            new.offset_index.append(mark.last_offset, mark.position)
            new.time_index.append(mark.max_timestamp, mark.max_timestamp_offset)
            new.index_full = new.offset_index.is_full or new.time_index.is_full
        return len(data)

    def _finish(self, new: Segment) -> None:
        """Completes the new segment, forces it to disk and announces it."""
        new.seal()
        # Closed first: forcing a mapped file to disk through its mapping would hold the GIL.
        new.release()
        for path in new.paths:
            sync_file(self._disk, path)
        new.rename(SWAP)
        self._disk.sync_directory(self._plan.directory)

    # ------------------------------------------------------------------------------------------------------- reading

    def _chunks(self, segment: Segment) -> Generator[tuple[bytes, _Reader], None, None]:
        """The bytes of a segment in pieces; the reader is told how much of each was used."""
        file = self._disk.open(segment.paths[0])
        try:
            reader = _Reader(file, segment.size, self._buffer_size)
            while reader.position < segment.size:
                yield reader.read(), reader
        finally:
            file.close()


class _Reader:
    """Reads on from the first byte that was not used; a batch larger than the buffer is read whole."""

    __slots__ = ("_buffer_size", "_file", "_size", "_want", "position")

    def __init__(self, file: File, size: int, buffer_size: int) -> None:
        self._file = file
        self._size = size
        self._buffer_size = self._want = buffer_size
        self.position = 0

    def read(self) -> bytes:
        data = self._file.read(self.position, min(self._want, self._size - self.position))
        if not data:
            raise ProtocolError(f"{posixpath.basename(self._file.path)} is shorter than it was")
        return data

    def used(self, count: int) -> None:
        self.position += count
        if count:
            self._want = self._buffer_size
        elif self._want >= self._size - self.position:
            raise ProtocolError(f"{posixpath.basename(self._file.path)} ends inside a batch")
        else:
            # Not even one batch: its first bytes tell how long it is, if they are all there.
            head = self._file.read(self.position, PREFIX_SIZE)
            self._want = max(int.from_bytes(head[8:12], "big", signed=True) + PREFIX_SIZE, 2 * self._want)


def _whole_batch_at(data: bytes, position: int) -> bool:
    left = len(data) - position
    if left < HEADER_SIZE:
        return False
    return int.from_bytes(data[position + 8 : position + 12], "big", signed=True) + PREFIX_SIZE <= left


def _with_ends(segments: Sequence[Segment], end_offset: int) -> Iterator[tuple[Segment, int]]:
    """Each segment with the offset at which the next one begins; the last of them reaches to `end_offset`."""
    for segment, following in zip_longest(segments, segments[1:]):
        yield segment, end_offset if following is None else following.base_offset
