"""Reading what clients push."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_metrics import DELTA, attribute, counter, fixed, gauge, message, metrics_data, number, point

from moldau.errors import ProtocolError
from moldau.server.telemetry.otlp import MOST_FIELDS_OF_A_POINT, MetricsReader, Point


def read(data: bytes) -> list[Point]:
    return [each for each in MetricsReader(data).points() if each is not None]


def test_gauges_and_sums_with_their_attributes() -> None:
    data = metrics_data(
        gauge("queue.size", point(1.5, topic="rivers", partition=3), point(-7)),
        counter("sent", point(12, ok=True, share=0.5)),
        counter("sent.since", point(2), temporality=DELTA),
        resource={"client_rack": "a"},
    )
    rack = [("client_rack", "a")]
    assert read(data) == [
        Point("queue.size", rack, [("topic", "rivers"), ("partition", "3")], 1.5, False, False),
        Point("queue.size", rack, [], -7, False, False),
        Point("sent", rack, [("ok", "true"), ("share", "0.5")], 12, True, False),
        Point("sent.since", rack, [], 2, True, True),
    ]


def test_a_sum_that_may_fall_is_no_counter() -> None:
    data = metrics_data(message(2, message(1, b"open"), message(7, point(3), number(2, 2))))
    assert read(data) == [Point("open", [], [], 3, False, False)]


def test_what_clients_of_kafka_do_not_use_is_passed_over() -> None:
    histogram = message(2, message(1, b"h"), message(9, point(1)))
    without_value = message(1, fixed(4, 1.0), number(8, 1))
    array = message(7, message(1, b"list"), message(2, message(5, b"")))
    data = metrics_data(histogram, gauge("g", without_value, message(1, array, fixed(6, 4))), b"\x85\x01" + bytes(4))
    assert read(data + number(99, 5)) == [Point("g", [], [], 4, False, False)]


def test_nothing_pushed_is_nothing() -> None:
    assert read(b"") == []


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",
        b"\x0a\x05ab",
        b"\x0b",
        b"\xff" * 11,
        b"\x00\x01\x02",
        metrics_data(gauge("g", point(1)))[:-1],
        metrics_data(gauge("g", message(1, b"\x21\x00"))),
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        read(data)


def test_a_point_has_so_many_fields_and_no_more() -> None:
    few = [attribute(7, "a", "b")] * 100
    assert len(read(metrics_data(gauge("g", message(1, *few, fixed(6, 4)))))) == 1
    with pytest.raises(ProtocolError, match="more than"):
        read(metrics_data(gauge("g", message(1, *[number(60, 1)] * (MOST_FIELDS_OF_A_POINT + 1)))))


def test_a_push_has_so_many_fields_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moldau.server.telemetry.otlp.MOST_FIELDS", 100)
    with pytest.raises(ProtocolError, match="more than 100"):
        read(number(60, 1) * 101)


def test_there_is_a_place_to_pause_among_whatever_means_nothing() -> None:
    padding = number(60, 1) * 5000
    for data in (
        padding,
        message(1, padding),
        message(1, message(2, padding)),
        metrics_data(message(2, padding)),
        metrics_data(message(2, message(5, padding))),
        metrics_data(message(2, message(7, padding))),
    ):
        longest = run = 0
        reader = MetricsReader(data)
        fields = 0
        for _ in reader.points():
            run, fields = reader._fields - fields, reader._fields
            longest = max(longest, run)
        assert longest <= 2 * 200


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for whole in (data, metrics_data(message(2, data)), metrics_data(gauge("g", message(1, data)))):
        with suppress(ProtocolError):
            assert all(len(each.name) <= 256 for each in read(whole))
