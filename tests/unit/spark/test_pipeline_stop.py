"""Stopping a run: what its queries did until the very end is in the numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from moldau.spark.pipeline.running import Run


class Query:
    """A query of which the last batch is reported while it is being stopped."""

    isActive = True
    status = {"isTriggerActive": False}
    lastProgress = None

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []

    def stop(self) -> None:
        self.recentProgress.append(
            {
                "batchId": 4,
                "timestamp": "2026-01-01T00:00:00.000Z",
                "numInputRows": 1,
                "sources": [{"endOffset": {"orders": {"0": 11}}, "latestOffset": {"orders": {"0": 11}}}],
            }
        )


def run_of(query: Query) -> Run:
    pipeline = SimpleNamespace(outputs=[SimpleNamespace(name="out")])
    run = Run(pipeline)  # type: ignore[arg-type]
    run.queries["out"] = query  # type: ignore[assignment]
    return run


def test_a_batch_that_ends_with_the_stop_counts() -> None:
    run = run_of(Query())
    run.stop()
    measure = run.measures["out"]
    assert (measure.state, measure.rows, measure.lag) == ("stopped", 1, 0)
    assert measure.positions == {"orders": {"0": 11}}


def test_what_failed_stays_failed() -> None:
    run = run_of(Query())
    run.measures["out"].state = "failed"
    run.stop()
    assert run.measures["out"].state == "failed"
