"""Idempotence and transactions as transcripts: what a producer sends, and what the log answers, line by line."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from storage_kit import NOW, StoppedClock, append, batch, marker, names_in, open_log

from moldau._speed import crc32c
from moldau.config.topic import LogConfig
from moldau.errors import KafkaError
from moldau.storage.log import Log, Origin
from moldau.storage.producer_entry import ProducerEntry, WrittenBatch
from moldau.storage.producer_snapshot import CorruptSnapshot, decode_snapshot, encode_snapshot

DAY = 86_400_000


class Play:
    """Reads a transcript, does what it says, and writes down the answers.

    send P.E seq S [xN] [txn]     producer P with epoch E sends N records from sequence S on
    commit|abort P.E [by C]       the coordinator of epoch C ends the transaction
    plain                         a record without a producer
    roll, reopen, crash           the log
    hw                            the high watermark stays where it is until said otherwise: `hw N`
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._clock = StoppedClock()
        self._log = open_log(path, clock=self._clock)
        self._follows = True

    def run(self, transcript: str) -> str:
        lines = [line.split("→")[0].rstrip() for line in transcript.strip().splitlines()]
        width = max(map(len, lines)) + 1
        return "\n".join(f"{line:{width}}→ {self._answer(line.split())}".rstrip() for line in lines)

    def close(self) -> None:
        self._log.segments.release()

    def _answer(self, words: list[str]) -> str:
        try:
            return self._perform(*words)
        except KafkaError as error:
            return error.code.name

    def _perform(self, action: str, *words: str) -> str:
        if action == "hw":
            self._follows = False
            self._log.local.advance_high_watermark(int(words[0]))
            return f"stable {self._log.last_stable_offset}"
        if action == "wait":
            self._clock.now += int(words[0])
            self._log.producers.expire(self._clock.now)
            return f"{len(self._log.producers.entries)} producers"
        if action == "truncate":
            self._log.local.truncate_to(int(words[0]))
            return f"ends at {self._log.log_end_offset}, stable {self._log.last_stable_offset}"
        if action in ("roll", "reopen", "crash"):
            return self._life(action)
        if action == "read":
            read = self._log.read(
                int(words[0]), 1 << 20, self._log.last_stable_offset, at_least_one=True, committed=True
            )
            return f"aborted {read.aborted}"
        return self._write(action, *words)

    def _write(self, action: str, *words: str) -> str:
        log = self._log
        if action == "plain":
            data, origin = batch(b"v"), Origin.CLIENT
        else:
            producer_id, epoch = map(int, words[0].split("."))
            if action == "send":
                count = next((int(word[1:]) for word in words if word[0] == "x"), 1)
                values = [b"v"] * count
                sequence = int(words[2])
                data = batch(
                    *values,
                    timestamp=self._clock.now,
                    producer_id=producer_id,
                    producer_epoch=epoch,
                    base_sequence=sequence,
                    is_transactional="txn" in words,
                )
                origin = Origin.CLIENT
            else:
                coordinator = int(words[2]) if "by" in words else 0
                data = marker(producer_id, epoch, commit=action == "commit", coordinator_epoch=coordinator)
                origin = Origin.COORDINATOR
        info = log.append_as_leader(data, 0, len(data), 1, origin=origin)
        if self._follows:
            log.local.advance_high_watermark(log.log_end_offset)
        again = " again" if info.duplicate else ""
        last = f"..{info.last_offset}" if info.last_offset > info.base_offset else ""
        stable = "" if log.last_stable_offset == log.high_watermark else f", stable {log.last_stable_offset}"
        return f"{info.base_offset}{last}{again}{stable}"

    def _life(self, action: str) -> str:
        if action == "roll":
            self._log.local.roll()
            return ""
        start, point, mark = self._log.log_start_offset, self._log.durability.recovery_point, self._log.high_watermark
        if action == "reopen":
            self._log.close()
        else:
            self._log.segments.release()
        self._log = open_log(
            self._path,
            clean_shutdown=action == "reopen",
            log_start_offset=start,
            recovery_point=point,
            clock=self._clock,
        )
        self._log.local.advance_high_watermark(mark)
        return f"ends at {self._log.log_end_offset}, stable {self._log.last_stable_offset}"


@pytest.fixture
def play(tmp_path) -> Iterator[Play]:
    play = Play(tmp_path)
    yield play
    play.close()


