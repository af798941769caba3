"""One partition as its follower: what it takes of an answer, and what it refuses."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import PartitionRegistration
from moldau.protocol.messages.fetch import EpochEndOffset, PartitionData
from moldau.protocol.records import Record, encode_batch
from moldau.replica.following import Following, portions
from moldau.replica.partition import Partition
from moldau.replica.source_session import Asked, SourceSession
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.slicing import Work, run_whole
from moldau.storage.batch_order import UnexpectedOffset
from moldau.storage.log import Log
from moldau.types import TopicPartition

ID = bytes(15) + b"\x07"


def batch(offset: int, epoch: int = 3, count: int = 1, value: bytes = b"value") -> bytes:
    records = [Record(index, 1_700_000_000_000, None, value, []) for index in range(count)]
    return encode_batch(records, base_offset=offset, partition_leader_epoch=epoch)


class Stage:
    """Broker 2 follows broker 1 in epoch 3."""

    def __init__(self, path: Path) -> None:
        self.log = Log.open(str(path / "orders-0"), LogConfig(), RealDisk(), SystemClock())
        self.partition = Partition(TopicPartition("orders", 0), ID, self.log, 2)
        self.follow(1, 3)
        self.following = Following(self.partition, 1 << 20)

    def follow(self, leader: int, epoch: int) -> None:
        self.partition.become_follower(PartitionRegistration((1, 2), (ID, ID), (1, 2), leader, epoch, epoch))

    def take(self, records: bytes = b"", high_watermark: int = 0, log_start: int = 0, **fields: Any) -> int:
        self.following.ask()
        return self.took(records, high_watermark, log_start, **fields)

    def took(self, records: bytes = b"", high_watermark: int = 0, log_start: int = 0, **fields: Any) -> int:
        data = PartitionData(high_watermark=high_watermark, log_start_offset=log_start, records=records, **fields)
        return run_whole(self.following.take(data))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.log.segments.release()


def test_records_are_appended_as_they_came(stage: Stage) -> None:
    records = batch(0, 1, 2) + batch(2, 3) + batch(7, 3)
    assert stage.take(records + batch(8)[:30], high_watermark=3) == len(records)
    log = stage.log
    assert log.segments.active.open_file().read(0, log.segments.active.size) == records
    assert (log.log_end_offset, log.high_watermark, log.log_start_offset) == (8, 3, 0)
    assert [tuple(entry) for entry in log.epochs.entries] == [(1, 0), (3, 2)]
    assert stage.following.ask() == Asked(8, 0, 3, 3, 1 << 20)
    assert stage.following.in_sync


def test_the_high_watermark_is_taken_over_as_far_as_the_log_reaches_and_never_back(stage: Stage) -> None:
    stage.take(batch(0, count=3), high_watermark=10)
    assert stage.log.high_watermark == 3
    assert not stage.following.in_sync
    stage.take(high_watermark=1)
    assert stage.log.high_watermark == 3


def test_the_start_is_taken_over_once_it_is_committed_here(stage: Stage) -> None:
    stage.take(batch(0, count=3), high_watermark=1, log_start=2)
    assert stage.log.log_start_offset == 0
    stage.take(high_watermark=3, log_start=2)
    assert stage.log.log_start_offset == 2


@pytest.mark.parametrize(("leader_start", "kept"), [(0, False), (2, True), (3, True)])
def test_a_log_that_lost_its_first_files_begins_anew(tmp_path: Path, leader_start: int, kept: bool) -> None:
    stage = Stage(tmp_path)
    for offset in range(4):
        if offset == 2:
            stage.log.local.roll()
        stage.take(batch(offset), high_watermark=4)
    stage.log.segments.release()
    # Its name was not on disk when the power went.
    (tmp_path / "orders-0" / f"{0:020}.log").unlink()
    stage.log = Log.open(
        str(tmp_path / "orders-0"), LogConfig(), RealDisk(), SystemClock(), recovery_point=0, clean_shutdown=False
    )
    assert (stage.log.log_start_offset, stage.log.log_end_offset) == (2, 4)
    stage.partition = Partition(TopicPartition("orders", 0), ID, stage.log, 2)
    stage.follow(1, 3)
    stage.following = Following(stage.partition, 1 << 20)
    assert stage.following.lacks_beginning
    stage.following.begin_with(leader_start)
    assert not stage.following.lacks_beginning
    if kept:
        stage.take(high_watermark=4, log_start=leader_start)
    assert (stage.log.log_start_offset, stage.log.log_end_offset) == ((leader_start, 4) if kept else (0, 0))
    stage.log.segments.release()


def test_an_answer_to_no_question_is_nothing(stage: Stage) -> None:
    assert stage.took(batch(0), high_watermark=1) == 0
    stage.following.ask()
    stage.follow(3, 4)
    assert stage.took(batch(0), high_watermark=1) == 0, "the leader asked is not the leader any more"
    assert (stage.log.log_end_offset, stage.log.high_watermark) == (0, 0)


def test_an_answer_to_an_earlier_question_is_nothing(stage: Stage) -> None:
    stage.following.ask()
    stage.log.append_as_follower(memoryview(batch(0)), 0, len(batch(0)))
    assert stage.took(batch(1), high_watermark=1) == 0
    assert (stage.log.log_end_offset, stage.log.high_watermark) == (1, 0)
    stage.following.ask()
    stage.log.append_as_follower(memoryview(batch(1)), 0, len(batch(1)))
    assert stage.took(diverging_epoch=EpochEndOffset(epoch=3, end_offset=1)) == 0
    assert stage.log.log_end_offset == 2, "of the same epoch"
    # The same where only the epochs are others, after a cut that found no records.
    stage.following.ask()
    stage.log.epochs.assign(4, 2)
    assert stage.took(batch(2), high_watermark=1) == 0
    assert stage.log.log_end_offset == 2


def by_a_producer(offset: int, epoch: int) -> bytes:
    record = Record(0, 1_700_000_000_000, None, b"value", [])
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": offset}
    return encode_batch([record], base_offset=offset, partition_leader_epoch=epoch, **fields)


@pytest.mark.parametrize("why", ["another history", "beyond the leader's end"])
@pytest.mark.parametrize("change", [None, "another leader", "more records"])
def test_a_cut_that_takes_long_is_made_at_once_or_not_at_all(stage: Stage, why: str, change: str | None) -> None:
    """Whoever leads next must not find producers that the log does not have, or has and they do not say so."""
    for offset in range(200):
        stage.take(by_a_producer(offset, 2 if offset < 150 else 3))
    asked = PartitionData(diverging_epoch=EpochEndOffset(epoch=2, end_offset=150))
    stage.following.ask()
    work: Work[Any] = stage.following.take(asked)
    if why == "beyond the leader's end":
        work = stage.following.out_of_range(0, 150)
    for _ in range(2):
        next(work)
        assert (stage.log.log_end_offset, stage.log.producers.entries[7].last_sequence) == (200, 199)
    if change == "another leader":
        stage.follow(1, 4)
    elif change == "more records":
        data = memoryview(by_a_producer(200, 3))
        stage.log.append_as_follower(data, 0, len(data))
    run_whole(work)
    end = {None: 150, "another leader": 200, "more records": 201}[change]
    assert (stage.log.log_end_offset, stage.log.producers.entries[7].last_sequence) == (end, end - 1)


def test_what_a_deposed_leader_sends_of_a_later_epoch_is_refused(stage: Stage) -> None:
    """Its file was cut and written anew before the records left: they are not those it had looked up."""
    with pytest.raises(KafkaError) as refused:
        stage.take(batch(0, 3) + batch(1, 4))
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    assert stage.log.log_end_offset == 0


def test_damaged_records_are_refused(stage: Stage) -> None:
    damaged = bytearray(batch(0))
    damaged[-1] ^= 1
    with pytest.raises(KafkaError) as refused:
        stage.take(bytes(damaged))
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    with pytest.raises(KafkaError):
        stage.take(struct.pack(">qi", 0, -20) + bytes(60))
    assert stage.log.log_end_offset == 0


def test_offsets_that_are_there_already_are_refused(stage: Stage) -> None:
    stage.take(batch(0, count=2))
    with pytest.raises(UnexpectedOffset):
        stage.take(batch(1))
    assert stage.log.log_end_offset == 2


def test_nothing_is_appended_once_it_follows_another(stage: Stage) -> None:
    """Between two portions the metadata may come."""
    records = b"".join(batch(offset, value=b"x" * 20_000) for offset in range(4))
    stage.following.ask()
    work = stage.following.take(PartitionData(high_watermark=4, records=records))
    next(work)
    end = stage.log.log_end_offset
    assert 0 < end < 4
    stage.follow(3, 4)
    run_whole(work)
    assert (stage.log.log_end_offset, stage.log.high_watermark) == (end, 0)


def test_nothing_is_appended_once_it_is_given_up(stage: Stage) -> None:
    """Between two portions the topic may be deleted: its files are somebody else's then."""
    records = b"".join(batch(offset, value=b"x" * 20_000) for offset in range(4))
    stage.following.ask()
    work = stage.following.take(PartitionData(high_watermark=4, records=records))
    next(work)
    end = stage.log.log_end_offset
    stage.partition.is_released = True
    run_whole(work)
    assert (stage.log.log_end_offset, stage.log.high_watermark) == (end, 0)
    stage.following.ask()
    assert stage.took(diverging_epoch=EpochEndOffset(epoch=2, end_offset=0)) == 0
    assert stage.log.log_end_offset == end


