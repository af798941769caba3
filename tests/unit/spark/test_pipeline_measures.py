"""The numbers kept of Spark's reports, the lag among them; and why records were bad."""

from __future__ import annotations

import json

import pytest

from moldau.spark.pipeline.measures import Measure, add_progress, distance
from moldau.spark.pipeline.reasons import explain


def progress(batch: int, rows: int, end: object, latest: object) -> dict[str, object]:
    return {
        "batchId": batch,
        "numInputRows": rows,
        "durationMs": {"triggerExecution": 500},
        "stateOperators": [
            {"numRowsTotal": 10, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 1},
            {"numRowsTotal": 5, "memoryUsedBytes": 50},
        ],
        "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
        "sources": [{"endOffset": end, "latestOffset": latest}],
    }


def test_reports_add_up() -> None:
    measure = Measure("out")
    add_progress(measure, progress(0, 100, {"orders": {"0": 60, "1": 40}}, {"orders": {"0": 80, "1": 40}}))
    add_progress(measure, progress(1, 20, {"orders": {"0": 80, "1": 40}}, {"orders": {"0": 80, "1": 40}}))
    assert (measure.batch, measure.rows, measure.rows_per_second, measure.batch_seconds) == (1, 120, 40.0, 0.5)
    assert (measure.state_rows, measure.state_bytes, measure.late_rows) == (15, 150, 2)
    assert measure.lag == 0
    assert measure.positions == {"orders": {"0": 80, "1": 40}}


def test_the_lag_is_what_lies_between() -> None:
    measure = Measure("out")
    end = json.dumps({"@start": {"orders": {"0": 0}}, "orders": {"0": 60, "1": 40}})
    add_progress(measure, progress(0, 100, end, json.dumps({"orders": {"0": 80, "1": 45}})))
    assert measure.lag == 25


def test_a_partition_nobody_has_read_counts_whole() -> None:
    assert distance({"orders": {"0": 5}}, {"orders": {"0": 7, "1": 10}, "more": {"0": 1}}) == 13


@pytest.mark.parametrize("offset", [None, 17, "x", {"logOffset": 3}, '{"files": [1]}'])
def test_sources_that_are_no_topics_have_no_lag(offset: object) -> None:
    measure = Measure("out")
    add_progress(measure, progress(0, 1, offset, offset))
    assert measure.lag is None
    assert measure.positions == {}


_SCHEMA = json.dumps(
    {
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "amount", "type": "double"},
            {"name": "items", "type": "integer"},
            {"name": "at", "type": "timestamp"},
            {"name": "tags", "type": {"type": "array"}},
        ]
    }
)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the record has no value"),
        (b"", "the value is empty"),
        (b"\xff\xfe", "byte 0 is not UTF-8"),
        (b'{"id": ', "not JSON: expecting value at character 7"),
        (b'{"id": "a', "not JSON: unterminated string starting at character 7"),
        (b"[]", "the JSON is an array, not an object"),
        (b"null", "the JSON is null, not an object"),
        (b'{"amount": "much"}', 'amount is "much", not of type double'),
        (b'{"items": 1.5}', "items is 1.5, not of type integer"),
        (b'{"items": true}', "items is true, not of type integer"),
        (b'{"at": "yesterday"}', 'at is "yesterday", not of type timestamp'),
        (b'{"tags": 1}', "tags is 1, not of type array"),
        (b'{"id": "a", "amount": 1}', "the fields do not fit the schema"),
        (b"[" * 100_000, "not JSON that can be read: nested too deeply"),
    ],
)
def test_why_a_record_is_bad(value: bytes | None, reason: str) -> None:
    assert explain("json", value, _SCHEMA) == reason


def test_why_a_row_of_csv_is_bad() -> None:
    schema = json.dumps({"fields": [{"name": "id", "type": "integer"}, {"name": "name", "type": "string"}]})
    assert explain("csv", b"1,2,3", schema) == "3 columns, not 2"
    assert explain("csv", b"x,2", schema) == 'id is "x", not of type integer'
