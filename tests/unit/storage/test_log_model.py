"""Random histories of a log against a list of records: whatever happens to it, it holds what the list holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from storage_kit import NOW, append, at_time, batch, open_log, quick_directory, records_of

from moldau.config.topic import LogConfig
from moldau.protocol.records import Compression, scan_batches
from moldau.storage.log import Log

CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=120, segment_index_bytes=600, file_delete_delay_ms=0)

Batch = list[tuple[int, int, bytes]]  # offset, timestamp, value of each record


class Model:
    """The log as a list of batches."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.start = 0
        self.end = 0

    def append(self, values: list[bytes], timestamps: list[int]) -> None:
        rows = zip(range(self.end, self.end + len(values)), timestamps, values, strict=True)
        self.batches.append(list(rows))
        self.end += len(values)

    def truncate(self, offset: int) -> None:
        if offset >= self.end:
            return
        if not self.batches or offset < self.batches[0][0][0]:
            self.batches, self.start, self.end = [], offset, offset
            return
        self.end = offset
        while self.batches and self.batches[-1][-1][0] >= offset:
            self.end = min(self.end, self.batches.pop()[0][0])
        self.start = min(self.start, self.end)

    def records_from(self, offset: int) -> Batch:
        """What a read at `offset` finds: whole batches from the one that holds it."""
        return [row for rows in self.batches if rows[-1][0] >= offset for row in rows]


operations = st.one_of(
    st.tuples(
        st.just("append"),
        st.lists(st.binary(max_size=90), min_size=1, max_size=5),
        st.lists(st.integers(-1, 1000), min_size=5, max_size=5),
        st.sampled_from([Compression.NONE, Compression.NONE, Compression.LZ4]),
    ),
    st.tuples(st.just("roll")),
    st.tuples(st.just("flush")),
    st.tuples(st.just("truncate"), st.floats(0, 1.1)),
    st.tuples(st.just("restart at"), st.integers(0, 50)),
    st.tuples(st.just("advance start"), st.floats(0, 1)),
    st.tuples(st.just("reopen"), st.booleans()),
)


def perform(log: Log, model: Model, path: Path, operation: tuple[Any, ...]) -> Log:
    name, *rest = operation
    if name == "append":
        values, times, codec = rest
        timestamps = [time if time < 0 else NOW + time for time in times[: len(values)]]
        append(log, batch(*values, timestamps=timestamps, compression=codec))
        model.append(values, timestamps)
    elif name == "roll":
        log.local.roll()
    elif name == "flush":
        log.flush()
    elif name == "truncate":
        offset = model.start + int((model.end - model.start) * rest[0])
        log.local.truncate_to(offset)
        model.truncate(offset)
    elif name == "restart at":
        log.local.truncate_fully_and_start_at(rest[0])
        model.batches, model.start, model.end = [], rest[0], rest[0]
    elif name == "advance start":
        model.start += int((model.end - model.start) * rest[0])
        log.local.advance_log_start(model.start)
    elif name == "reopen":
        (clean,) = rest
        recovery_point = log.durability.recovery_point
        if clean:
            log.close()
        else:
            log.segments.release()
        log = open_log(path, CONFIG, clean_shutdown=clean, log_start_offset=model.start, recovery_point=recovery_point)
        log.local.advance_high_watermark(log.log_end_offset)
    return log


def check(log: Log, model: Model) -> None:
    assert (log.log_start_offset, log.log_end_offset) == (model.start, model.end)
    for offset in range(model.start, model.end):
        expected = model.records_from(offset)
        read = log.read(offset, 1 << 20, model.end, at_least_one=True)
        found = [(record.offset, record.timestamp, record.value) for record in records_of(read)]
        assert found == expected[: len(found)]
        # A read stays within a segment; it must reach to its end.
        assert bool(found) == bool(expected)
    check_times(log, model)


def check_times(log: Log, model: Model) -> None:
    rows = [row for rows in model.batches for row in rows if row[0] >= model.start]
    for time in (0, NOW, NOW + 400, NOW + 1000, NOW + 2000):
        wanted = next(((t, o) for o, t, _ in rows if t >= time), None)
        found = at_time(log, time)
        assert (found and (found.timestamp, found.offset)) == wanted


def check_structure(log: Log) -> None:
    """Every entry of an index points to the batch it names."""
    for segment in log.segments:
        data = segment.open_file().read(0, segment.size)
        headers, position = {}, 0
        for header in scan_batches(data):
            headers[position] = header
            position += header.size
        index = segment.offset_index
        index.load()
        entries = [index.entry(slot) for slot in range(index.entries)]
        assert entries == sorted(entries)
        for offset, position in entries:
            assert headers[position].last_offset == offset
        times = segment.time_index
        times.load()
        latest = [times.entry(slot) for slot in range(times.entries)]
        assert latest == sorted(set(latest))
        for timestamp, offset in latest:
            assert max(h.max_timestamp for h in headers.values() if h.last_offset <= offset) == timestamp


@settings(max_examples=120, deadline=None)
@given(st.lists(operations, max_size=25))
def test_any_history(history):
    with quick_directory() as path:
        log, model = open_log(path, CONFIG), Model()
        try:
            for operation in history:
                log = perform(log, model, path, operation)
            check(log, model)
            check_structure(log)
        finally:
            log.segments.release()
