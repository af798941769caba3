"""What pipelines on Spark say of themselves: a file beside each checkpoint, written anew every second while one runs.

A pipeline is no part of the cluster, so nothing but these files tells of it from outside. They are read as they are
found, which may be anything: what is no status is left out, what is too much is not read. Whether a process that claims
to run is still there is known on its own machine; of one elsewhere only how long it has been silent.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from moldau.console.series import Histories
from moldau.types import TopicPartition

SUFFIX: Final = ".status.json"
_LARGEST: Final = 4 * 1024 * 1024
_MOST_FILES: Final = 200
_MOST_PLACES: Final = 5000
_DEEP: Final = 4
# It writes every second; a long pause of a JVM is no silence yet.
_SILENT_SECONDS: Final = 30.0
_CLAIMS_TO_RUN: Final = ("starting", "running", "waiting")


@dataclass(slots=True, frozen=True)
class Query:
    """What one sink has done. `positions` are the next offsets it reads, by topic and partition."""

    name: str
    state: str
    batch: int
    rows: int
    rate: float
    batch_seconds: float
    state_rows: int
    state_bytes: int
    late_rows: int
    watermark: str
    lag: int | None
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class Pipeline:
    path: str
    name: str
    # The file that declares it, and where its checkpoint is.
    file: str
    checkpoint: str
    # What it says, or `killed` if its process is gone, or `silent`.
    state: str
    master: str
    process: str
    started: float
    updated: float
    restarts: int
    error: str
    bootstrap: str
    queries: tuple[Query, ...]

    @property
    def rate(self) -> float | None:
        """Rows a second, of all sinks; None while nothing runs."""
        return sum(query.rate for query in self.queries) if self.state == "running" else None

    @property
    def rows(self) -> int:
        return sum(query.rows for query in self.queries)

    def lag(self, ends: Mapping[TopicPartition, int]) -> int | None:
        """Records still to be read, of all sinks."""
        known = [lag for query in self.queries if (lag := lag_of(query, ends)) is not None]
        return sum(known) if known else None


def lag_of(query: Query, ends: Mapping[TopicPartition, int]) -> int | None:
    """As of now where the ends of what it reads are known, else as its last batch had it."""
    if query.positions and all(where in ends for where in query.positions):
        return sum(max(0, ends[where] - at) for where, at in query.positions.items())
    return query.lag


class Pipelines:
    """Those found in some files and directories, looked at again and again on one thread."""

    def __init__(self, places: Iterable[str]) -> None:
        self.places = tuple(places)
        self.found: dict[str, Pipeline] = {}
        # Places that cannot be read, and why.
        self.problems: dict[str, str] = {}
        self.rates = Histories(_MOST_FILES)
        self.lags = Histories(_MOST_FILES)

    def look(self, now: float, ends: Mapping[TopicPartition, int]) -> None:
        problems: dict[str, str] = {}
        found: dict[str, Pipeline] = {}
        for path in self._files(problems):
            pipeline = _read(path, now)
            if pipeline is not None:
                found[path] = pipeline
        self.found, self.problems = found, problems
        self.rates.add(now, {path: each.rate or 0.0 for path, each in found.items()})
        lags = {path: each.lag(ends) for path, each in found.items()}
        self.lags.add(now, {path: float(lag) for path, lag in lags.items() if lag is not None})

    def _files(self, problems: dict[str, str]) -> list[str]:
        files: dict[str, None] = {}
        for place in self.places:
            if os.path.isdir(place):
                found = _below(place)
            elif os.path.isfile(place):
                found = iter([place])
            else:
                # A checkpoint that does not exist yet may have its status beside it already.
                beside = place.rstrip("/") + SUFFIX
                found = iter([beside] if os.path.isfile(beside) else [])
                if not os.path.isfile(beside):
                    problems[place] = "there is no file or directory of this name"
            for path in found:
                files[os.path.realpath(path)] = None
                if len(files) >= _MOST_FILES:
                    problems[place] = f"it has more than {_MOST_FILES} pipelines; these are the first"
                    return list(files)
        return list(files)


def _below(directory: str) -> Iterator[str]:
    """Files of this kind in a directory and some way below it, also the one beside it."""
    beside = directory.rstrip("/") + SUFFIX
    if os.path.isfile(beside):
        yield beside
    seen = 0
    depth = directory.rstrip("/").count("/")
    for where, directories, names in os.walk(directory):
        directories.sort()
        if where.count("/") - depth >= _DEEP:
            directories.clear()
        seen += len(names) + len(directories)
        if seen > _MOST_PLACES:
            return
        # Regular files only: whoever opens a pipe waits for somebody to write.
        paths = (os.path.join(where, name) for name in sorted(names) if name.endswith(SUFFIX))
        yield from filter(os.path.isfile, paths)


def _read(path: str, now: float) -> Pipeline | None:
    try:
        with open(path, "rb") as file:
            content = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not isinstance(content.get("queries"), list):
        return None
    told = _Told(content)
    return Pipeline(
        path,
        told.text("pipeline") or os.path.basename(path).removesuffix(SUFFIX),
        told.text("file"),
        told.text("checkpoint"),
        _state(told, now),
        told.text("master"),
        f"process {told.whole('pid')} on {told.text('host')}",
        told.number("started"),
        told.number("updated"),
        told.whole("restarts"),
        told.text("error"),
        told.text("bootstrap"),
        tuple(_query(_Told(each)) for each in content["queries"][:100] if isinstance(each, dict)),
    )


def _state(told: _Told, now: float) -> str:
    state = told.text("state")
    if state not in _CLAIMS_TO_RUN:
        return state or "unknown"
    if told.text("host") == socket.gethostname() and not _lives(told.whole("pid")):
        return "killed"
    return "silent" if now - told.number("updated") > _SILENT_SECONDS else state


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return pid > 0


def _query(told: _Told) -> Query:
    lag = told.content.get("lag")
    return Query(
        told.text("query"),
        told.text("state"),
        told.whole("batch", -1),
        told.whole("rows"),
        told.number("rows_per_second"),
        told.number("batch_seconds"),
        told.whole("state_rows"),
        told.whole("state_bytes"),
        told.whole("late_rows"),
        told.text("watermark"),
        lag if _is_whole(lag) else None,
        dict(_positions(told.content.get("positions"))),
    )


def _positions(given: Any) -> Iterator[tuple[TopicPartition, int]]:
    for topic, partitions in given.items() if isinstance(given, dict) else ():
        for partition, offset in partitions.items() if isinstance(partitions, dict) else ():
            if partition.isascii() and partition.isdecimal() and len(partition) < 10 and _is_whole(offset):
                yield TopicPartition(topic, int(partition)), offset


def _is_whole(value: Any) -> TypeGuard[int]:
    return type(value) is int and abs(value) < 1 << 63


class _Told:
    """What a file says, of the kind that is wanted; anything else is as good as nothing."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content

    def text(self, name: str) -> str:
        value = self.content.get(name)
        return value[:2000] if isinstance(value, str) else ""

    def whole(self, name: str, default: int = 0) -> int:
        value = self.content.get(name)
        return value if _is_whole(value) else default

    def number(self, name: str) -> float:
        value = self.content.get(name)
        return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else 0.0