def test_nothing_is_cut_or_taken_over_once_it_follows_another(stage: Stage) -> None:
    stage.take(batch(0, count=3))
    stage.following.ask()
    stage.follow(3, 4)
    assert stage.took(high_watermark=3, diverging_epoch=EpochEndOffset(epoch=3, end_offset=0)) == 0
    assert stage.took(high_watermark=3) == 0
    assert (stage.log.log_end_offset, stage.log.high_watermark) == (3, 0)


def test_a_log_that_left_the_leaders_is_cut_where_they_part(stage: Stage) -> None:
    stage.take(batch(0, 1, 3) + batch(3, 2, 3) + batch(6, 3, 2), high_watermark=1)
    diverging = {"diverging_epoch": EpochEndOffset(epoch=2, end_offset=4)}
    assert stage.take(batch(8), 8, **diverging) == 0, "nothing else in the answer counts"
    # A batch goes as a whole.
    assert (stage.log.log_end_offset, stage.log.high_watermark, stage.log.epochs.latest_epoch) == (3, 1, 1)


def test_an_epoch_we_do_not_know_cuts_all_that_is_newer(stage: Stage) -> None:
    stage.take(batch(0, 1, 3) + batch(3, 3) + batch(4, 3) + batch(5, 3))
    stage.take(diverging_epoch=EpochEndOffset(epoch=2, end_offset=5))
    assert (stage.log.log_end_offset, stage.log.epochs.latest_epoch) == (3, 1)


