"""What is measured, chapter by chapter, in the order of the report. A row runs one load against one contender."""

from __future__ import annotations

from bench.rows import connections, consume, growth, hostile, latency, produce, start, tools
from bench.rows.row import Row

ROWS: list[Row] = [
    *produce.ROWS,
    *consume.ROWS,
    *latency.ROWS,
    *connections.ROWS,
    *growth.ROWS,
    *hostile.ROWS,
    *start.ROWS,
    *tools.ROWS,
]
