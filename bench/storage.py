"""What the log costs: appends, reads and opening, on real files.

    python bench/storage.py [DIRECTORY]

The directory decides the disk; nothing is forced to it while appending, as in Kafka's default. Each number is the
median of five runs.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from moldau._speed import COMPILED, crc32c
from moldau.config.topic import LogConfig
from moldau.protocol.records import Compression, encode_batch
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.storage.log import Log
from moldau.storage.timestamp_search import find_first

RUNS = 5
NO_OFFSET = bytes(8)


def frame(records: int, size: int, **fields: int) -> memoryview:
    now = SystemClock().now_ms()
    return memoryview(bytearray(encode_batch([(now, None, b"x" * size, ())] * records, **fields)))


def open_log(path: Path, config: LogConfig | None = None) -> Log:
    return Log.open(str(path / "bench-0"), config or LogConfig(), RealDisk(), SystemClock())


def timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def report(what: str, seconds: list[float], count: int, size: int = 0) -> None:
    each = statistics.median(seconds) / count
    rate = f"{size / each / 1e6:10,.0f} MB/s" if size else ""
    print(f"{what:46}{each * 1e6:10.2f} µs{1 / each:14,.0f} /s{rate}", flush=True)


def bench_append(path: Path, what: str, data: memoryview, count: int, *, producer: bool = False) -> None:
    log = open_log(path)
    sequence = 0
    records = int.from_bytes(data[57:61], "big")

    def work() -> None:
        nonlocal sequence
        append, end = log.append_as_leader, len(data)
        for _ in range(count):
            data[0:8] = NO_OFFSET
            if producer:
                data[53:57] = sequence.to_bytes(4, "big")
                data[17:21] = crc32c(data, 21).to_bytes(4, "big")
                sequence += records
            append(data, 0, end, 1)
            log.local.advance_high_watermark(log.log_end_offset)

    work()
    report(what, [timed(work) for _ in range(RUNS)], count, len(data))
    log.close()
    shutil.rmtree(path / "bench-0")


def bench_reads(path: Path) -> None:
    log = open_log(path)
    data = frame(1, 100)
    for _ in range(200_000):
        data[0:8] = NO_OFFSET
        log.append_as_leader(data, 0, len(data), 1)
    end = log.log_end_offset
    log.local.advance_high_watermark(end)
    count = 50_000

    def tail() -> None:
        for _ in range(count):
            log.read(end - 1, 1 << 20, end, at_least_one=True)

    def caught_up() -> None:
        for _ in range(count):
            log.read(end, 1 << 20, end, at_least_one=True)

    def anywhere() -> None:
        for number in range(count):
            log.read(number * 7919 % end, 1 << 20, end, at_least_one=True)

    for what, work in (
        ("read at the tail", tail),
        ("read at the end, nothing there", caught_up),
        ("read anywhere among 200,000 batches", anywhere),
    ):
        work()
        report(what, [timed(work) for _ in range(RUNS)], count)

    def by_time() -> None:
        for number in range(1000):
            find_first(log.segments, log.segments.active.max_timestamp - number % 3, log.log_start_offset)

    report("find a timestamp", [timed(by_time) for _ in range(RUNS)], 1000)
    log.close()
    shutil.rmtree(path / "bench-0")


def bench_open(path: Path) -> None:
    segments = 1000
    log = open_log(path)
    data = frame(100, 100)
    for _ in range(segments):
        data[0:8] = NO_OFFSET
        log.append_as_leader(data, 0, len(data), 1)
        log.local.roll()
    log.close()
    end = log.log_end_offset

    def clean() -> None:
        log = open_log(path)
        log.segments.release()

    def unclean() -> None:
        log = Log.open(
            str(path / "bench-0"), LogConfig(), RealDisk(), SystemClock(), clean_shutdown=False, recovery_point=end
        )
        log.segments.release()

    def whole() -> None:
        log = Log.open(str(path / "bench-0"), LogConfig(), RealDisk(), SystemClock(), clean_shutdown=False)
        log.segments.release()

    report("open 1,000 segments after a clean stop", [timed(clean) for _ in range(RUNS)], 1)
    report("... after a crash, all but the last flushed", [timed(unclean) for _ in range(RUNS)], 1)
    report("... after a crash, nothing flushed", [timed(whole)], 1)
    shutil.rmtree(path / "bench-0")


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        path = Path(directory)
        print(f"kernels {'compiled' if COMPILED else 'in Python'}, files in {directory}")
        bench_append(path, "append 1 record of 100 bytes", frame(1, 100), 50_000)
        idempotent = frame(1, 100, producer_id=1, producer_epoch=0, base_sequence=0)
        bench_append(path, "... of an idempotent producer (with its CRC)", idempotent, 50_000, producer=True)
        bench_append(path, "append 16 KiB", frame(147, 100), 10_000)
        bench_append(path, "append 16 KiB, lz4", frame(147, 100, compression=Compression.LZ4), 10_000)
        bench_append(path, "append 1 MiB", frame(9400, 100), 300)
        bench_reads(path)
        bench_open(path)


if __name__ == "__main__":
    main()