def test_an_epoch_that_began_without_records_is_cut_too(stage: Stage) -> None:
    stage.take(batch(0, 1, 3))
    stage.log.epochs.assign(2, 3)
    stage.take(diverging_epoch=EpochEndOffset(epoch=1, end_offset=3))
    assert (stage.log.log_end_offset, stage.log.epochs.latest_epoch) == (3, 1)
    with pytest.raises(KafkaError):
        # Else the same question would be asked for ever.
        stage.take(diverging_epoch=EpochEndOffset(epoch=1, end_offset=3))


def test_a_leader_that_begins_and_ends_around_us_changes_nothing(stage: Stage) -> None:
    stage.take(batch(0, 1, 3))
    assert not run_whole(stage.following.out_of_range(0, 5))
    assert not run_whole(stage.following.out_of_range(3, 3))
    assert stage.log.log_end_offset == 3
    assert run_whole(stage.following.out_of_range(4, 9))
    assert (stage.log.log_start_offset, stage.log.log_end_offset) == (4, 4)


def test_portions_are_whole_batches() -> None:
    small, large = batch(0), batch(1, value=b"x" * 500)
    data = memoryview(small * 3 + large + small + small[:20])
    size = len(small)
    ends = [size * 2, size * 3, size * 3 + len(large), size * 4 + len(large)]
    assert list(portions(data, size * 2)) == list(zip([0, *ends], ends, strict=False))
    assert list(portions(data, 10**6)) == [(0, ends[-1])]
    assert list(portions(data[:0], 10)) == list(portions(data[:10], 10)) == list(portions(data[: size - 1], 10)) == []


# ------------------------------------------------------------------------------------------------------------ sessions


def test_a_session_names_what_changed() -> None:
    session = SourceSession()
    one, two = (ID, 0), (ID, 1)
    first, moved = Asked(0, 0, 1, -1, 10), Asked(5, 0, 1, 1, 10)
    assert (dict(session.next({one: first, two: first})[0]), session.id, session.epoch) == (
        {one: first, two: first},
        0,
        0,
    )
    assert session.answered(0, 77)
    assert (session.id, session.epoch) == (77, 1)
    named, forgotten = session.next({one: moved, two: first})
    assert (list(named), forgotten) == ([(one, moved)], [])
    assert session.answered(0, 77)
    named, forgotten = session.next({one: moved})
    assert (list(named), forgotten, session.epoch) == ([], [two], 2)
    # Without an answer nobody knows what the other end has heard: all is said again, and the old session closed.
    session.lost()
    named, forgotten = session.next({one: moved})
    assert (list(named), forgotten, session.id, session.epoch) == ([(one, moved)], [], 77, 0)
    assert not session.answered(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    assert (session.id, session.epoch) == (0, 0)


def test_a_broker_without_room_for_a_session_is_told_everything_each_time() -> None:
    session = SourceSession()
    asked = {(ID, 0): Asked(0, 0, 1, -1, 10)}
    for _ in range(2):
        assert dict(session.next(asked)[0]) == asked
        assert session.answered(0, 0)
        assert (session.id, session.epoch) == (0, 0)
