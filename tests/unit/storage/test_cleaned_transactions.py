"""Which records and markers of transactions a compaction keeps, batch by batch."""

from __future__ import annotations

import struct
from typing import Any

from storage_kit import NOW

from moldau._speed import BatchHeader
from moldau.protocol.records import encode_batch, read_header
from moldau.storage.cleaned_transactions import CleanedTransactions
from moldau.storage.producer_state import EndMarker
from moldau.storage.transaction_index import AbortedTransaction

COMMIT, ABORT = EndMarker(True, 0, NOW), EndMarker(False, 0, NOW)


def at(offset: int, producer_id: int = 7, *, count: int = 1, **fields: Any) -> BatchHeader:
    fields = {"is_transactional": True, "producer_id": producer_id, "producer_epoch": 0, **fields}
    return read_header(encode_batch([(NOW, b"k", b"v", ())] * count, base_offset=offset, **fields))


def aborted(producer_id: int, first: int, last: int) -> AbortedTransaction:
    return AbortedTransaction(producer_id, first, last, last + 1)


def test_records_were_taken_back_from_the_first_of_a_transaction_to_its_marker() -> None:
    state = CleanedTransactions([aborted(7, 5, 9)])
    assert not state.is_aborted(at(3)), "a transaction before that, which was committed"
    assert not state.is_superfluous(at(4, is_control=True), COMMIT)
    assert state.is_aborted(at(5))
    assert not state.is_aborted(at(6, 8)), "somebody else's"
    assert not state.is_aborted(at(7, is_transactional=False))
    assert state.is_aborted(at(8))
    assert not state.is_superfluous(at(9, is_control=True), ABORT)
    assert state.take_retained() == [aborted(7, 5, 9)]
    assert state.take_retained() == []
    assert not state.is_aborted(at(10))


def test_a_transaction_may_begin_within_a_batch() -> None:
    """Compaction leaves the batch's last offset, whatever records it takes."""
    state = CleanedTransactions([aborted(7, 6, 9)])
    assert not state.is_aborted(at(3, count=3)), "it ends with offset 5"
    state = CleanedTransactions([aborted(7, 6, 9)])
    assert state.is_aborted(at(4, count=3))


def test_a_marker_whose_records_are_gone_is_superfluous() -> None:
    state = CleanedTransactions([aborted(7, 0, 4), aborted(8, 1, 5)])
    assert state.is_aborted(at(1, 8))
    assert state.is_superfluous(at(4, is_control=True), ABORT), "nothing of producer 7 was seen"
    assert not state.is_superfluous(at(5, 8, is_control=True), ABORT)
    assert state.is_superfluous(at(6, 8, is_control=True), ABORT), "it ends nothing"
    assert state.take_retained() == [aborted(8, 1, 5)]


def test_a_commit_is_superfluous_without_records_since_the_one_before() -> None:
    state = CleanedTransactions([])
    assert state.is_superfluous(at(0, is_control=True), COMMIT)
    assert not state.is_aborted(at(1))
    assert state.is_superfluous(at(2, 8, is_control=True), COMMIT)
    assert not state.is_superfluous(at(3, is_control=True), COMMIT)
    assert state.is_superfluous(at(4, is_control=True), COMMIT)


def test_one_producer_takes_back_one_transaction_after_the_other() -> None:
    first, second = aborted(7, 0, 2), aborted(7, 3, 5)
    state = CleanedTransactions([second, first, second])
    for begin, transaction in ((0, first), (3, second)):
        assert state.is_aborted(at(begin))
        assert not state.is_superfluous(at(begin + 2, is_control=True), ABORT)
        assert state.take_retained() == [transaction]


def test_a_marker_that_is_not_where_the_index_says_ends_there_all_the_same() -> None:
    state = CleanedTransactions([aborted(7, 0, 4)])
    assert state.is_aborted(at(0))
    assert state.is_aborted(at(4))
    assert not state.is_aborted(at(5))
    assert state.is_superfluous(at(6, is_control=True), ABORT)


def test_other_control_batches_go_when_they_are_empty() -> None:
    state = CleanedTransactions([])
    assert not state.is_superfluous(at(0, is_control=True), None)
    data = bytearray(encode_batch([(NOW, b"k", b"v", ())], base_offset=1, is_control=True, producer_id=7))
    struct.pack_into(">i", data, 57, 0)
    assert state.is_superfluous(read_header(data), None)
