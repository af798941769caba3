"""The small files beside the logs: producer snapshots, checkpoints, properties, quorum state."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from moldau.config.definition import ConfigError
from moldau.config.properties import decode_properties
from moldau.storage.producer_snapshot import CorruptSnapshot, decode_snapshot


class State(NamedTuple):
    """A file as a table: columns, rows, and what is wrong with it."""

    columns: list[str]
    rows: list[list[Any]]
    problems: list[str]


def producer_snapshot(data: bytes) -> State:
    columns = ["producer_id", "epoch", "last_sequence", "last_offset", "offset_delta", "timestamp"]
    columns += ["coordinator_epoch", "transaction_start"]
    try:
        entries = decode_snapshot(data)
    except CorruptSnapshot as error:
        return State(columns, [], [f"is damaged: {error}"])
    rows: list[list[Any]] = []
    for entry in entries:
        last = entry.batches[-1] if entry.batches else None
        sequence = [last.last_sequence, last.last_offset, last.offset_delta] if last else [-1, -1, 0]
        transaction = [entry.coordinator_epoch, entry.transaction_start]
        rows.append([entry.producer_id, entry.epoch, *sequence, entry.last_timestamp, *transaction])
    return State(columns, rows, [])


def epoch_checkpoint(data: bytes) -> State:
    state = _checkpoint(data, ["epoch", "start_offset"])
    problems = list(state.problems)
    for earlier, later in zip(state.rows, state.rows[1:], strict=False):
        if later[0] <= earlier[0] or later[1] <= earlier[1]:
            problems.append(
                f"is out of order: epoch {later[0]} at offset {later[1]} follows {earlier[0]} at {earlier[1]}"
            )
    return State(state.columns, state.rows, problems)


def offset_checkpoint(data: bytes) -> State:
    return _checkpoint(data, ["topic", "partition", "offset"])


def properties(data: bytes) -> State:
    """`meta.properties` and `partition.metadata`: names and values."""
    try:
        return State(["name", "value"], [[name, value] for name, value in decode_properties(data).items()], [])
    except ConfigError as error:
        return State(["name", "value"], [], [f"is damaged: {error}"])


def quorum_state(data: bytes) -> State:
    try:
        content = json.loads(data)
        if not isinstance(content, dict):
            raise ValueError("it holds no object")
    except ValueError as error:
        return State(["name", "value"], [], [f"is damaged: {error}"])
    return State(["name", "value"], [[name, value] for name, value in content.items()], [])


def _checkpoint(data: bytes, columns: list[str]) -> State:
    """A version, a count, then lines of words; all but a topic are numbers."""
    lines = data.decode(errors="replace").splitlines()
    if not lines:
        # Kafka creates these files empty and fills them later.
        return State(columns, [], [])
    if lines[0].strip() != "0":
        return State(columns, [], [f"has version {lines[0].strip()!r}, which is not known"])
    problems: list[str] = []
    if len(lines) < 2 or lines[1].strip() != str(len(lines) - 2):
        problems.append(f"announces {lines[1].strip() if len(lines) > 1 else 'no'} entries and holds {len(lines) - 2}")
    rows: list[list[Any]] = []
    for line in lines[2:]:
        words = line.split()
        try:
            if len(words) != len(columns):
                raise ValueError
            rows.append([word if name == "topic" else int(word) for name, word in zip(columns, words, strict=True)])
        except ValueError:
            problems.append(f"has a line that is no entry: {line!r}")
    return State(columns, rows, problems)
