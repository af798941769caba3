"""Compaction of many records of few keys, and how late the loop is while it runs.

    python -m bench.compaction                     10 million records of 100 bytes, 1 million keys
    python -m bench.compaction --records 1000000 --on-the-loop

A timer is due every millisecond; how late it comes is the time a request would have waited for the loop. For
comparison it is measured before the compaction, too, and `--on-the-loop` runs the slices there instead of in workers.
"""

from __future__ import annotations

import argparse
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moldau import _speed
from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.dataclass import replace
from moldau.protocol.records import BatchBuilder
from moldau.runtime.real import RealRuntime
from moldau.storage.cleaner import LogCleaner
from moldau.storage.log import Log
from moldau.storage.log_manager import LogManager
from moldau.types import TopicPartition

DIRECTORY = Path("build/bench/compaction")
PLACE = TopicPartition("table", 0)
CONFIG = LogConfig(segment_bytes=256 << 20, compact=True, delete=False, file_delete_delay_ms=0)


class Inline:
    """The loop itself as the worker."""

    def __init__(self, runtime: RealRuntime) -> None:
        self._loop = runtime.loop

    def submit(self, job: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        def run() -> None:
            try:
                result = job()
            except BaseException as error:
                done(None, error)
            else:
                done(result, None)

        self._loop.call_later(0, run)

    def close(self) -> None:
        pass


class Lateness:
    """How late a timer comes that is due every millisecond."""

    def __init__(self, runtime: RealRuntime) -> None:
        self._loop = runtime.loop
        self.late: list[float] = []
        self._running = True
        self._next()

    def _next(self) -> None:
        due = time.perf_counter() + 0.001

        def came() -> None:
            self.late.append(time.perf_counter() - due)
            if self._running:
                self._next()

        self._loop.call_later(0.001, came)

    def stop(self) -> str:
        self._running = False
        late = sorted(self.late)
        return (
            f"p50 {late[len(late) // 2] * 1e3:.2f} ms, p99 {late[len(late) * 99 // 100] * 1e3:.2f} ms, "
            f"most {late[-1] * 1e3:.2f} ms ({len(late)} timers)"
        )


def fill(log: Log, records: int, keys: int, per_batch: int) -> None:
    """Records of 100 bytes in all, with a key of 16; keys at random, the same every time."""
    chance = random.Random(1)
    names = [b"key-%012d" % index for index in range(keys)]
    value = b"v" * 76
    now = int(time.time() * 1000)
    builder = BatchBuilder()
    for start in range(0, records, per_batch):
        builder.clear()
        for key in chance.choices(names, k=min(per_batch, records - start)):
            builder.append(now, key, value)
        batch = memoryview(bytearray(builder.build()))
        log.append_as_leader(batch, 0, len(batch), 0)
    log.local.roll()
    log.local.advance_high_watermark(log.log_end_offset)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compaction", description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=100, help="records in a batch")
    parser.add_argument("--on-the-loop", action="store_true")
    options = parser.parse_args()
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    runtime = RealRuntime()
    if options.on_the_loop:
        runtime.workers = Inline(runtime)  # type: ignore[assignment]
    settings = {
        "log.dirs": str(DIRECTORY),
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.cleaner.min.cleanable.ratio": "0",
        "log.cleaner.backoff.ms": "0",
    }
    config = BrokerConfig.parse(settings)
    logs = LogManager(config, runtime.disk, runtime.clock, runtime.random, cluster_id="bench")
    logs.start()
    log = logs.get_or_create(PLACE, bytes(15) + b"\1", replace(CONFIG, min_cleanable_dirty_ratio=0.0))
    fill(log, options.records, options.keys, options.batch)
    size = log.segments.size
    # The first compaction must not wait for what the filling left in the page cache.
    log.flush()

    quiet = Lateness(runtime)
    runtime.loop.call_later(1.0, runtime.loop.stop)
    runtime.loop.run()
    before = quiet.stop()

    cleaner = LogCleaner(lambda: config, logs, runtime, lambda error: print(f"failed: {error}"))
    beside = Lateness(runtime)
    started = time.perf_counter()
    cleaner.start()
    while log.local.first_dirty_offset < options.records and not cleaner.uncleanable:
        runtime.loop.call_later(0.02, runtime.loop.stop)
        runtime.loop.run()
    seconds = time.perf_counter() - started
    during = beside.stop()
    print(
        f"compaction of {options.records:,} records ({size / 1e6:,.0f} MB, {options.keys:,} keys, "
        f"{options.batch} a batch){'' if _speed.COMPILED else ', kernels not compiled'}:"
    )
    print(f"  {seconds:.1f} s, {options.records / seconds / 1e6:.2f} M records/s, {size / seconds / 1e6:,.0f} MB/s")
    print(f"  left: {log.segments.size / 1e6:,.0f} MB in {len(log.segments)} segments")
    print(f"  the loop beside it: {during}")
    print(f"  and without it:     {before}")
    cleaner.stop()
    logs.close()
    runtime.close()
    shutil.rmtree(DIRECTORY)


if __name__ == "__main__":
    main()