def check(play: Play, transcript: str) -> None:
    expected = "\n".join(line.strip() for line in transcript.strip().splitlines())
    assert play.run(expected) == expected


def test_sequences(play):
    check(
        play,
        """
        send 7.0 seq 0 x3 → 0..2
        send 7.0 seq 3    → 3
        send 7.0 seq 5    → OUT_OF_ORDER_SEQUENCE_NUMBER
        send 7.0 seq 4    → 4
        plain             → 5
        send 8.0 seq 0    → 6
        send 7.0 seq 5    → 7
        """,
    )


def test_repeated_batches_get_their_old_offsets(play):
    check(
        play,
        """
        send 7.0 seq 0 x2 → 0..1
        send 7.0 seq 2 x2 → 2..3
        send 7.0 seq 4 x2 → 4..5
        send 7.0 seq 0 x2 → 0..1 again
        send 7.0 seq 4 x2 → 4..5 again
        send 7.0 seq 6    → 6
        send 7.0 seq 7    → 7
        send 7.0 seq 0 x2 → 0..1 again
        send 7.0 seq 8    → 8
        send 7.0 seq 0 x2 → OUT_OF_ORDER_SEQUENCE_NUMBER
        send 7.0 seq 2 x2 → 2..3 again
        send 7.0 seq 2    → OUT_OF_ORDER_SEQUENCE_NUMBER
        send 7.0 seq 9    → 9
        """,
    )


def test_epochs_of_a_producer(play):
    check(
        play,
        """
        send 7.1 seq 0 → 0
        send 7.0 seq 1 → INVALID_PRODUCER_EPOCH
        send 7.2 seq 5 → OUT_OF_ORDER_SEQUENCE_NUMBER
        send 7.2 seq 0 → 1
        send 7.1 seq 1 → INVALID_PRODUCER_EPOCH
        send 7.1 seq 0 → INVALID_PRODUCER_EPOCH
        send 7.2 seq 0 → 1 again
        """,
    )


def test_a_producer_nobody_remembers_may_go_on_anywhere(play):
    check(
        play,
        """
        send 7.3 seq 100 → 0
        send 7.3 seq 101 → 1
        """,
    )


def test_after_the_largest_sequence_comes_zero(play):
    check(
        play,
        """
        send 7.0 seq 2147483646 x2 → 0..1
        send 7.0 seq 0             → 2
        send 7.0 seq 2147483646 x2 → 0..1 again
        send 9.0 seq 2147483646 x4 → 3..6
        send 9.0 seq 2             → 7
        send 9.0 seq 2147483646 x4 → 3..6 again
        """,
    )


def test_what_survives(play):
    check(
        play,
        """
        send 7.0 seq 0    → 0
        send 7.0 seq 1 x2 → 1..2
        reopen            → ends at 3, stable 3
        send 7.0 seq 1 x2 → 1..2 again
        send 7.0 seq 4    → OUT_OF_ORDER_SEQUENCE_NUMBER
        send 7.0 seq 3    → 3
        roll              →
        send 7.0 seq 4    → 4
        crash             → ends at 5, stable 5
        send 7.0 seq 4    → 4 again
        send 7.0 seq 5    → 5
        truncate 3        → ends at 3, stable 3
        send 7.0 seq 5    → OUT_OF_ORDER_SEQUENCE_NUMBER
        send 7.0 seq 3    → 3
        """,
    )


def test_producers_expire(play):
    check(
        play,
        """
        send 7.0 seq 0     → 0
        send 8.0 seq 0 txn → 1, stable 1
        wait 86399999      → 2 producers
        wait 1             → 1 producers
        send 7.0 seq 9     → 2, stable 1
        """,
    )


def test_transactions_hold_back_the_stable_offset(play):
    check(
        play,
        """
        send 1.0 seq 0 txn → 0, stable 0
        plain              → 1, stable 0
        send 2.0 seq 0 txn → 2, stable 0
        commit 1.0         → 3, stable 2
        send 1.0 seq 1 txn → 4, stable 2
        abort 2.0          → 5, stable 4
        read 0             → aborted [(2, 2)]
        commit 1.0         → 6
        read 0             → aborted [(2, 2)]
        read 6             → aborted []
        """,
    )


