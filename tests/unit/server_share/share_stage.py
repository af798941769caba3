"""A share partition as a play: each line an event, below it what came of it and what is in flight then.

settings lock=MS deliveries=N locks=N renewals=0|1      from the next event on
load START [7-9:available:1 ...]      as the share coordinator has it
fetch MEMBER BATCHES [most=N] [size=N] [exact] [aborted=20-29]      BATCHES as 0-9,10-19: what the log has there
say MEMBER 0-9:accept 10-12:release,gap,renew      the ranges of one request; types for each offset, or one for all
written, failed      the oldest change that waits is written down, or cannot be
release MEMBER      it is gone
wait MS, expire      time passes; locks that have run out by then
start OFFSET, cut OFFSET      the log begins or ends there now

In flight is shown as `start..end: 0-9 acquired:1 by a until 30000, ...`; a change that waits is an arrow.
"""

from __future__ import annotations

import os
from pathlib import Path

from moldau.coordinator.share.state_batches import Batch
from moldau.errors import KafkaError
from moldau.server.share.acquisition import Span
from moldau.server.share.in_flight import Run, State
from moldau.server.share.share_partition import Acknowledgement, Change, Limits, SharePartition

TYPES = ["gap", "accept", "release", "reject", "renew"]


def check_transcript(path: Path) -> None:
    """Plays the file and compares; with MOLDAU_REWRITE_TRANSCRIPTS=1 writes what came of it instead."""
    written = path.read_text()
    played = play(written)
    if os.environ.get("MOLDAU_REWRITE_TRANSCRIPTS"):
        path.write_text(played)
    assert played == written


def play(text: str) -> str:
    stage = Stage()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            lines += [f"> {answer}" for answer in stage.play(line.split())]
    return "\n".join(lines) + "\n"


class Stage:
    def __init__(self) -> None:
        self.now = 0
        self.limits = Limits()
        self.partition = SharePartition(0)
        self.changes: list[Change] = []

    def play(self, words: list[str]) -> list[str]:
        verb, rest = words[0], words[1:]
        options = dict(word.split("=") for word in rest if "=" in word)
        said: list[str] = []
        match verb:
            case "settings":
                self._set(options)
                return []
            case "load":
                batches = [_batch(word) for word in rest[1:]]
                self.partition, self.changes = SharePartition(int(rest[0]), batches, self.limits), []
            case "fetch":
                said.append(self._fetch(rest, options))
            case "say":
                try:
                    self._wait_for(self.partition.acknowledge(rest[0], [_said(word) for word in rest[1:]], self.now))
                except KafkaError as error:
                    said.append(f"{error.code.name} ({error})")
            case "written" | "failed":
                self.partition.complete(self.changes.pop(0), written=verb == "written")
            case "release":
                self._wait_for(self.partition.release(rest[0]))
            case "wait":
                self.now += int(rest[0])
                return []
            case "expire":
                change = self.partition.expire(self.now)
                said.append("nothing" if change is None else f"writes {_batches(change.batches)}")
            case "start":
                self.partition.move_start(int(rest[0]))
            case "cut":
                self.partition.cut(int(rest[0]))
            case _:
                raise ValueError(verb)
        return [*said, self._shown()]

    def _set(self, options: dict[str, str]) -> None:
        names = {"lock": "lock_ms", "deliveries": "deliveries", "locks": "locks"}
        values = {names[name]: int(value) for name, value in options.items() if name in names}
        self.limits = self.limits._replace(**values, renewals=options.get("renewals", "1") == "1")
        self.partition.limits = self.limits

    def _fetch(self, rest: list[str], options: dict[str, str]) -> str:
        spans = [Span(*_range(word)) for word in rest[1].split(",")]
        aborted = [Span(*_range(word)) for word in options["aborted"].split(",")] if "aborted" in options else []
        taken = self.partition.acquire(
            rest[0],
            self.partition.next_fetch_offset,
            spans,
            int(options.get("most", 500)),
            self.now,
            batch_size=int(options.get("size", 500)),
            exact="exact" in rest,
            aborted=aborted,
        )
        return "gets " + (" ".join(f"{_offsets(first, last)}:{count}" for first, last, count in taken) or "nothing")

    def _wait_for(self, change: Change | None) -> None:
        if change is not None:
            self.changes.append(change)

    def _shown(self) -> str:
        partition = self.partition
        runs = ", ".join(_run(run) for run in partition.runs)
        return f"{partition.start}..{partition.end} next {partition.next_fetch_offset}" + (f": {runs}" if runs else "")


def _run(run: Run) -> str:
    text = f"{_offsets(run.first, run.last)} {run.state.name.lower()}:{run.deliveries}"
    if run.state is State.ACQUIRED:
        text += f" by {run.member} until {run.deadline}"
    if run.change is not None:
        text += f" -> {run.next[0].name.lower()}:{run.next[1]}"
    return text


def _batches(batches: list[Batch]) -> str:
    return " ".join(f"{_offsets(first, last)}:{State(state).name.lower()}:{n}" for first, last, state, n in batches)


def _offsets(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _range(word: str) -> tuple[int, int]:
    first, _, last = word.partition("-")
    return int(first), int(last or first)


def _batch(word: str) -> Batch:
    offsets, state, deliveries = word.split(":")
    return Batch(*_range(offsets), State[state.upper()], int(deliveries))


def _said(word: str) -> Acknowledgement:
    offsets, kinds = word.split(":")
    return Acknowledgement(*_range(offsets), [TYPES.index(kind) for kind in kinds.split(",")])
