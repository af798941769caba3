"""Bytes as text: what they are taken for, and that no bytes cost more than they should."""

from __future__ import annotations

import io
import json
import time
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.console.avro import parse_avro_schema, read_avro
from moldau.console.browsing import Part
from moldau.console.protobuf import read_protobuf
from moldau.console.unreadable import Unreadable
from moldau.console.views import KINDS, indented, view_of, visible

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "town", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "sizes", "type": {"type": "map", "values": "double"}},
        {"name": "again", "type": ["null", "State"]},
        {"name": "mark", "type": {"type": "fixed", "name": "Mark", "size": 2}},
        {"name": "whole", "type": "boolean"},
        {"name": "part", "type": "float"},
    ],
}  # fmt: skip


def part(data: bytes, size: int | None = None) -> Part:
    return Part(data, len(data) if size is None else size)


def avro(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def test_avro_is_read_as_fastavro_wrote_it() -> None:
    value = {
        "id": -(2**62), "town": "Mělník", "at": datetime(2026, 1, 31, 12, tzinfo=UTC), "day": date(1969, 12, 31),
        "price": Decimal("-12.34"), "state": "PAID", "tags": ["a", "b"], "sizes": {"x": 0.5}, "again": "NEW",
        "mark": b"\0\xff", "whole": True, "part": 0.5,
    }  # fmt: skip
    read = read_avro(avro(ORDER, value), parse_avro_schema(json.dumps(ORDER)))
    assert read == {
        "id": -(2**62), "town": "Mělník", "at": "2026-01-31T12:00:00Z", "day": "1969-12-31", "price": "-12.34",
        "state": "PAID", "tags": ["a", "b"], "sizes": {"x": 0.5}, "again": "NEW", "mark": "0x00ff", "whole": True,
        "part": 0.5,
    }  # fmt: skip


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_avro_is_read_or_refused(data: bytes) -> None:
    with suppress(Unreadable):
        json.dumps(read_avro(data, parse_avro_schema(json.dumps(ORDER))))


def test_a_claim_of_endless_items_of_nothing_is_refused_quickly() -> None:
    schema = parse_avro_schema('{"type": "array", "items": "null"}')
    began = time.monotonic()
    with pytest.raises(Unreadable, match="larger or deeper"):
        read_avro(b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\0", schema)
    assert time.monotonic() - began < 5


def test_a_tree_as_deep_as_it_is_long_is_refused() -> None:
    schema = parse_avro_schema('{"type": "record", "name": "T", "fields": [{"name": "next", "type": ["null", "T"]}]}')
    assert read_avro(b"\x02\x02\0", schema) == {"next": {"next": {"next": None}}}
    with pytest.raises(Unreadable, match="larger or deeper"):
        read_avro(b"\x02" * 100_000 + b"\0", schema)


@pytest.mark.parametrize("text", ["", "{", "[", '{"type": "nonsense"}', '{"type": "record"}', "7", "[" * 100_000])
def test_what_is_no_schema_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_avro_schema(text)


def test_protobuf_without_a_schema() -> None:
    inner = b"\x08\x96\x01"
    data = b"\x08\x01" + b"\x12\x07testing" + b"\x1a" + bytes([len(inner)]) + inner + b"\x08\x02" + b"\x22\x02\xff\xfe"
    assert read_protobuf(data) == {"1": [1, 2], "2": "testing", "3": {"1": 150}, "4": "0xfffe"}
    assert read_protobuf(b"\0" + data, framed=True) == read_protobuf(data)
    with pytest.raises(Unreadable, match="ends within"):
        read_protobuf(data[:-1])


@given(st.binary(max_size=300))
def test_whatever_the_bytes_are_every_view_shows_something(data: bytes) -> None:
    for kind in KINDS:
        view = view_of(part(data), kind)
        assert "\0" not in view.whole
        assert view.whole or not data
        assert len(view.line) <= 400


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(),
                    lambda each: st.lists(each) | st.dictionaries(st.text(), each)))  # fmt: skip
def test_json_on_lines_says_the_same(value: Any) -> None:
    text, cut = indented(json.dumps(value), 1 << 20)
    assert not cut
    assert json.loads(text) == value


def test_json_keeps_numbers_and_doubled_names_as_they_were_written() -> None:
    assert indented('{"a":1.10,"a":1e400,"b":[],"c":{"d":[1,2]}}', 1000)[0] == (
        '{\n  "a": 1.10,\n  "a": 1e400,\n  "b": [],\n  "c": {\n    "d": [\n      1,\n      2\n    ]\n  }\n}'
    )


def test_json_that_would_grow_without_end_is_cut() -> None:
    text = "[" * 900 + "1," * 20_000 + "1" + "]" * 900
    view = view_of(part(text.encode()), "json")
    assert view.cut
    assert len(view.whole) <= 256 * 1024


def test_json_deeper_than_python_reads_is_shown_as_bytes() -> None:
    view = view_of(part(b"[" * 50_000), "json")
    assert view.kind == "hex"
    assert view.problem


def test_what_bytes_are_taken_for() -> None:
    assert view_of(part(b'{"a": 1}'), "auto").kind == "json"
    assert view_of(part(b"{a: 1}"), "auto").kind == "text"
    assert view_of(part(b"vltava"), "auto").kind == "text"
    assert view_of(part(b"\0\1\2"), "auto").kind == "hex"
    assert view_of(part("Mělník".encode()[:2], 7), "auto").line == "M"
    assert view_of(part(b""), "auto").kind == "empty"
    assert view_of(Part(None, 0), "json").kind == "null"
    framed = view_of(part(b"\0\0\0\0\x07" + avro(ORDER["fields"][0]["type"], 5)), "avro", parse_avro_schema('"long"'))
    assert (framed.whole, framed.schema_id) == ("5", 7)
    assert "no schema" in view_of(part(b"\x02"), "avro").problem


def test_letters_that_deceive_are_made_visible() -> None:
    assert visible("a\x1b[31m") == "a\N{SYMBOL FOR ESCAPE}[31m"
    assert "\u202e" not in visible("abc\u202edcba")
    assert visible("Mělník\n") == "Mělník\n"
