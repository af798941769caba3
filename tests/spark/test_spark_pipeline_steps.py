"""Every kind of step on a real session, fed from files, so that what is tested is the pipeline and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from moldau.spark.pipeline import Pipeline, PipelineError, load
from moldau.spark.pipeline.assembly import build
from moldau.spark.pipeline.running import start

_ORDERS = [
    '{"id": "1", "region": "north", "amount": 10.5, "at": "2026-01-01T00:00:05Z"}',
    '{"id": "2", "region": "south", "amount": 20, "at": "2026-01-01T00:00:15Z"}',
    '{"id": "1", "region": "north", "amount": 10.5, "at": "2026-01-01T00:00:05Z"}',
    '{"id": "3", "region": "north", "amount": -4, "at": "2026-01-01T00:01:10Z"}',
    '{"id": "4", "region": "north", "amount": "much", "at": "2026-01-01T00:01:20Z"}',
    '{"region": "north", "amount": 1, "at": "2026-01-01T00:01:20Z"}',
    '{"id": "5", "region": ',
    '{"id": "6", "region": "west", "amount": 7, "at": "2026-01-01T00:01:30Z"}',
]

_HEAD = """\
pipeline: p
sources:
  lines: {file: in, format: text, stream: true}
  regions:
    schema: region STRING, manager STRING
    rows: [[north, Libuse], [south, Premysl]]
steps:
  parsed:
    from: lines
    parse: json
    schema: id STRING, region STRING, amount DOUBLE, at TIMESTAMP
    required: [id]
"""

Make = Callable[..., Pipeline]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a pipeline and its input; returns it loaded."""
    (tmp_path / "in").mkdir()

    def write(rest: str, lines: list[str] | None = None, head: str = _HEAD) -> Pipeline:
        (tmp_path / "in" / "one.txt").write_text("\n".join(_ORDERS if lines is None else lines) + "\n")
        path = tmp_path / "p.yaml"
        path.write_text(head + dedent(rest))
        return load(str(path))

    return write


def run(spark: Any, pipeline: Pipeline) -> None:
    started = start(spark, pipeline, once=True)
    try:
        started.await_end()
    finally:
        started.stop()


def rows(spark: Any, table: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in spark.table(table).collect()]


def test_good_and_bad_records_part_ways_and_each_bad_one_has_its_reason(spark: Any, make: Make) -> None:
    pipeline = make(
        """\
          sane: {from: parsed, expect: {the amount is positive: amount > 0}}
        sinks:
          good: {from: sane, memory: pl_good}
        dead_letters: {memory: pl_bad}
        """
    )
    run(spark, pipeline)
    assert sorted(row["id"] for row in rows(spark, "pl_good")) == ["1", "1", "2", "6"]
    bad = {(row["step"], row["reason"]): bytes(row["value"]).decode() for row in rows(spark, "pl_bad")}
    assert set(bad) == {
        ("parsed", 'amount is "much", not of type double'),
        ("parsed", "id is missing"),
        ("parsed", "not JSON: expecting value at character 22"),
        ("sane", "expected: the amount is positive"),
    }
    assert bad["parsed", "id is missing"] == _ORDERS[5]
    assert json.loads(bad["sane", "expected: the amount is positive"])["id"] == "3"


def test_deduplicate_join_and_windows(spark: Any, make: Make) -> None:
    pipeline = make(
        """\
            bad: drop
          unique: {from: parsed, deduplicate: id, time: at, within: 10 minutes}
          enriched: {from: unique, join: regions, using: region, how: left}
          revenue:
            from: enriched
            aggregate: {revenue: sum(amount), orders: count(*)}
            by: [region, manager]
            time: at
            window: 1 minute
            watermark: 10 minutes
        sinks:
          revenue: {from: revenue, memory: pl_revenue, mode: update}
        """
    )
    run(spark, pipeline)
    found = {
        (row["window_start"].minute, row["region"], row["manager"], row["revenue"], row["orders"])
        for row in rows(spark, "pl_revenue")
    }
    assert found == {
        (0, "north", "Libuse", 10.5, 1),
        (0, "south", "Premysl", 20.0, 1),
        (1, "north", "Libuse", -4.0, 1),
        (1, "west", None, 7.0, 1),
    }


