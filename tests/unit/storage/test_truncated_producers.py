"""A cut log's producers are found before the cut, some batches at a time, and are what reading all of it would give."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from storage_kit import NOW, append, batch, marker, open_log

from moldau.slicing import run_whole
from moldau.storage.log import Log, Origin
from moldau.storage.producer_snapshot import encode_snapshot


def write(log: Log, data: memoryview, origin: Origin = Origin.CLIENT) -> None:
    log.append_as_leader(data, 0, len(data), 1, origin=origin)


def filled(path: Path, seed: int, steps: int = 60) -> Log:
    """A log of some producers, whose transactions end or stay open, in segments that have snapshots or lost them."""
    chance = Random(seed)
    path.mkdir()
    log = open_log(path)
    sequences = dict.fromkeys(range(1, 5), 0)
    is_open: set[int] = set()
    for _ in range(steps):
        kind, producer = chance.randrange(10), chance.choice(list(sequences))
        if kind < 6:
            values = [b"v"] * chance.randint(1, 3)
            is_transactional = producer > 2
            fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequences[producer]}
            write(log, batch(*values, timestamp=NOW, is_transactional=is_transactional, **fields))
            sequences[producer] += len(values)
            if is_transactional:
                is_open.add(producer)
        elif kind == 6 and is_open:
            ended = chance.choice(sorted(is_open))
            is_open.discard(ended)
            write(log, marker(ended, 0, commit=chance.random() < 0.5), Origin.COORDINATOR)
        elif kind == 7:
            log.local.roll()
        elif kind == 8:
            log.local.advance_high_watermark(chance.randint(log.high_watermark, log.log_end_offset))
        else:
            write(log, batch(b"plain", timestamp=NOW))
    for offset in list(log.producers.snapshots.offsets):
        if chance.random() < 0.3:
            log.producers.snapshots.remove(offset)
    return log


def state_of(log: Log) -> object:
    producers = log.producers
    return (
        encode_snapshot(sorted(producers.entries.values(), key=lambda entry: entry.producer_id)),
        list(producers.open_transactions.items()),
        producers.unreplicated,
        producers.end_offset,
        producers.snapshots.offsets,
        producers.snapshots.latest_offset,
        log.log_end_offset,
        log.last_stable_offset,
    )


@pytest.mark.parametrize("seed", range(12))
def test_they_are_what_reading_the_log_would_give(tmp_path: Path, seed: int) -> None:
    chance = Random(f"cuts {seed}")
    logs = [filled(tmp_path / name, seed) for name in ("whole", "sliced")]
    whole, sliced = logs
    assert state_of(whole) == state_of(sliced)
    for offset in sorted((chance.randrange(whole.log_end_offset) for _ in range(4)), reverse=True):
        before = state_of(sliced)
        prepared = run_whole(sliced.local.producers_after_cut(offset))
        assert prepared is not None or whole.producers.is_empty or offset >= whole.log_end_offset
        assert state_of(sliced) == before
        whole.local.truncate_to(offset)
        sliced.local.truncate_to(offset, prepared)
        assert state_of(sliced) == state_of(whole)
        for log in logs:
            # What was cut off is gone: its sequences can be written again, and each of the logs knows its producers.
            write(log, batch(b"new", timestamp=NOW, producer_id=9, producer_epoch=0, base_sequence=0))
        assert state_of(sliced) == state_of(whole)
    for log in logs:
        log.segments.release()


def long_log(path: Path, count: int = 500) -> Log:
    log = open_log(path)
    for number in range(count):
        append(log, batch(b"v", timestamp=NOW, producer_id=1, producer_epoch=0, base_sequence=number))
    return log


def test_much_of_it_is_read_in_slices(tmp_path: Path) -> None:
    log = long_log(tmp_path)
    work = log.local.producers_after_cut(450)
    pauses = 0
    while True:
        try:
            next(work)
        except StopIteration as done:
            prepared = done.value
            break
        pauses += 1
        assert (log.log_end_offset, log.producers.entries[1].last_sequence) == (500, 499)
    assert pauses == 450 // 64 + 1
    log.local.truncate_to(450, prepared)
    assert log.producers.entries[1].last_sequence == 449
    append(log, batch(b"v", timestamp=NOW, producer_id=1, producer_epoch=0, base_sequence=450))
    log.segments.release()


@pytest.mark.parametrize("change", ["appended", "dropped", "rolled"])
def test_nothing_is_prepared_where_the_log_has_changed(tmp_path: Path, change: str) -> None:
    log = long_log(tmp_path)
    work = log.local.producers_after_cut(450)
    next(work)
    if change == "appended":
        append(log, batch(b"v", timestamp=NOW, producer_id=1, producer_epoch=0, base_sequence=500))
    elif change == "dropped":
        log.local.advance_log_start(10)
    else:
        log.local.roll()
    assert run_whole(work) is None
    log.local.truncate_to(450)
    assert log.producers.entries[1].last_sequence == 449
    log.segments.release()


def test_what_was_prepared_for_another_cut_is_not_used(tmp_path: Path) -> None:
    log = long_log(tmp_path)
    prepared = run_whole(log.local.producers_after_cut(450))
    log.local.truncate_to(400, prepared)
    assert log.producers.entries[1].last_sequence == 399
    log.segments.release()
