"""What came out, read back from where the pipeline wrote it, and held against the batch computation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from demo.truth import Truth, compute
from moldau import KafkaConsumer


class Check(NamedTuple):
    claim: str
    found: str
    holds: bool


@dataclass(slots=True)
class Evidence:
    truth: Truth
    windows: dict[tuple[str, str], list[int]]
    updates: int
    reasons: Counter[str]
    samples: list[tuple[str, str]]
    segments: Counter[str]
    history: list[dict[str, float]]
    records: int
    checks: list[Check] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)


def collect(bootstrap: str, work: Path, history: list[dict[str, float]]) -> Evidence:
    orders = _records(bootstrap, "orders")
    truth = compute(sorted(orders, key=lambda record: record.timestamp), work / "customers.csv")
    revenue = _records(bootstrap, "revenue")
    dead = _records(bootstrap, "orders-dead")
    archive = _archive(work / "archive")
    stories = [{name: (value or b"").decode() for name, value in record.headers} for record in dead]
    evidence = Evidence(
        truth=truth,
        windows=_windows(revenue),
        updates=len(revenue),
        reasons=Counter(_short(story["reason"]) for story in stories),
        samples=_samples(dead, stories),
        segments=Counter(),
        history=history,
        records=len(orders),
    )
    for segment, cents in zip(archive["segment"], archive["cents"], strict=True):
        evidence.segments[segment or "unknown"] += cents
    evidence.checks = [
        _check_windows(evidence),
        _check_updates(revenue),
        _check_archive(archive, truth),
        _check_dead(stories, truth),
    ]
    return evidence


def _check_windows(evidence: Evidence) -> Check:
    truth = evidence.truth
    differ = [
        key
        for key in truth.windows.keys() | evidence.windows.keys()
        if truth.windows.get(key) != evidence.windows.get(key)
    ]
    total = sum(sums[0] for sums in evidence.windows.values())
    found = f"{len(evidence.windows)} windows, {total / 100:,.2f} in revenue, to the cent"
    if differ:
        key = min(differ)
        found = f"{len(differ)} windows differ, {key}: {evidence.windows.get(key)} instead of {truth.windows.get(key)}"
    return Check("revenue per region and quarter of an hour equals the batch", found, not differ)


def _check_updates(revenue: list[Any]) -> Check:
    """A window's count only grows, so the same count twice is a batch that was written twice."""
    counts = Counter((record.key, json.loads(record.value)["orders"]) for record in revenue)
    twice = sum(1 for count in counts.values() if count > 1)
    return Check("no update of a window was written twice", f"{len(revenue):,} updates, {twice} repeated", twice == 0)


def _check_archive(archive: dict[str, list[Any]], truth: Truth) -> Check:
    found = Counter(archive["order"])
    holds = found == truth.orders and sum(archive["cents"]) == truth.cents
    lost, extra = sum((truth.orders - found).values()), sum((found - truth.orders).values())
    text = f"{sum(found.values()):,} orders"
    text += f", {truth.repeated:,} repeated ones left out" if holds else f", {lost} lost, {extra} too many"
    return Check("every good order is in Parquet once", text, holds)


def _check_dead(stories: list[dict[str, str]], truth: Truth) -> Check:
    found = Counter((int(story["partition"]), int(story["offset"])) for story in stories)
    holds = found == Counter(truth.dead)
    return Check("every bad record is a dead letter once", f"{sum(found.values()):,} of {len(truth.dead):,}", holds)


# ----------------------------------------------------------------------------------------------------------- reading


def _records(bootstrap: str, topic: str) -> list[Any]:
    """Everything committed in a topic."""
    with KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        group_id=None,
        isolation_level="read_committed",
        consumer_timeout_ms=1500,
    ) as consumer:
        return list(consumer)


def _windows(revenue: list[Any]) -> dict[tuple[str, str], list[int]]:
    """The topic as a table: of each key the last record."""
    table: dict[tuple[str, str], list[int]] = {}
    for record in sorted(revenue, key=lambda record: (record.partition, record.offset)):
        row = json.loads(record.value)
        region, _, start = record.key.decode().rpartition(" ")
        table[region, start] = [row["cents"], row["orders"], row["business"]]
    return table


def _archive(directory: Path) -> dict[str, list[Any]]:
    """By the list of files that Spark keeps beside them: a killed batch may leave files that do not count."""
    import pyarrow.parquet

    files: dict[str, None] = {}
    log = directory / "_spark_metadata"
    names = sorted(
        (each for each in log.iterdir() if each.name.partition(".")[0].isdigit()),
        key=lambda each: (int(each.name.partition(".")[0]), each.suffix != ".compact"),
    )
    for each in names:
        for line in each.read_text().splitlines()[1:]:
            files[json.loads(line)["path"].removeprefix("file://")] = None
    columns: dict[str, list[Any]] = {"order": [], "cents": [], "segment": []}
    for path in files:
        table = pyarrow.parquet.ParquetFile(path).read(columns=list(columns))
        for name in columns:
            columns[name] += table.column(name).to_pylist()
    return columns


def _short(reason: str) -> str:
    """Reasons by kind, without what is particular to one record."""
    if reason.startswith("expected: "):
        return reason
    head = reason.split(": ")[0].split(", not of type")[0]
    return "not UTF-8" if head.endswith("is not UTF-8") else head


def _samples(dead: list[Any], stories: list[dict[str, str]]) -> list[tuple[str, str]]:
    seen: dict[str, tuple[str, str]] = {}
    for record, story in zip(dead, stories, strict=True):
        seen.setdefault(
            _short(story["reason"]), (story["reason"], (record.value or b"").decode(errors="replace")[:110])
        )
    return list(seen.values())