def test_a_decision_counts_when_its_marker_is_replicated(play):
    check(
        play,
        """
        hw 0               → stable 0
        send 1.0 seq 0 txn → 0
        hw 1               → stable 0
        commit 1.0         → 1, stable 0
        hw 1               → stable 0
        hw 2               → stable 2
        """,
    )


def test_rules_inside_transactions(play):
    check(
        play,
        """
        send 1.0 seq 0 txn → 0, stable 0
        send 1.0 seq 1     → INVALID_TXN_STATE
        commit 1.0 by 3    → 1
        commit 1.0 by 2    → TRANSACTION_COORDINATOR_FENCED
        send 1.0 seq 1     → 2
        abort 1.1 by 3     → 3
        send 1.0 seq 2     → INVALID_PRODUCER_EPOCH
        send 1.1 seq 0 txn → 4, stable 4
        abort 1.0 by 3     → INVALID_PRODUCER_EPOCH
        """,
    )


def test_transactions_survive(play):
    check(
        play,
        """
        send 1.0 seq 0 txn → 0, stable 0
        send 2.0 seq 0 txn → 1, stable 0
        abort 2.0          → 2, stable 0
        roll               →
        send 3.0 seq 0 txn → 3, stable 0
        crash              → ends at 4, stable 0
        abort 1.0          → 4, stable 3
        reopen             → ends at 5, stable 3
        read 0             → aborted [(2, 1), (1, 0)]
        truncate 4         → ends at 4, stable 0
        read 0             → aborted []
        commit 1.0         → 4, stable 3
        abort 3.0          → 5
        read 3             → aborted [(3, 3)]
        """,
    )


def test_an_empty_transaction_is_not_entered(play):
    check(
        play,
        """
        abort 1.0          → 0
        send 1.0 seq 0 txn → 1, stable 1
        abort 1.0          → 2
        read 0             → aborted [(1, 1)]
        """,
    )


def test_followers_keep_the_same_books(tmp_path):
    leader = open_log(tmp_path / "leader")
    for sequence in range(3):
        append(leader, batch(b"v", producer_id=4, producer_epoch=0, base_sequence=sequence, is_transactional=True))
    append(leader, marker(4, 0, commit=False), origin=Origin.COORDINATOR)
    data = memoryview(bytearray(leader.read(0, 1 << 20, 4, at_least_one=True).records.read()))
    follower = open_log(tmp_path / "follower")
    follower.append_as_follower(data, 0, len(data))
    follower.local.advance_high_watermark(4)
    assert follower.producers.entries[4].last_sequence == 2
    assert follower.last_stable_offset == 4
    assert follower.segments.aborted_between(0, 4) == leader.segments.aborted_between(0, 4) != []
    leader.close()
    follower.close()


# ---------------------------------------------------------------------------------------------------------- snapshots


def entry(producer_id: int, **fields: int) -> ProducerEntry:
    made = ProducerEntry(producer_id, fields.pop("epoch", 0))
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_the_snapshot_is_kafkas():
    first = entry(7, epoch=2, last_timestamp=99, coordinator_epoch=5, transaction_start=40)
    first.add(WrittenBatch(10, 50, 3, 99))
    rows = struct.pack(">i", 2)
    rows += struct.pack(">qhiqiqiq", 7, 2, 10, 50, 3, 99, 5, 40)
    rows += struct.pack(">qhiqiqiq", 8, 0, -1, -1, 0, -1, -1, -1)
    data = encode_snapshot([first, entry(8)])
    assert data == struct.pack(">hI", 1, crc32c(rows)) + rows
    again, empty = decode_snapshot(data)
    assert (again.epoch, list(again.batches), again.transaction_start) == (2, [WrittenBatch(10, 50, 3, 99)], 40)
    assert (empty.last_sequence, empty.transaction_start, list(empty.batches)) == (-1, -1, [])


def test_every_byte_of_a_snapshot_counts():
    made = entry(7)
    made.add(WrittenBatch(1, 2, 0, 3))
    data = encode_snapshot([made])
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 0x10
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(bytes(changed))
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(data[:position])


def snapshots(path: Path) -> list[int]:
    return [int(name[:20]) for name in names_in(path / "orders-0") if name.endswith(".snapshot")]


def producing(path: Path, **more) -> Log:
    log = open_log(path, LogConfig(file_delete_delay_ms=0), **more)
    for sequence in range(6):
        append(log, batch(b"v", producer_id=1, producer_epoch=0, base_sequence=sequence))
        if sequence in (1, 3):
            log.local.roll()
    return log


