"""Records as people and programs want to see them."""

from __future__ import annotations

import json

import pytest

from moldau.cli.record_output import FormatError, formatter, unescape
from moldau.protocol.records import Record

RECORD = Record(42, 1767323045123, b"k\xff", b"value", [("a", b"1"), ("b", None), ("a", b"2")])
TOMBSTONE = Record(43, -1, b"k", None)


def shown(format: str, record: Record = RECORD, **options: bytes) -> bytes:
    return formatter(format, delimiter=options.pop("delimiter", b"|"), **options)("rivers", 3, record)


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("value", b"value|"),
        ("key-value", b"k\xff\tvalue|"),
        ("hex", b"76616c7565|"),
        ("base64", b"dmFsdWU=|"),
        ("raw", b"value"),
        ("{topic}-{partition}@{offset}", b"rivers-3@42|"),
        ("{timestamp} {time}", b"1767323045123 2026-01-02T03:04:05.123Z|"),
        ("{key:hex}={value}", b"6bff=value|"),
        ("{headers}", b"a=1,b=,a=2|"),
        ("{header:a},{header:b},{header:c}", b"2,null,|"),
        ("{key_size}/{value_size}", b"2/5|"),
        ("{{{offset}}}\\t\\x21\\q", b"{42}\t!\\q|"),
    ],
)
def test_formats(format: str, expected: bytes) -> None:
    assert shown(format) == expected


def test_null() -> None:
    assert shown("value", TOMBSTONE) == b"null|"
    assert shown("{key} {value} {value:hex} {value_size} {time}", TOMBSTONE, null_marker=b"-") == b"k - - -1 -|"
    assert shown("raw", TOMBSTONE) == b""


def test_json_has_everything() -> None:
    assert json.loads(shown("json", delimiter=b"")) == {
        "topic": "rivers",
        "partition": 3,
        "offset": 42,
        "timestamp": 1767323045123,
        "key_base64": "a/8=",
        "value": "value",
        "headers": [{"name": "a", "value": "1"}, {"name": "b", "value": None}, {"name": "a", "value": "2"}],
    }


@pytest.mark.parametrize("format", ["jsno", "{nothing}", "{key:rot13}", "{offset:hex}", "{", "}", "{header}", "{key"])
def test_formats_that_make_no_sense(format: str) -> None:
    with pytest.raises(FormatError, match="format"):
        formatter(format, delimiter=b"")


def test_escapes() -> None:
    assert unescape(r"a\tb\n\\\x00\0\x4") == b"a\tb\n\\\x00\x00\\x4"
