"""Builds and runs the load generators: loadgen.c for throughput and round trips, tail.c for end-to-end latency, share.c
for the members of a share group."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from bench.contenders import Door
from bench.frames import Frame

HERE = Path(__file__).parent
BUILD = Path("build/bench")
PAUSE_US = 1000  # before each record whose way to the consumer is timed
SECURED_LOADGEN = "loadgen-secured"
LOGIN_PROCESSES = 8


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


class Logins(NamedTuple):
    """New connections, one after the other in each of several processes."""

    connections: int
    per_second: float
    p50_us: float
    p99_us: float


def build() -> None:
    """Compiles the generators unless that was done since they last changed."""
    for name in ("loadgen", "tail", "share"):
        _compile(name, [HERE / f"{name}.c"], [])


def build_secured() -> None:
    """Those for encrypted listeners and logins. They need OpenSSL's headers, which is why they are made only when they
    are wanted."""
    if not _has_openssl():
        raise LoadFailed("OpenSSL's headers are missing (apt-get install libssl-dev)")
    libraries = ["-lssl", "-lcrypto"]
    _compile(SECURED_LOADGEN, [HERE / "loadgen.c", HERE / "secured.c"], ["-DSECURED", *libraries])
    _compile("logins", [HERE / "logins.c", HERE / "secured.c"], libraries)


def _compile(name: str, sources: list[Path], options: list[str]) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    program = BUILD / name
    newest = max(source.stat().st_mtime for source in (*sources, HERE / "secured.h"))
    if not program.exists() or program.stat().st_mtime <= newest:
        subprocess.run([*_compiler(), "-O2", "-o", str(program), *map(str, sources), *options], check=True)


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def _has_openssl() -> bool:
    words = [*_compiler(), "-E", "-include", "openssl/ssl.h", "-x", "c", os.devnull]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def run(
    address: tuple[str, int],
    groups: list[Group],
    *,
    warmup: float,
    seconds: float,
    directory: Path,
    door: Door | None = None,
) -> dict[str, GroupResult]:
    """All groups at the same time; the result by the groups' names. An answer with an error code fails the run."""
    program = BUILD / "loadgen"
    arguments = [_argument(group, directory) for group in groups]
    if door is not None:
        build_secured()
        address, program = door.address, BUILD / SECURED_LOADGEN
        arguments = [",".join([argument, *_keys(door)]) for argument in arguments]
    command = [str(program), address[0], str(address[1]), str(warmup), str(seconds), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + warmup + 60)
    if done.returncode != 0:
        raise LoadFailed(done.stderr.strip())
    results = {name: GroupResult(**found) for name, found in json.loads(done.stdout)["groups"].items()}
    for name, result in results.items():
        if result.errors:
            raise LoadFailed(f"{name}: {result.errors} of {result.responses} answers bad, error {result.first_error}")
    return results


def log_in_again_and_again(door: Door, *, warmup: float, seconds: float) -> Logins:
    build_secured()
    numbers = (str(door.address[1]), str(warmup), str(seconds), str(LOGIN_PROCESSES))
    command = [str(BUILD / "logins"), door.address[0], *numbers, *_keys(door)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + warmup + 60)
    if done.returncode != 0:
        raise LoadFailed(done.stderr.strip() or "not one connection was finished")
    return Logins(**json.loads(done.stdout))


def _keys(door: Door) -> list[str]:
    trusted = [] if door.trusted is None else [f"tls={door.trusted}"]
    return trusted if door.login is None else [*trusted, f"login={door.login}"]


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


def accepted_by_members(
    address: tuple[str, int], group: str, topic_id: str, partitions: int, members: int, warmup: int, count: int
) -> float:
    """Records of a topic that is filled, a second, which the members of a share group accept."""
    found = _share(address, group, topic_id, partitions, members, warmup, count)
    rate: float = found["per_second"]
    return rate


def had_by_members(
    address: tuple[str, int],
    group: str,
    topic_id: str,
    partitions: int,
    members: int,
    warmup: int,
    count: int,
    *,
    frames: Frame,
    rate: float,
    directory: Path,
) -> list[float]:
    """Microseconds from when each record was to be sent until one of the members of a share group had it."""
    path = directory / "share.frame"
    path.write_bytes(frames.data)
    latencies: list[float] = _share(address, group, topic_id, partitions, members, warmup, count, str(path), str(rate))[
        "latencies"
    ]
    return latencies


def _share(address: tuple[str, int], *words: str | int) -> dict[str, Any]:
    command = [str(BUILD / "share"), address[0], str(address[1]), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise LoadFailed(done.stderr.strip())
    found: dict[str, Any] = json.loads(done.stdout)
    if found["again"]:
        raise LoadFailed(f"{found['again']} records were delivered more than once")
    return found
