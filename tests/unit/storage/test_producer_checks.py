"""What a producer's books decide one at a time: what is stable, who is asked for sequences, what a marker ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from storage_kit import NOW, append, batch, marker, open_log

from moldau.errors import KafkaError
from moldau.protocol.records import encode_batch
from moldau.storage.log import Log, Origin
from moldau.storage.producer_state import read_end_marker


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_log(tmp_path)
    yield log
    log.close()


def write(log: Log, producer_id: int, sequence: int, *, epoch: int = 0, **more: Any) -> str:
    """One record of a transaction; nothing is replicated yet."""
    fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence, "is_transactional": True}
    data = batch(b"v", **{**fields, **more.pop("fields", {})})
    try:
        info = log.append_as_leader(data, 0, len(data), 1, **more)
    except KafkaError as error:
        return error.code.name
    return "again" if info.duplicate else "written"


def end(log: Log, producer_id: int, *, commit: bool = True, epoch: int = 0) -> None:
    data = marker(producer_id, epoch, commit=commit)
    log.append_as_leader(data, 0, len(data), 1, origin=Origin.COORDINATOR)


# ------------------------------------------------------------------------------------------------------------ stable


def test_a_decision_that_is_not_replicated_hides_no_older_transaction(log: Log) -> None:
    write(log, 1, 0)
    write(log, 2, 0)
    end(log, 2)
    log.local.advance_high_watermark(2)
    assert log.last_stable_offset == 0
    end(log, 1)
    log.local.advance_high_watermark(2)
    assert log.last_stable_offset == 0
    log.local.advance_high_watermark(3)
    assert log.last_stable_offset == 0, "the marker of producer 1 may still be lost"
    log.local.advance_high_watermark(4)
    assert log.last_stable_offset == 4


def test_a_marker_counts_when_the_high_watermark_has_passed_it(log: Log) -> None:
    write(log, 1, 0)
    end(log, 1)
    log.local.advance_high_watermark(1)
    assert log.last_stable_offset == 0
    log.local.advance_high_watermark(2)
    assert log.last_stable_offset == 2


def test_an_aborted_transaction_remembers_what_was_stable_then(log: Log) -> None:
    """A reader stops to look for aborted transactions where the offset before which all were decided says so."""
    write(log, 1, 0)
    write(log, 2, 0)
    end(log, 1, commit=False)
    end(log, 2, commit=False)
    aborted = list(log.segments.active.transaction_index.entries)
    assert [(one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset) for one in aborted] == [
        (1, 0, 2, 1),
        (2, 1, 3, 4),
    ]


def test_a_marker_that_ends_nothing_holds_nothing_back(log: Log) -> None:
    append(log, batch(b"v"))
    end(log, 7, commit=False)  # nobody knows this producer
    end(log, 7, commit=False)  # its transaction was ended before
    assert log.producers.first_unstable_offset is None
    assert log.producers.unreplicated == {}
    assert list(log.segments.active.transaction_index.entries) == []


# --------------------------------------------------------------------------------------------------------- sequences


def test_a_coordinator_writes_for_a_producer_without_its_sequences(log: Log) -> None:
    """Offsets that a producer commits in a transaction, again and again."""
    for _ in range(3):
        assert write(log, 7, -1, origin=Origin.COORDINATOR) == "written"
    assert log.producers.open_transactions == {0: 7}
    assert write(log, 7, -1, epoch=1, origin=Origin.COORDINATOR) == "written"
    assert write(log, 7, -1, epoch=0, origin=Origin.COORDINATOR) == "INVALID_PRODUCER_EPOCH"


def test_what_a_question_does_not_refuse_is_still_checked(log: Log) -> None:
    """A question to the coordinator is about one transaction. Epochs and sequences are the log's own."""
    assert write(log, 7, 0, epoch=5) == "written"
    end(log, 7, epoch=5)
    log.verify_producer(7, 5, 9, adds_partition=False)
    assert write(log, 7, 1, epoch=4) == "INVALID_PRODUCER_EPOCH"
    assert write(log, 7, 3, epoch=5) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert write(log, 7, 1, epoch=5) == "written"


def test_a_write_outside_of_transactions_answers_no_question(log: Log) -> None:
    asked = log.verify_producer(7, 0, 1, adds_partition=False)
    assert write(log, 7, 0, fields={"is_transactional": False}) == "written"
    log.producers.check_verified(7, 0, asked)
    assert write(log, 7, 1) == "written"


def test_inside_a_transaction_the_next_sequence_is_no_excuse(log: Log) -> None:
    write(log, 7, 0)
    assert write(log, 7, 1, fields={"is_transactional": False}) == "INVALID_TXN_STATE"
    assert write(log, 7, 0) == "again"


# ----------------------------------------------------------------------------------------------------------- markers


def control(key: bytes, value: bytes) -> bytes:
    return encode_batch([(NOW, key, value, ())], is_control=True, is_transactional=True, producer_id=7)


def test_only_two_kinds_of_control_records_end_a_transaction() -> None:
    for kind, commit in ((0, False), (1, True)):
        data = control(bytes([0, 0, 0, kind]), b"\0\0\0\0\0\5")
        assert read_end_marker(data, 0, len(data)) == (commit, 5, NOW)
    for kind in (2, 3, 4, 9):
        data = control(bytes([0, 0, 0, kind]), b"\0\0\0\0\0\5")
        assert read_end_marker(data, 0, len(data)) is None
    short = control(b"\0\0", b"")
    assert read_end_marker(short, 0, len(short)) is None
