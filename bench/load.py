"""Builds and runs the load generator (loadgen.c)."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

from bench.frames import Frame

SOURCE = Path(__file__).with_name("loadgen.c")
PROGRAM = Path("build/bench/loadgen")


class Group(NamedTuple):
    """Connections that all send the same request."""

    name: str
    frame: Frame | None  # None: the connections stay idle
    connections: int = 1
    depth: int = 1
    stride: int = 0  # fetch: how far the offset moves with each request
    last: int = 0  # fetch: the last offset that is asked for
    at_least: int = 0  # an answer shorter than this counts as an error


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
    """Compiles the generator unless that was done since it last changed."""
    if PROGRAM.exists() and PROGRAM.stat().st_mtime > SOURCE.stat().st_mtime:
        return
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, "-O2", "-o", str(PROGRAM), str(SOURCE)], check=True)


def run(
    address: tuple[str, int], groups: list[Group], *, warmup: float, seconds: float, directory: Path
) -> dict[str, GroupResult]:
    """All groups at the same time; the result by the groups' names. An answer with an error code fails the run."""
    arguments = [_argument(group, directory) for group in groups]
    command = [str(PROGRAM), address[0], str(address[1]), str(warmup), str(seconds), *arguments]
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
    if group.frame.offset_at:
        text += f",offset_at={group.frame.offset_at},stride={group.stride},last={group.last}"
    return text
