"""Durations, sizes and moments as people write them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.moments import AtOffset, AtTime, Word, parse_moment
from moldau.quantities import counted, format_size, format_time, parse_duration, parse_size, parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5), ("1.5", 1.5), ("500ms", 0.5), ("30s", 30), ("1h30m", 5400), ("2d", 172800), ("1w", 604800)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "x", "5 apples", "-1", "1h30", "h", "inf", "nan"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("500", 500), ("64k", 65536), ("1.5MB", 1572864), ("2GiB", 1 << 31)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "k", "-1", "1x", "1 2"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@given(st.integers(0, 253_402_300_799_999))
def test_times_can_be_read_back(milliseconds: int) -> None:
    assert parse_time(format_time(milliseconds)) == milliseconds


def test_times_no_calendar_has() -> None:
    assert format_time(-1) == "-"
    assert format_time(1 << 62) == str(1 << 62)


def test_moments() -> None:
    assert parse_moment("earliest") is Word.EARLIEST
    assert parse_moment("END") is Word.LATEST
    assert parse_moment("1234") == AtOffset(1234)
    assert parse_moment("@1234") == AtTime(1234)
    assert parse_moment("2026-01-02T03:04:05Z") == AtTime(1767323045000)
    assert parse_moment("2026-01-02") == AtTime(parse_time("2026-01-02T00:00:00"))
    now = time.time() * 1000
    ago = parse_moment("15m")
    assert isinstance(ago, AtTime)
    assert abs(now - 900_000 - ago.milliseconds) < 60_000


@pytest.mark.parametrize("text", ["yesterday", "-5", "@", "2026-13-01", "", "5 minutes"])
def test_no_moments(text: str) -> None:
    with pytest.raises(ValueError, match=r"neither|not a duration"):
        parse_moment(text)


def test_words_for_numbers() -> None:
    assert [counted(1, "record"), counted(1234, "record"), counted(2, "batch")] == [
        "1 record",
        "1,234 records",
        "2 batches",
    ]
    assert [format_size(0), format_size(1023), format_size(1536), format_size(1 << 40)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "1.0 TiB",
    ]
