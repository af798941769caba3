"""From measurements to a table for people and a file for machines."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import confluent_kafka

from bench.rows import Metric, Row

# By row, by metric, by contender: every repetition, in order.
Results = dict[str, dict[str, dict[str, list[float]]]]

# By row and contender: why there is no number.
Failures = dict[tuple[str, str], str]


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "moldau": version("moldau"),
        "commit": _commit(),
        "confluent-kafka": version("confluent-kafka"),
        "librdkafka": confluent_kafka.libversion()[0],
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def table(rows: list[Row], results: Results, contenders: list[str], failures: Failures) -> str:
    """One line per metric: the ratio to the last contender first, then the medians with their spread."""
    ours, *others = contenders
    lines = [["", "ratio", ours, *others, "goal"]]
    for row in rows:
        lines.append([row.title])
        for metric in row.metrics:
            found = results.get(row.title, {}).get(metric.name, {})
            cells = [_cell(metric, found.get(name, [])) for name in contenders]
            lines.append([f"  {metric.name}", _ratio(found, ours, others), *cells, _goal(metric, found, ours, others)])
        failed = [name for name in contenders if (row.title, name) in failures]
        lines.extend([f"  {name} failed: {failures[row.title, name]}"] for name in failed)
    return _aligned(lines)


def _cell(metric: Metric, values: list[float]) -> str:
    if not values:
        return "-"
    middle = _number(statistics.median(values))
    spread = f" ({_number(min(values))} to {_number(max(values))})" if len(values) > 1 else ""
    return f"{middle} {metric.unit}{spread}"


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def ratio(found: dict[str, list[float]], ours: str, others: list[str]) -> float | None:
    if not others or not found.get(ours) or not found.get(others[-1]):
        return None
    theirs = statistics.median(found[others[-1]])
    return statistics.median(found[ours]) / theirs if theirs else None


def _ratio(found: dict[str, list[float]], ours: str, others: list[str]) -> str:
    value = ratio(found, ours, others)
    return "" if value is None else f"{value:.2f} x"


def _goal(metric: Metric, found: dict[str, list[float]], ours: str, others: list[str]) -> str:
    """The goal, and whether the median of this run meets it."""
    if not metric.goal or not found.get(ours):
        return metric.goal
    sign, limit, *_ = metric.goal.split()
    value = ratio(found, ours, others) if "%" in metric.goal else statistics.median(found[ours])
    if value is None:
        return metric.goal
    wanted = float(limit) / 100 if "%" in metric.goal else float(limit)
    met = value >= wanted if sign == ">=" else value < wanted
    return f"{metric.goal}: {'met' if met else 'missed'}"


def _aligned(lines: list[list[str]]) -> str:
    columns = max(len(line) for line in lines)
    widths = [max((len(line[at]) for line in lines if len(line) > max(at, 1)), default=0) for at in range(columns)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip() for line in lines
    )


def write_json(path: Path, rows: list[Row], results: Results, failures: Failures) -> None:
    found = [
        {
            "row": row.title,
            "metric": metric.name,
            "unit": metric.unit,
            "more_is_better": metric.more_is_better,
            "goal": metric.goal or None,
            "values": results.get(row.title, {}).get(metric.name, {}),
        }
        for row in rows
        for metric in row.metrics
    ]
    failed = [{"row": row, "contender": name, "why": why} for (row, name), why in failures.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "measurements": found, "failures": failed}, indent=1) + "\n")
