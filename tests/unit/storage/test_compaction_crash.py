"""Compaction against a model: whatever was written, wherever the process dies, readers see the same latest values."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from compaction_kit import COMPACT, compact, keyed, open_compacted
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_kit import NOW, StoppedClock, append, marker, quick_directory

from moldau.dataclass import replace
from moldau.protocol.records import Compression, decode_batch
from moldau.runtime.disk import RealDisk
from moldau.storage.dirtiness import dirtiness
from moldau.storage.log import Log, Origin

SETTINGS = replace(COMPACT, segment_bytes=900, index_interval_bytes=60, delete_retention_ms=100)


class Died(BaseException):
    """The process was killed."""


class MortalDisk:
    """The real disk; the process dies before the call with this number."""

    CHANGING = frozenset(
        {"open", "map", "rename", "remove", "sync_directory", "write", "truncate", "sync", "resize", "make_directories"}
    )

    def __init__(self, last_call: int | None = None) -> None:
        self._target: Any = RealDisk()
        self._last_call = last_call
        self.opened: list[Any] = []
        self.calls = 0

    def close(self) -> None:
        """What the operating system does for a process that is gone."""
        for part in self.opened:
            part.close()

    def _count(self) -> None:
        self.calls += 1
        if self._last_call is not None and self.calls > self._last_call:
            raise Died

    def __getattr__(self, name: str) -> Any:
        return _counted(self, self._target, name)


class MortalPart:
    """A file or a mapping of such a disk."""

    def __init__(self, disk: MortalDisk, target: Any) -> None:
        self._disk = disk
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return _counted(self._disk, self._target, name)


def _counted(disk: MortalDisk, target: Any, name: str) -> Any:
    value = getattr(target, name)
    if name not in MortalDisk.CHANGING:
        return value

    def call(*arguments: Any, **options: Any) -> Any:
        disk._count()
        result = value(*arguments, **options)
        if name not in ("open", "map"):
            return result
        disk.opened.append(result)
        return MortalPart(disk, result)

    return call


# ------------------------------------------------------------------------------------------------------ the model

Step = tuple[Any, ...]
KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
PAIRS = st.lists(st.tuples(KEYS, st.none() | st.integers(0, 9).map(lambda n: b"%d" % n)), min_size=1, max_size=4)
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("put"), PAIRS, st.sampled_from([0, 0, Compression.GZIP, Compression.LZ4])),
        st.tuples(st.just("transaction"), PAIRS, st.integers(1, 2), st.booleans(), st.booleans()),
        st.tuples(st.just("sequence"), PAIRS, st.integers(3, 4)),
        st.just(("roll",)),
    ),
    min_size=3,
    max_size=14,
)


class Model:
    """What was written, and what a reader of committed records must see in the end."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.latest: dict[bytes, bytes | None] = {}
        self.written: dict[int, tuple[bytes, bytes | None]] = {}
        self._sequences: dict[int, int] = {}

    def do(self, step: Step) -> None:
        kind = step[0]
        if kind == "put":
            self._write(step[1], True, compression=step[2])
        elif kind == "sequence":
            self._write(step[1], True, **self._next(step[2], len(step[1])))
        elif kind == "transaction":
            _, pairs, producer, commit, split = step
            self._write(pairs, commit, is_transactional=True, **self._next(producer, len(pairs)))
            if split:
                self.log.local.roll()
            append(self.log, marker(producer, 0, commit=commit), origin=Origin.COORDINATOR)
        else:
            self.log.local.roll()

    def _write(self, pairs: Any, counts: bool, **fields: Any) -> None:
        info = append(self.log, keyed(*pairs, **fields))
        for offset, (key, value) in enumerate(pairs, info.base_offset):
            self.written[offset] = (key, value)
            if counts:
                self.latest[key] = value

    def _next(self, producer: int, count: int) -> dict[str, int]:
        sequence = self._sequences.get(producer, 0)
        self._sequences[producer] = sequence + count
        return {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence}

    def check(self, log: Log) -> None:
        assert log.log_end_offset == self.log.log_end_offset
        seen: dict[bytes, bytes | None] = dict.fromkeys(self.latest)
        last = -1
        for segment in log.segments:
            for placed in segment.batches():
                header = placed.header
                assert header.base_offset > last
                last = header.last_offset
                aborted = log.segments.aborted_between(header.base_offset, header.next_offset)
                data = segment.open_file().read(placed.position, header.size)
                for record in decode_batch(data):
                    if header.is_control:
                        continue
                    assert self.written[record.offset] == (record.key, record.value)
                    if not (header.is_transactional and any(_covers(one, header) for one in aborted)):
                        seen[record.key] = record.value
        assert seen == self.latest
        for offset in range(log.log_end_offset):
            assert log.local.locate(offset) is not None
        for producer, sequence in self._sequences.items():
            assert log.producers.entries[producer].last_sequence == sequence - 1


