"""How a running pipeline looks: a block that redraws itself on a terminal, one line per batch anywhere else."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final

from moldau.cli.table import print_table
from moldau.quantities import counted, format_size, format_time

if TYPE_CHECKING:
    from moldau.spark.pipeline import Pipeline
    from moldau.spark.pipeline.measures import Measure
    from moldau.spark.pipeline.status import Status

_INTERVAL: Final = 0.5
_BARS: Final = "▁▂▃▄▅▆▇█"
_HISTORY: Final = 40
_HEAD: Final = ("SINK", "BATCH", "ROWS", "ROWS/S", "LAG", "BATCH TIME", "STATE", "")
_SENTENCES: Final = {
    "finished": "finished: everything that was there has been read.",
    "stopped": "stopped; the next run goes on where this one ended.",
}


class Display:
    """`show` is what a Supervisor calls. Everything goes to standard error, so that a console sink has the output."""

    def __init__(self, pipeline: Pipeline, *, plain: bool) -> None:
        self._name = pipeline.name
        self._live = sys.stderr.isatty() and not plain
        self._began = time.monotonic()
        self._next = 0.0
        self._height = 0
        self._told: dict[str, int] = {}
        self._state = ""
        self._rates: list[float] = []
        self._rows = 0
        self._at = self._began

    def __enter__(self) -> Display:
        self._say(f"{self._name}: starting Spark ...")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._height = 0

    def stopping(self) -> None:
        self._clear()
        self._say(f"{self._name}: stopping ... (once more ends at once)")

    def show(self, measures: Mapping[str, Measure], state: str, error: str | None) -> None:
        if state != self._state:
            self._change(measures, state, error)
        elif self._live:
            if time.monotonic() >= self._next:
                self._redraw(measures)
        else:
            self._tell_batches(measures)

    # ----------------------------------------------------------------------------------------------------- inside

    def _change(self, measures: Mapping[str, Measure], state: str, error: str | None) -> None:
        self._state = state
        if self._live and measures:
            self._redraw(measures)
            self._height = 0  # what is on the screen stays there
        else:
            self._tell_batches(measures)
        if state == "waiting":
            self._say(f"{self._name}: {error} Trying again.")
        elif state in _SENTENCES:
            # A query that reads a source twice counts it twice; the others know better.
            rows = min((measure.rows for measure in measures.values() if measure.rows), default=0)
            seconds = time.monotonic() - self._began
            self._say(f"{self._name}: {_SENTENCES[state]} {counted(rows, 'row')} read in {seconds:.0f} s.")
        elif state == "running" and not self._live:
            self._say(f"{self._name}: running; {counted(len(measures), 'query').replace('querys', 'queries')}.")

    def _tell_batches(self, measures: Mapping[str, Measure]) -> None:
        for name, measure in measures.items():
            if measure.batch >= 0 and measure.batch != self._told.get(name, -1):
                self._told[name] = measure.batch
                self._say(f"{time.strftime('%H:%M:%S')} {name}: batch {measure.batch}, {', '.join(_words(measure))}")

    def _redraw(self, measures: Mapping[str, Measure]) -> None:
        now = time.monotonic()
        self._next = now + _INTERVAL
        rows = max((measure.rows for measure in measures.values()), default=0)
        if now > self._at:
            self._rates = [*self._rates, max(0.0, (rows - self._rows) / (now - self._at))][-_HISTORY:]
        self._rows, self._at = rows, now
        seconds = int(now - self._began)
        lines = [f"{self._name}  {seconds // 60}:{seconds % 60:02}  {_bars(self._rates)}", *_table(measures)]
        width = shutil.get_terminal_size().columns - 1
        self._clear()
        sys.stderr.write("".join(f"{line[:width]}\n" for line in lines))
        sys.stderr.flush()
        self._height = len(lines)

    def _clear(self) -> None:
        if self._height:
            sys.stderr.write(f"\x1b[{self._height}F\x1b[J")
            self._height = 0

    def _say(self, sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)


def _words(measure: Measure) -> list[str]:
    rate = f"{measure.rows_per_second:,.0f} rows/s"
    words = [f"{measure.rows:,} rows so far", rate, f"{measure.batch_seconds:.1f} s"]
    if measure.lag is not None:
        words.append(f"lag {measure.lag:,}")
    if measure.state_rows:
        words.append(f"state {measure.state_rows:,} rows, {format_size(measure.state_bytes)}")
    return words


def _bars(rates: list[float]) -> str:
    top = max(rates, default=0.0) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, int(rate / top * len(_BARS)))] for rate in rates)


def _table(measures: Mapping[str, Measure]) -> list[str]:
    rows = [list(_HEAD)] + [
        [
            name,
            str(measure.batch) if measure.batch >= 0 else "-",
            f"{measure.rows:,}",
            f"{measure.rows_per_second:,.0f}",
            "-" if measure.lag is None else f"{measure.lag:,}",
            f"{measure.batch_seconds:.1f} s" if measure.batch >= 0 else "-",
            f"{measure.state_rows:,} rows, {format_size(measure.state_bytes)}" if measure.state_rows else "-",
            measure.state,
        ]
        for name, measure in measures.items()
    ]
    widths = [max(len(row[index]) for row in rows) for index in range(len(_HEAD))]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if 0 < index < len(_HEAD) - 1 else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def print_status(status: Status, lags: Mapping[str, int | None]) -> None:
    """What `moldau pipeline status` shows."""
    state = "killed" if status.killed else status.state
    began = format_time(int(status.started * 1000))
    again = f", restarted {counted(status.restarts, 'time')}" if status.restarts else ""
    where = f"process {status.pid} on {status.host}, {status.master}"
    print(f"{status.pipeline} is {state} ({where}), started {began}{again}.")
    if status.error:
        print(f"The last failure: {status.error}")
    print_table(
        ["SINK", "STATE", "BATCH", "ROWS", "ROWS/S", "BATCH TIME", "STATE ROWS", "STATE SIZE", "LAG NOW", "WATERMARK"],
        [
            [
                query["query"],
                state if state in ("killed", "failed") and query["state"] == "running" else query["state"],
                query["batch"] if query["batch"] >= 0 else None,
                query["rows"],
                round(query["rows_per_second"]),
                f"{query['batch_seconds']:.1f} s",
                query["state_rows"] or None,
                format_size(query["state_bytes"]) if query["state_bytes"] else None,
                lags.get(query["query"]),
                query["watermark"],
            ]
            for query in status.queries
        ],
    )
