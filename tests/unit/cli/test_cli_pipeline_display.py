"""How a run looks: lines where nobody watches, a block that redraws itself on a terminal."""

from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from moldau.cli.pipeline_display import Display
from moldau.spark.pipeline.measures import Measure


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def measures(rows: int, batch: int) -> dict[str, Measure]:
    out = Measure("out", state="running", batch=batch, rows=rows, rows_per_second=250.0, batch_seconds=0.4, lag=7)
    return {"out": out, "idle": Measure("idle")}


PIPELINE: Any = SimpleNamespace(name="orders")


def test_a_line_per_batch_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(PIPELINE, plain=True) as display:
        display.show({}, "starting", None)
        display.show(measures(100, 0), "running", None)
        display.show(measures(100, 0), "running", None)
        display.show(measures(1200, 1), "running", None)
        display.show(measures(1200, 1), "waiting", "p.yaml:3: it failed.")
        display.show(measures(1200, 1), "stopped", None)
    lines = [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "orders: starting Spark ...",
        "out: batch 0, 100 rows so far, 250 rows/s, 0.4 s, lag 7",
        "orders: running; 2 queries.",
        "out: batch 1, 1,200 rows so far, 250 rows/s, 0.4 s, lag 7",
        "orders: p.yaml:3: it failed. Trying again.",
        "orders: stopped; the next run goes on where this one ended. 1,200 rows read in 0 s.",
    ]


def test_a_block_that_redraws_itself_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Display(PIPELINE, plain=False) as display:
        display.show(measures(100, 0), "running", None)
        display._next = 0.0  # as if half a second had passed
        display.show(measures(5000, 1), "running", None)
        display._next = 0.0
        display.show(measures(9000, 2), "running", None)
        display.show(measures(9000, 2), "finished", None)
    text = terminal.getvalue()
    assert "\x1b[4F\x1b[J" in text  # back over the block of four lines
    last = text.rsplit("\x1b[J", 1)[1].splitlines()
    assert last[1].split() == ["SINK", "BATCH", "ROWS", "ROWS/S", "LAG", "BATCH", "TIME", "STATE"]
    assert last[2].split() == ["out", "2", "9,000", "250", "7", "0.4", "s", "-", "running"]
    assert last[-1].startswith("orders: finished: everything that was there has been read. 9,000 rows read")