def test_snapshots_stand_at_the_start_of_segments_and_at_a_clean_end(tmp_path):
    log = producing(tmp_path)
    assert snapshots(tmp_path) == [2, 4]
    log.close()
    assert snapshots(tmp_path) == [2, 4, 6]
    again = open_log(tmp_path)
    assert again.producers.entries[1].last_sequence == 5
    append(again, batch(b"v"))
    again.close()
    assert snapshots(tmp_path) == [2, 4, 6, 7]
    open_log(tmp_path).close()
    assert snapshots(tmp_path) == [2, 4, 7]


def test_a_damaged_snapshot_is_dropped_and_the_log_read_instead(tmp_path):
    producing(tmp_path).close()
    path = tmp_path / "orders-0" / f"{6:020d}.snapshot"
    path.write_bytes(path.read_bytes()[:-1])
    log = open_log(tmp_path)
    assert log.producers.entries[1].last_sequence == 5
    assert snapshots(tmp_path) == [2, 4]
    log.close()


def test_expired_producers_are_not_loaded(tmp_path):
    producing(tmp_path).close()
    log = open_log(tmp_path, clock=StoppedClock(NOW + DAY))
    assert log.producers.entries == {}
    log.close()


def test_control_records_that_end_nothing_have_no_sequence_and_no_transaction(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fields = {"producer_id": 7, "producer_epoch": 0}
    append(log, batch(b"v", **fields, base_sequence=0, is_transactional=True))
    append(log, batch(b"not a marker", **fields, is_control=True), origin=Origin.COORDINATOR)
    assert log.producers.open_transactions == {0: 7}
    assert log.log_end_offset == 2
    log.close()


def test_records_without_a_producer_leave_no_trace(tmp_path: Path) -> None:
    leader, follower = open_log(tmp_path / "leader"), open_log(tmp_path / "follower")
    append(leader, batch(b"v"))
    assert leader.producers.is_empty
    copy = memoryview(bytearray(leader.segments.active.open_file().read(0, leader.segments.size)))
    follower.append_as_follower(copy, 0, len(copy))
    assert follower.producers.is_empty
    leader.close()
    follower.close()


def test_a_state_is_empty_only_without_producers_transactions_and_markers(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    state = log.producers
    assert state.is_empty
    append(log, batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    assert not state.is_empty
    entries = dict(state.entries)
    state.entries.clear()
    assert not state.is_empty  # its transaction is open
    state.entries.update(entries)
    ended = marker(7, 0, commit=True)
    log.append_as_leader(ended, 0, len(ended), 0, origin=Origin.COORDINATOR)
    state.entries.clear()
    assert not state.is_empty  # its marker is not replicated yet
    log.local.advance_high_watermark(log.log_end_offset)
    assert state.is_empty
    log.close()


def test_a_batch_that_only_ends_like_an_earlier_one_is_another(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fields = {"producer_id": 7, "producer_epoch": 0}
    append(log, batch(b"a", b"b", **fields, base_sequence=0))
    with pytest.raises(KafkaError, match="sequence 1 after 1"):
        append(log, batch(b"b", **fields, base_sequence=1))
    log.close()


# --------------------------------------------------------------------------------------------------- verification


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_log(tmp_path)
    yield log
    log.close()


def write(log: Log, sequence: int, *, epoch: int = 0, transactional: bool = True) -> str:
    """What becomes of one record of producer 7."""
    fields = {"producer_id": 7, "producer_epoch": epoch, "base_sequence": sequence}
    try:
        append(log, batch(b"v", is_transactional=transactional, **fields))
    except KafkaError as error:
        return error.code.name
    return "NONE"


def end(log: Log, *, epoch: int = 0) -> None:
    append(log, marker(7, epoch, commit=False), origin=Origin.COORDINATOR)


def test_a_transaction_of_version_2_begins_with_sequence_0(log):
    log.verify_producer(7, 0, 3, adds_partition=True)
    assert write(log, 3) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    log.verify_producer(7, 0, 0, adds_partition=True)
    assert write(log, 0) == "NONE"
    assert write(log, 1) == "NONE"


def test_one_of_version_1_may_go_on_anywhere(log):
    """Its epoch may have written before what has been deleted since."""
    log.verify_producer(7, 0, 3, adds_partition=False)
    assert write(log, 3) == "NONE"


def test_nobody_overtakes_a_batch_that_was_refused_while_the_coordinator_was_asked(log):
    log.verify_producer(7, 0, 2, adds_partition=False)
    log.verify_producer(7, 0, 5, adds_partition=False)
    assert write(log, 5) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    log.verify_producer(7, 0, 1, adds_partition=False)
    assert write(log, 2) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert write(log, 1) == "NONE"


def test_a_new_epoch_is_a_new_question(log):
    log.verify_producer(7, 0, 2, adds_partition=False)
    log.verify_producer(7, 1, 4, adds_partition=False)
    assert write(log, 4, epoch=1) == "NONE"
    log.verify_producer(8, 5, 4, adds_partition=False)
    assert log.verify_producer(8, 4, 0, adds_partition=False).lowest_sequence == 4


def test_a_repeated_batch_is_known_whatever_was_asked(log):
    log.verify_producer(7, 0, 0, adds_partition=True)
    assert write(log, 0) == "NONE"
    end(log)
    log.verify_producer(7, 0, 1, adds_partition=True)
    first = append(log, batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    assert (first.duplicate, first.base_offset) == (True, 0)


def test_so_is_one_behind_the_first_that_was_asked_for(log):
    """Both batches of an earlier transaction come again after their answers were lost."""
    log.verify_producer(7, 0, 0, adds_partition=False)
    assert [write(log, 0), write(log, 1)] == ["NONE", "NONE"]
    end(log)
    log.verify_producer(7, 0, 0, adds_partition=False)
    second = append(log, batch(b"v", producer_id=7, producer_epoch=0, base_sequence=1, is_transactional=True))
    assert (second.duplicate, second.base_offset) == (True, 1)


def test_later_transactions_of_the_same_epoch_go_on_counting(log):
    log.verify_producer(7, 0, 0, adds_partition=True)
    assert write(log, 0) == "NONE"
    end(log)
    log.verify_producer(7, 0, 1, adds_partition=True)
    assert write(log, 1) == "NONE"


def test_after_a_marker_of_the_next_epoch_sequences_begin_anew(log):
    log.verify_producer(7, 0, 0, adds_partition=True)
    assert write(log, 0) == "NONE"
    end(log, epoch=1)
    log.verify_producer(7, 1, 1, adds_partition=True)
    assert write(log, 1, epoch=1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    log.verify_producer(7, 1, 0, adds_partition=True)
    assert write(log, 0, epoch=1) == "NONE"


def holds(log: Log, verification, *, epoch: int = 0) -> str:
    try:
        log.producers.check_verified(7, epoch, verification)
    except KafkaError as error:
        return error.code.name
    return "NONE"


def test_an_answer_holds_until_the_transaction_is_ended(log):
    asked = log.verify_producer(7, 0, 0, adds_partition=False)
    assert holds(log, asked) == "NONE"
    end(log)
    assert holds(log, asked) == "INVALID_TXN_STATE"
    again = log.verify_producer(7, 0, 0, adds_partition=False)
    assert (holds(log, asked), holds(log, again)) == ("INVALID_TXN_STATE", "NONE")
    assert write(log, 0) == "NONE"
    assert holds(log, again) == "NONE"  # the transaction is open now
    assert holds(log, None) == "NONE"
    assert holds(log, None, epoch=1) == "INVALID_TXN_STATE"
    end(log)
    assert (holds(log, again), holds(log, None)) == ("INVALID_TXN_STATE", "INVALID_TXN_STATE")


def test_questions_are_those_of_one_producer(log):
    log.verify_producer(8, 0, 0, adds_partition=True)
    assert write(log, 3) == "NONE"
    assert log.producers.is_open(7, 0)
    assert not log.producers.is_open(7, 1)
    assert not log.producers.is_open(8, 0)


def test_questions_that_nobody_followed_up_expire(log):
    log.verify_producer(7, 0, 0, adds_partition=True)
    log.producers.expire(NOW + DAY - 1)
    assert write(log, 3) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    log.producers.expire(NOW + DAY)
    assert write(log, 3) == "NONE"


def test_coordinators_are_not_asked_for_sequences(log):
    log.verify_producer(7, 0, 0, adds_partition=True)
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 5, "is_transactional": True}
    append(log, batch(b"v", **fields), origin=Origin.COORDINATOR)