def _covers(aborted: Any, header: Any) -> bool:
    return (
        aborted.producer_id == header.producer_id and aborted.first_offset <= header.base_offset <= aborted.last_offset
    )


def build(path: Path, steps: list[Step]) -> Model:
    model = Model(open_compacted(path, SETTINGS))
    for step in steps:
        model.do(step)
    model.log.local.roll()
    return model


def die_while_compacting(source: Path, target: Path, call: int | None, times: tuple[int, ...]) -> tuple[Log, int]:
    """A copy of the log, compacted at each of `times` until the process dies; then opened again."""
    shutil.copytree(source, target)
    disk = MortalDisk(call)
    clean_offset = 0
    try:
        for now in times:
            log = open_compacted(target, SETTINGS, disk=disk, clock=StoppedClock(now), clean_shutdown=False)
            log.local.advance_high_watermark(log.log_end_offset)
            log.local.first_dirty_offset = clean_offset
            compact(log, now_ms=now, disk=disk)
            clean_offset = log.local.first_dirty_offset
            log.segments.release()
    except Died:
        pass
    disk.close()
    # What the next process knows: a checkpoint that may lag behind, never one that runs ahead.
    log = open_compacted(target, SETTINGS, clock=StoppedClock(times[-1]), clean_shutdown=False)
    log.local.advance_high_watermark(log.log_end_offset)
    log.local.first_dirty_offset = clean_offset
    return log, disk.calls


EVERYTHING: list[Step] = [
    ("put", [(b"a", b"1"), (b"b", b"1"), (b"a", b"2")], 0),
    ("transaction", [(b"c", b"1"), (b"d", b"1")], 1, True, True),
    ("put", [(b"d", b"2")], Compression.GZIP),
    ("roll",),
    ("transaction", [(b"a", b"8"), (b"c", b"9")], 2, False, True),
    ("put", [(b"b", None), (b"a", b"3")], 0),
    ("roll",),
    ("sequence", [(b"d", b"4")], 3),
    ("put", [(b"d", None)], 0),
]


def test_wherever_the_process_dies_readers_see_the_same():
    with quick_directory() as directory:
        model = build(directory / "source", EVERYTHING)
        model.log.segments.release()
        call = 0
        while True:
            target = directory / "copy"
            log, calls = die_while_compacting(directory / "source", target, call, (NOW, NOW + 100, NOW + 200))
            model.check(log)
            # And so it is after the compaction that was cut short is done again.
            if dirtiness(log, NOW + 300).dirty_bytes:
                compact(log, now_ms=NOW + 300)
                model.check(log)
            log.segments.release()
            shutil.rmtree(target)
            if calls <= call:
                break
            call += 1
        assert call > 150


@settings(max_examples=25, deadline=None)
@given(STEPS, st.lists(st.integers(0, 160), min_size=1, max_size=4), st.sampled_from([24 * 6, 1 << 16]))
def test_random_logs_and_random_deaths(steps, calls, memory):
    with quick_directory() as directory:
        model = build(directory / "source", steps)
        model.log.segments.release()
        for index, call in enumerate(calls):
            times = (NOW, NOW + 50, NOW + 150, NOW + 250)
            log, _ = die_while_compacting(directory / "source", directory / f"copy-{index}", call, times)
            model.check(log)
            for now in (NOW + 300, NOW + 500):
                while dirtiness(log, now).dirty_bytes:
                    compact(log, now_ms=now, memory=memory)
                log.local.first_dirty_offset = 0
                model.check(log)
            log.segments.release()
