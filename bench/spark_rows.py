"""Spark's rows are a program of their own, `python -m bench.spark`: they need a Java machine, PySpark and minutes.

Here it is run and its numbers are taken over. Without Spark's own connector (Maven's registry may be out of reach) it
is run once more for ours alone, and the reason stands in the table; without PySpark the report says so.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.results import Metric, Results
from bench.schedule import to_stderr

CHAPTER = "Spark"
PROGRAM = Path(__file__).with_name("spark.py")
FILE = Path("build/bench/spark.json")
PEER = "Spark's connector"
NAMES = {"kafka": PEER}
ROWS_S = Metric("rows/s", "/s")
CPU = Metric("CPU", "s per million rows", more_is_better=False)
PATIENCE_SECONDS = 1800


def estimate(*, quick: bool, peers: bool) -> float:
    if not PROGRAM.exists():
        return 0.0
    return (60.0 if quick else 90.0) * (2 if peers else 1)


def measure(results: Results, *, quick: bool, peers: bool) -> None:
    if not PROGRAM.exists():
        results.about["Spark"] = "not measured: bench/spark.py is not there"
        return
    why = run(quick=quick, peers=peers)
    if why and peers:
        results.about[PEER] = f"did not take part: {why}"
        why = run(quick=quick, peers=False)
    if why:
        results.about["Spark"] = f"not measured: {why}"
        to_stderr(f"Spark is not measured: {why}")
        return
    merge(results, json.loads(FILE.read_text()))
    if results.about.get(PEER):
        for row in {each.row for each in results.of_chapter(CHAPTER)}:
            results.reasons[row, PEER] = str(results.about[PEER])


def run(*, quick: bool, peers: bool) -> str:
    """Why it did not work; empty if the file is there."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.unlink(missing_ok=True)
    words = ["--quick"] if quick else ["--records", "3000000", "--repetitions", "3"]
    words += ["--peers"] if peers else []
    to_stderr(" ".join(["Spark: python -m bench.spark", *words]))
    command = [sys.executable, "-m", "bench.spark", *words, "--json", str(FILE)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"it took more than {PATIENCE_SECONDS // 60} minutes"
    if FILE.exists() and done.returncode == 0:
        return ""
    log = FILE.with_suffix(".log")
    log.write_text(done.stdout + done.stderr)
    return f"{complaint(done.stderr) or f'it ended with {done.returncode}'} (all it said: {log})"


def complaint(said: str) -> str:
    """The line that names the error: the last one of a trace from Java is often only the end of a sentence."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"(Error|Exception)\b.*:|could not|cannot", line)]
    return (named or lines or [""])[-1][:200]


def merge(results: Results, data: dict[str, Any]) -> None:
    """What `bench.spark` wrote, under the names of this report."""
    for title, found in data["rows"].items():
        row = f"Spark: {title}"
        for metric, values in ((ROWS_S, found["rows/s"]), (CPU, found["CPU s per million"])):
            for name, each in values.items():
                results.add(CHAPTER, row, metric, NAMES.get(name, name), *each)
        for name, why in found["failures"].items():
            results.reasons[row, NAMES.get(name, name)] = why
