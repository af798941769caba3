"""Pipelines on Spark: the list, and one with what each of its sinks has done."""

from __future__ import annotations

from typing import NamedTuple

from starlette.responses import Response

from moldau.console.listing import listing
from moldau.console.pipelines import Pipeline, Query, lag_of
from moldau.console.visits import Refused, Visit
from moldau.types import TopicPartition


class QueryRow(NamedTuple):
    query: Query
    lag: int | None

    @property
    def topics(self) -> list[str]:
        return sorted({where.topic for where in self.query.positions})


class Row(NamedTuple):
    pipeline: Pipeline
    lag: int | None


def pipelines(visit: Visit) -> Response:
    known = visit.console.watch.pipelines
    ends = _ends(visit)
    rows = [Row(each, each.lag(ends)) for each in known.found.values()]
    return visit.page(
        "pipelines.html",
        "Pipelines",
        pipelines=listing(
            visit,
            rows,
            lambda row: f"{row.pipeline.name} {row.pipeline.state}",
            {
                "name": lambda row: row.pipeline.name.lower(),
                "state": lambda row: row.pipeline.state,
                "rate": lambda row: row.pipeline.rate,
                "lag": lambda row: row.lag,
                "rows": lambda row: row.pipeline.rows,
            },
            "name",
        ),
        looked_in=known.places,
        problems=known.problems,
        rate_of=known.rates.get,
    )


def pipeline(visit: Visit) -> Response:
    known = visit.console.watch.pipelines
    found = known.found.get(visit.query("file"))
    if found is None:
        raise Refused("There is no such pipeline.", 404)
    ends = _ends(visit)
    return visit.page(
        "pipeline.html",
        found.name,
        pipeline=found,
        queries=[QueryRow(each, lag_of(each, ends)) for each in found.queries],
        lag=found.lag(ends),
        rates=known.rates.get(found.path),
        lags=known.lags.get(found.path),
        topics=frozenset(visit.console.watch.snapshot.topics) if visit.console.watch.snapshot else frozenset(),
    )


def _ends(visit: Visit) -> dict[TopicPartition, int]:
    seen = visit.console.watch.snapshot
    return {} if seen is None else dict(seen.ends)
