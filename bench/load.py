"""Builds and runs the load generators: loadgen.c for throughput and round trips, tail.c for end-to-end latency."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

from bench.frames import Frame

HERE = Path(__file__).parent
BUILD = Path("build/bench")
PAUSE_US = 1000  # before each record whose way to the consumer is timed


class Group(NamedTuple):
    """Connections that all send the same request."""

    name: str
    frame: Frame | None  # None: the connections stay idle
    connections: int = 1
    depth: int = 1
    stride: int = 0  # fetch: how far the offset moves with each request
    last: int = 0  # fetch: the last offset that is asked for
    at_least: int = 0  # an answer shorter than this counts as an error
    rate: float = 0.0  # requests per second of all connections together; 0: as fast as they are answered
    ports: tuple[int, ...] = ()  # of the nodes of a cluster: one after the other, each sent one of the frames


class GroupResult(NamedTuple):
    responses: int
    per_second: float
    acknowledged_mb_s: float
    received_mb_s: float
    errors: int
    first_error: int
    p50_us: float
    p99_us: float
    p999_us: float


class LoadFailed(Exception):
    """The generator or the broker gave up; the sentence says why."""


def build() -> None:
    """Compiles the generators unless that was done since they last changed."""
    BUILD.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    for source in (HERE / "loadgen.c", HERE / "tail.c"):
        program = BUILD / source.stem
        if not program.exists() or program.stat().st_mtime <= source.stat().st_mtime:
            subprocess.run([*compiler, "-O2", "-o", str(program), str(source)], check=True)


def run(
    address: tuple[str, int], groups: list[Group], *, warmup: float, seconds: float, directory: Path
) -> dict[str, GroupResult]:
    """All groups at the same time; the result by the groups' names. An answer with an error code fails the run."""
    arguments = [_argument(group, directory) for group in groups]
    command = [str(BUILD / "loadgen"), address[0], str(address[1]), str(warmup), str(seconds), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + warmup + 60)
    if done.returncode != 0:
        raise LoadFailed(done.stderr.strip())
    results = {name: GroupResult(**found) for name, found in json.loads(done.stdout)["groups"].items()}
    for name, result in results.items():
        if result.errors:
            raise LoadFailed(f"{name}: {result.errors} of {result.responses} answers bad, error {result.first_error}")
    return results


def _argument(group: Group, directory: Path) -> str:
    if group.frame is None:
        return f"name={group.name},connections={group.connections},depth=0"
    path = directory / f"{group.name}.frame"
    path.write_bytes(group.frame.data)
    text = f"name={group.name},frame={path},connections={group.connections},depth={group.depth}"
    text += f",error_at={group.frame.error_at},at_least={group.at_least}"
    if group.rate:
        text += f",rate={group.rate}"
    if group.ports:
        text += f",ports={':'.join(map(str, group.ports))}"
    if group.frame.offset_at:
        text += f",offset_at={group.frame.offset_at},stride={group.stride},last={group.last}"
    return text


def end_to_end(
    address: tuple[str, int], produce: Frame, fetch: Frame, *, warmup: int, count: int, directory: Path
) -> list[float]:
    """Microseconds from sending a record until a waiting fetch has brought it, for each of `count` records."""
    paths = (directory / "produce.frame", directory / "fetch.frame")
    for path, frame in zip(paths, (produce, fetch), strict=True):
        path.write_bytes(frame.data)
    # A fetch answer without records is shorter than any that has one: a record's value alone is 100 bytes.
    numbers = (fetch.offset_at, 0, 150, warmup, count, PAUSE_US)
    command = [str(BUILD / "tail"), address[0], str(address[1]), *map(str, paths), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60 + count)
    if done.returncode != 0:
        raise LoadFailed(done.stderr.strip())
    latencies: list[float] = json.loads(done.stdout)
    return latencies
