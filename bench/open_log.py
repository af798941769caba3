"""How long a log of many segments takes to open after a clean stop.

    python -m bench.open_log                       10 GB in 1,000 segments

The segments are sparse: a few batches and then nothing, so that the sizes are real and the disk is not filled. That
is no cheating: opening after a clean stop looks at names, sizes and the newest segment, and reads no other.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.protocol.records import encode_batch
from moldau.runtime.real import RealRuntime
from moldau.storage.log_manager import LogManager
from moldau.types import TopicPartition

DIRECTORY = Path("build/bench/open")


def manager(runtime: RealRuntime) -> LogManager:
    config = BrokerConfig.parse({"log.dirs": str(DIRECTORY), "listeners": "PLAINTEXT://127.0.0.1:0"})
    return LogManager(config, runtime.disk, runtime.clock, runtime.random, cluster_id="bench")


def build(runtime: RealRuntime, segments: int, size: int) -> None:
    logs = manager(runtime)
    logs.start()
    log = logs.get_or_create(TopicPartition("large", 0), bytes(15) + b"\1", LogConfig(segment_bytes=1 << 30))
    now = runtime.clock.now_ms()
    for _ in range(segments):
        for _ in range(2):
            batch = memoryview(bytearray(encode_batch([(now, b"key", b"value" * 20, ())])))
            log.append_as_leader(batch, 0, len(batch), 0)
        log.local.roll()
    log.local.advance_high_watermark(log.log_end_offset)
    logs.close()
    for file in sorted((DIRECTORY / "large-0").glob("*.log"))[:-1]:
        with file.open("r+b") as opened:
            opened.truncate(size)


def seconds_to_open(segments: int, gigabytes: float) -> tuple[float, list[float]]:
    """The shortest of three, and all of them."""
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    runtime = RealRuntime()
    build(runtime, segments, int(gigabytes * 1e9 / segments))
    seconds = []
    for _ in range(3):
        logs = manager(runtime)
        started = time.perf_counter()
        logs.start()
        seconds.append(time.perf_counter() - started)
        (log,) = logs.logs.values()
        assert len(log.segments) >= segments
        logs.close()
    runtime.close()
    shutil.rmtree(DIRECTORY)
    return min(seconds), seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.open_log", description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--gigabytes", type=float, default=10.0)
    options = parser.parse_args()
    best, seconds = seconds_to_open(options.segments, options.gigabytes)
    print(
        f"opening {options.gigabytes:.1f} GB in {options.segments:,} segments after a clean stop: "
        f"{best:.3f} s (of {', '.join(f'{value:.3f}' for value in seconds)})"
    )


if __name__ == "__main__":
    main()