def test_sql_python_select_add_filter_union(spark: Any, make: Make, tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(
        "def doubled(orders, column):\n    return orders.withColumn('double', orders[column] * 2)\n"
    )
    pipeline = make(
        """\
            bad: drop
          north: {sql: "SELECT o.*, manager FROM parsed o JOIN regions USING (region) WHERE region = 'north'"}
          south: {from: parsed, filter: region = 'south'}
          named: {from: south, add: {manager: "'nobody'"}}
          both: {from: named, union: north}
          doubled: {from: both, python: "functions.py:doubled", arguments: {column: amount}}
          few: {from: doubled, select: [id, manager, {twice: double}]}
        sinks:
          out: {from: few, memory: pl_few}
        """
    )
    run(spark, pipeline)
    assert sorted((row["id"], row["manager"], row["twice"]) for row in rows(spark, "pl_few")) == [
        ("1", "Libuse", 21.0),
        ("1", "Libuse", 21.0),
        ("2", "nobody", 40.0),
        ("3", "Libuse", -8.0),
    ]


def test_csv_with_reasons(spark: Any, make: Make) -> None:
    head = "pipeline: p\nsources:\n  lines: {file: in, format: text, stream: true}\nsteps:\n"
    pipeline = make(
        """\
          parsed: {from: lines, parse: csv, schema: "id INT, name STRING"}
        sinks:
          good: {from: parsed, memory: pl_csv}
        dead_letters: {memory: pl_csv_bad}
        """,
        ["1,a", "x,b", "1,2,3"],
        head,
    )
    run(spark, pipeline)
    assert rows(spark, "pl_csv") == [{"id": 1, "name": "a"}]
    assert {row["reason"] for row in rows(spark, "pl_csv_bad")} == {
        'id is "x", not of type integer',
        "3 columns, not 2",
    }


def test_a_bad_record_stops_the_pipeline_if_it_says_so(spark: Any, make: Make) -> None:
    pipeline = make("    bad: fail\nsinks:\n  out: {from: parsed, memory: pl_fail}\n")
    with pytest.raises(PipelineError, match=r"p\.yaml:8: step `parsed` met a bad record"):
        run(spark, pipeline)


def test_a_state_per_group_through_a_python_function(spark: Any, make: Make, tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(
        dedent(
            """\
            import pandas

            def count(key, frames, state):
                seen = state.get[0] if state.exists else 0
                seen += sum(len(frame) for frame in frames)
                state.update((seen,))
                yield pandas.DataFrame({"region": [key[0]], "seen": [seen]})
            """
        )
    )
    pipeline = make(
        """\
            bad: drop
          counted:
            from: parsed
            stateful: functions.py:count
            by: region
            state: seen BIGINT
            output: region STRING, seen BIGINT
            mode: update
        sinks:
          out: {from: counted, memory: pl_counted, mode: update}
        """
    )
    run(spark, pipeline)
    assert {(row["region"], row["seen"]) for row in rows(spark, "pl_counted")} == {
        ("north", 3),
        ("south", 1),
        ("west", 1),
    }


def test_files_are_written_and_a_second_run_goes_on_where_the_first_ended(
    spark: Any, make: Make, tmp_path: Path
) -> None:
    pipeline = make("    bad: drop\nsinks:\n  out: {from: parsed, parquet: out, partition_by: region}\n")
    run(spark, pipeline)
    (tmp_path / "in" / "two.txt").write_text('{"id": "9", "region": "east", "amount": 1}\n')
    run(spark, pipeline)
    found = spark.read.parquet(str(tmp_path / "out"))
    assert sorted(row["id"] for row in found.collect()) == ["1", "1", "2", "3", "6", "9"]
    assert (tmp_path / "out" / "region=east").is_dir()


def test_without_a_stream_everything_is_written_once(spark: Any, make: Make, tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text("def keep(batch, number):\n    batch.createOrReplaceTempView('pl_kept')\n")
    pipeline = make(
        """\
        sinks:
          out: {from: parsed, python: "functions.py:keep"}
        dead_letters: {parquet: dead}
        """,
        head=_HEAD.replace("stream: true", "stream: false"),
    )
    assert not pipeline.streaming
    run(spark, pipeline)
    assert spark.table("pl_kept").count() == 5
    assert spark.read.parquet(str(tmp_path / "dead")).count() == 3


def test_spark_s_complaints_have_a_line(spark: Any, make: Make) -> None:
    pipeline = make("    bad: drop\n  f: {from: parsed, filter: amuont > 1}\nsinks:\n  out: {from: f, console: 1}\n")
    with pytest.raises(PipelineError, match=r"p\.yaml:14: step `f`: .*amuont"):
        build(spark, pipeline)


def test_a_function_that_is_not_there_is_named_with_its_neighbours(spark: Any, make: Make, tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text("def clean(frame):\n    return frame\n")
    pipeline = make(
        "    bad: drop\n  f: {from: parsed, python: 'functions.py:claen'}\nsinks:\n  out: {from: f, console: 1}\n"
    )
    with pytest.raises(PipelineError, match=r"p\.yaml:14: .*no function `claen`; did you mean `clean`"):
        build(spark, pipeline)


def test_a_database_is_written_and_read(spark: Any, make: Make, tmp_path: Path) -> None:
    url = f"jdbc:derby:memory:{tmp_path.name};create=true"
    run(spark, make(f"    bad: drop\nsinks:\n  out: {{from: parsed, jdbc: '{url}', table: orders}}\n"))
    path = tmp_path / "back.yaml"
    path.write_text(
        f"pipeline: back\nsources: {{orders: {{jdbc: '{url}', query: 'SELECT * FROM orders WHERE \"amount\" > 5'}}}}\n"
        "sinks: {out: {from: orders, memory: pl_back}}\n"
    )
    run(spark, load(str(path)))
    assert sorted(row.id for row in spark.table("pl_back").collect()) == ["1", "1", "2", "6"]


def test_delta_that_is_not_installed_is_said_so(spark: Any, make: Make) -> None:
    pipeline = make("    bad: drop\nsinks:\n  out: {from: parsed, delta: out}\n")
    with pytest.raises(PipelineError, match=r"p\.yaml:15: sink `out`: Delta is not installed: pip install delta-spark"):
        run(spark, pipeline)


@pytest.mark.long
def test_a_processor_with_state_of_its_own(spark: Any, make: Make, tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(
        dedent(
            """\
            import pandas
            from pyspark.sql.streaming import StatefulProcessor

            class Count(StatefulProcessor):
                def init(self, handle):
                    self.seen = handle.getValueState("seen", "n BIGINT")

                def handleInputRows(self, key, rows, timers):
                    seen = self.seen.get()[0] if self.seen.exists() else 0
                    seen += sum(len(frame) for frame in rows)
                    self.seen.update((seen,))
                    yield pandas.DataFrame({"region": [key[0]], "seen": [seen]})

                def close(self):
                    pass
            """
        )
    )
    pipeline = make(
        """\
            bad: drop
          counted: {from: parsed, processor: "functions.py:Count", by: region, output: "region STRING, seen BIGINT"}
        sinks:
          out: {from: counted, memory: pl_processed}
        """
    )
    run(spark, pipeline)
    assert {(row["region"], row["seen"]) for row in rows(spark, "pl_processed")} == {
        ("north", 3),
        ("south", 1),
        ("west", 1),
    }
