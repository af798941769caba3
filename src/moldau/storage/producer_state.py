"""The producers of one partition: which batch may come next, which transactions are open, what is stable.

`check` only looks, `update` only records what is already in the log; between the two stands the write. So the state
never runs ahead of the log, and recovery, followers and leaders all go through the same `update`.

An offset is unstable while its transaction is open, and also after the marker is written until the marker itself has
been replicated: a reader of committed records must not see a decision that can still be lost.

Before a transaction writes here for the first time its coordinator is asked whether it may. Until the first batch is
written the state remembers the question (`Verification`): what is answered late must not open a transaction that has
been ended meanwhile, and a batch that was refused while the question was open must not be overtaken by its successor.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from moldau._speed import BatchHeader
from moldau.errors import ErrorCode, InvalidRecordError, KafkaError
from moldau.protocol.records import decode_batch, read_end_transaction
from moldau.storage.origin import Origin
from moldau.storage.producer_entry import ProducerEntry, WrittenBatch
from moldau.storage.snapshot_files import SnapshotFiles
from moldau.storage.transaction_index import AbortedTransaction
from moldau.types import NO_OFFSET, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Buffer, TopicPartition

_CLIENT: Final = Origin.CLIENT


class EndMarker(NamedTuple):
    """The record that ends a transaction."""

    commit: bool
    coordinator_epoch: int
    timestamp: int


class Verification:
    """A question to the transaction coordinator, from the moment it is asked until the transaction has written here."""

    __slots__ = ("adds_partition", "epoch", "lowest_sequence", "since_ms")

    def __init__(self, epoch: int, sequence: int, *, adds_partition: bool, since_ms: int) -> None:
        self.epoch = epoch
        # The first batch anybody tried to write under it: none behind that one may be written before.
        self.lowest_sequence = sequence
        # Transactions version 2: every one has an epoch of its own, so its sequences begin with 0.
        self.adds_partition = adds_partition
        self.since_ms = since_ms

    def asked_again(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool
    last_stable_offset: int

    def as_aborted(self) -> AbortedTransaction:
        return AbortedTransaction(self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset)


def read_end_marker(data: Buffer, start: int, end: int) -> EndMarker | None:
    """The marker in a control batch; None for other control batches and for one that compaction has emptied."""
    try:
        for record in decode_batch(data, start, end, check_crc=False):
            ended = read_end_transaction(record)
            if ended is not None:
                return EndMarker(ended.committed, ended.coordinator_epoch, record.timestamp)
    except InvalidRecordError:
        pass  # written like this by somebody's coordinator: it ends nothing
    return None


class ProducerState:
    __slots__ = (
        "_expiration_ms",
        "_open",
        "_topic_partition",
        "_verifying",
        "end_offset",
        "entries",
        "snapshots",
        "unreplicated",
    )

    def __init__(self, topic_partition: TopicPartition, snapshots: SnapshotFiles, expiration_ms: int) -> None:
        self._topic_partition = topic_partition
        self._expiration_ms = expiration_ms
        # First offset → producer. Transactions open in the order of their offsets, so the first key is the smallest.
        self._open: dict[int, int] = {}
        # First offset → offset of the marker, until the high watermark has passed it.
        self.unreplicated: dict[int, int] = {}
        self.entries: dict[int, ProducerEntry] = {}
        self._verifying: dict[int, Verification] = {}
        self.end_offset = 0
        self.snapshots = snapshots

    # ---------------------------------------------------------------------------------------------------- append

    def check(self, header: BatchHeader, origin: Origin, marker: EndMarker | None = None) -> WrittenBatch | None:
        """Refuses what may not be appended now; returns the batch this one repeats, if it does."""
        entry = self.entries.get(header.producer_id)
        if self._verifying and origin is _CLIENT:
            repeated = self._check_verified(entry, header)
            if repeated is not None:
                return repeated
        if entry is None:
            return None
        epoch = header.producer_epoch
        if header.base_sequence == entry.next_sequence and epoch == entry.epoch and origin is _CLIENT:
            if entry.transaction_start != NO_OFFSET:
                self._check_transaction(entry, header)
            return None
        if origin is _CLIENT:
            repeated = entry.find(epoch, header.base_sequence, header.last_sequence)
            if repeated is not None:
                return repeated
        if epoch < entry.epoch:
            self._refuse(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Producer {entry.producer_id} wrote with epoch {epoch}; epoch {entry.epoch} has taken over",
            )
        if marker is not None:
            self._check_coordinator(entry, marker)
        elif not header.is_control:
            if origin is _CLIENT:
                self._check_sequence(entry, header)
            self._check_transaction(entry, header)
        return None

    def update(
        self, header: BatchHeader, first_offset: int, timestamp: int, marker: EndMarker | None = None
    ) -> CompletedTransaction | None:
        """Records a batch that is in the log, at the offset it was given; returns the transaction it ended."""
        producer_id = header.producer_id
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry(producer_id)
        if self._verifying and (header.is_transactional or header.is_control):
            self._verifying.pop(producer_id, None)
        if entry.epoch != header.producer_epoch:
            entry.move_to_epoch(header.producer_epoch)
        if header.is_control:
            if marker is None:
                return None
            completed = self.completed_by(header, first_offset, marker)
            entry.coordinator_epoch = marker.coordinator_epoch
            entry.last_timestamp = marker.timestamp
            entry.transaction_start = NO_OFFSET
            return completed
        delta = header.last_offset_delta
        entry.add(WrittenBatch(header.last_sequence, first_offset + delta, delta, timestamp))
        entry.last_timestamp = timestamp
        if header.is_transactional and entry.transaction_start == NO_OFFSET:
            entry.transaction_start = first_offset
            self._open[first_offset] = producer_id
        return None

    def completed_by(self, header: BatchHeader, offset: int, marker: EndMarker) -> CompletedTransaction | None:
        """The transaction a marker at `offset` ends, if there is one; nothing is changed yet."""
        entry = self.entries.get(header.producer_id)
        if entry is None or entry.transaction_start == NO_OFFSET:
            return None
        others = (first for first, producer_id in self._open.items() if producer_id != entry.producer_id)
        stable = next(others, offset + 1)
        return CompletedTransaction(entry.producer_id, entry.transaction_start, offset, not marker.commit, stable)

    def replay(self, data: Buffer, start: int, end: int, header: BatchHeader) -> CompletedTransaction | None:
        """`update` for a batch read from a file or from the leader."""
        if header.producer_id == NO_PRODUCER_ID:
            return None
        marker = read_end_marker(data, start, end) if header.is_control else None
        return self.update(header, header.base_offset, header.max_timestamp, marker)

    def complete(self, completed: CompletedTransaction) -> None:
        """Forgets an open transaction, once its entry is in the transaction index."""
        self._open.pop(completed.first_offset, None)
        self.unreplicated[completed.first_offset] = completed.last_offset

    # ----------------------------------------------------------------------------------------------- verification

    def is_open(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has written here in a transaction that is not ended."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.transaction_start != NO_OFFSET and entry.epoch == epoch

    def verify(self, producer_id: int, epoch: int, sequence: int, *, adds_partition: bool, now_ms: int) -> Verification:
        """The coordinator is about to be asked whether this producer's transaction may write here."""
        verification = self._verifying.get(producer_id)
        if verification is None:
            verification = Verification(epoch, sequence, adds_partition=adds_partition, since_ms=now_ms)
            self._verifying[producer_id] = verification
        else:
            verification.asked_again(epoch, sequence)
        return verification

    def check_verified(self, producer_id: int, epoch: int, verification: Verification | None) -> None:
        """Whether what was known before still holds: the transaction has not been ended since it was found open, or
        since the coordinator was asked."""
        if self.is_open(producer_id, epoch):
            return
        if verification is None or self._verifying.get(producer_id) is not verification:
            self._refuse(ErrorCode.INVALID_TXN_STATE, f"The transaction of producer {producer_id} has been ended")

    # -------------------------------------------------------------------------------------------------- stability

    @property
    def first_unstable_offset(self) -> int | None:
        first = next(iter(self._open), None)
        if self.unreplicated:
            unreplicated = min(self.unreplicated)
            return unreplicated if first is None else min(first, unreplicated)
        return first

    def high_watermark_moved(self, high_watermark: int) -> None:
        if self.unreplicated:
            self.unreplicated = {first: last for first, last in self.unreplicated.items() if last >= high_watermark}

    def log_start_moved(self, log_start_offset: int) -> None:
        self.high_watermark_moved(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)
        self.snapshots.start_from(log_start_offset)

    @property
    def is_empty(self) -> bool:
        return not self.entries and not self._open and not self.unreplicated

    @property
    def open_transactions(self) -> dict[int, int]:
        """First offset → producer id."""
        return dict(self._open)

    def expire(self, now_ms: int) -> None:
        """Forgets producers that have been silent for `producer.id.expiration.ms` and have nothing open."""
        self.entries = {
            producer_id: entry
            for producer_id, entry in self.entries.items()
            if not entry.expired(now_ms, self._expiration_ms)
        }
        self._verifying = {
            producer_id: verification
            for producer_id, verification in self._verifying.items()
            if now_ms - verification.since_ms < self._expiration_ms
        }

    # -------------------------------------------------------------------------------------------------- snapshots

    def take_snapshot(self, *, sync: bool) -> None:
        """Writes the state as of `end_offset`, unless it is on disk already."""
        if self.end_offset > self.snapshots.latest_offset:
            self.snapshots.write(self.end_offset, self.entries.values(), sync=sync)

    def load(self, log_start_offset: int, now_ms: int) -> None:
        """Starts over from the newest snapshot; `end_offset` says how far it reaches."""
        self.clear()
        loaded = self.snapshots.load_latest()
        if loaded is None:
            self.snapshots.start_from(log_start_offset)
        self._begin_with(loaded, log_start_offset, now_ms)

    def aside(self, log_start_offset: int, end_offset: int, now_ms: int) -> ProducerState:
        """Another one that starts over like this one would if the log ended at `end_offset`; the files stay as they
        are, and it must not write any."""
        other = ProducerState(self._topic_partition, self.snapshots, self._expiration_ms)
        other._begin_with(self.snapshots.newest_within(log_start_offset, end_offset), log_start_offset, now_ms)
        return other

    def take_over(self, other: ProducerState, log_start_offset: int) -> None:
        """Becomes what another one, made `aside`, has come to."""
        self.entries, self._open, self.unreplicated = other.entries, other._open, other.unreplicated
        self.end_offset = other.end_offset
        self.snapshots.start_from(log_start_offset)

    def _begin_with(self, loaded: tuple[int, list[ProducerEntry]] | None, log_start_offset: int, now_ms: int) -> None:
        self.end_offset, entries = (log_start_offset, []) if loaded is None else loaded
        for entry in entries:
            if not entry.expired(now_ms, self._expiration_ms):
                self.entries[entry.producer_id] = entry
        started = (entry for entry in self.entries.values() if entry.transaction_start != NO_OFFSET)
        for entry in sorted(started, key=lambda entry: entry.transaction_start):
            self._open[entry.transaction_start] = entry.producer_id

    def restart_at(self, offset: int) -> None:
        """Forgets everything, snapshots included: the log begins anew at `offset`."""
        self.clear()
        for snapshot in list(self.snapshots.offsets):
            self.snapshots.remove(snapshot)
        self.end_offset = offset
        self.snapshots.start_from(offset)

    def clear(self) -> None:
        self.entries.clear()
        self._open.clear()
        self.unreplicated.clear()

    # --------------------------------------------------------------------------------------------------- details

    def _check_verified(self, entry: ProducerEntry | None, header: BatchHeader) -> WrittenBatch | None:
        """The first batch of a transaction; returns the batch it repeats, if it does."""
        verification = self._verifying.get(header.producer_id)
        if verification is None:
            return None
        sequence = header.base_sequence
        if entry is not None:
            repeated = entry.find(header.producer_epoch, sequence, header.last_sequence)
            if repeated is not None:
                return repeated
        if verification.adds_partition and sequence != 0 and (entry is None or not entry.batches):
            self._refuse(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {header.producer_id} began a transaction with sequence {sequence} instead of 0",
            )
        if sequence > verification.lowest_sequence:
            self._refuse(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {header.producer_id} sent sequence {sequence} before {verification.lowest_sequence}",
            )
        return None

    def _check_coordinator(self, entry: ProducerEntry, marker: EndMarker) -> None:
        if marker.coordinator_epoch < entry.coordinator_epoch:
            self._refuse(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"The marker for producer {entry.producer_id} comes from coordinator epoch "
                f"{marker.coordinator_epoch}; epoch {entry.coordinator_epoch} has taken over",
            )

    def _check_sequence(self, entry: ProducerEntry, header: BatchHeader) -> None:
        sequence = header.base_sequence
        if header.producer_epoch != entry.epoch:
            if sequence != 0 and entry.epoch != NO_PRODUCER_EPOCH:
                self._refuse(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"Producer {entry.producer_id} began epoch {header.producer_epoch} with sequence {sequence} "
                    "instead of 0",
                )
        elif sequence != entry.next_sequence:
            self._refuse(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {entry.producer_id} sent sequence {sequence} after {entry.last_sequence}",
            )

    def _check_transaction(self, entry: ProducerEntry, header: BatchHeader) -> None:
        if entry.transaction_start != NO_OFFSET and not header.is_transactional:
            self._refuse(
                ErrorCode.INVALID_TXN_STATE,
                f"Producer {entry.producer_id} wrote outside its transaction, open since offset "
                f"{entry.transaction_start}",
            )

    def _refuse(self, code: ErrorCode, sentence: str) -> None:
        raise KafkaError(code, f"{sentence} in {self._topic_partition}.")
