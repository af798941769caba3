"""Input cut into records and taken apart."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.cli.record_input import InputError, InputRecord, Parser, read_pieces
from moldau.cli.record_output import formatter
from moldau.protocol.records import Record


@contextmanager
def opened(path: Path, content: bytes) -> Iterator[int]:
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def pieces(tmp_path: Path, content: bytes, delimiter: bytes | None = b"\n") -> list[bytes]:
    with opened(tmp_path / "input", content) as descriptor:
        return [piece for some in read_pieces(descriptor, delimiter, 1.0) for piece in some]


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"", []), (b"a\nb\n", [b"a", b"b"]), (b"a\n\nb", [b"a", b"", b"b"]), (b"\n", [b""]), (b"a", [b"a"])],
)
def test_lines(tmp_path: Path, content: bytes, expected: list[bytes]) -> None:
    assert pieces(tmp_path, content) == expected


def test_lines_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    lines = [b"x" * 700_000, b"y", b"z" * 300_000]
    assert pieces(tmp_path, b"\n".join(lines)) == lines


def test_a_delimiter_of_several_bytes_across_reads(tmp_path: Path) -> None:
    parts = [b"a" * (256 * 1024 - 2), b"b", b"c" * 600_000]
    assert pieces(tmp_path, b"--X--".join(parts), b"--X--") == parts


def test_everything_as_one_piece(tmp_path: Path) -> None:
    content = b"a\nb\n" * 200_000
    assert pieces(tmp_path, content, None) == [content]


def test_a_pause_of_the_input_is_told() -> None:
    reader, writer = os.pipe()
    go_on = threading.Event()

    def write() -> None:
        os.write(writer, b"first\npar")
        go_on.wait(10)
        os.write(writer, b"tial\n")
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    told: list[list[bytes]] = []
    for some in read_pieces(reader, b"\n", 0.05):
        told.append(some)
        if not some:
            go_on.set()
    thread.join()
    os.close(reader)
    assert [some for some in told if some] == [[b"first"], [b"partial"]]
    assert [] in told


def test_keys_values_and_null() -> None:
    parser = Parser("line", key_separator=b"::", null_marker=b"NULL", headers=[("h", b"1")])
    assert parser.parse(b"k::v::w") == InputRecord(b"k", b"v::w", [("h", b"1")])
    assert parser.parse(b"NULL::v") == InputRecord(None, b"v", [("h", b"1")])
    assert parser.parse(b"k::NULL") == InputRecord(b"k", None, [("h", b"1")])
    with pytest.raises(InputError, match="Record 4 of the input cannot be read: it has no '::'"):
        parser.parse(b"nothing")


def test_the_same_key_for_all() -> None:
    assert Parser("line", key=b"k").parse(b"a:b") == InputRecord(b"k", b"a:b", [])


def test_hex_and_base64() -> None:
    assert Parser("hex").parse(b"00ff 10").value == b"\x00\xff\x10"
    assert Parser("base64", key_separator=b" ").parse(b"AA== /w==") == InputRecord(b"\0", b"\xff", [])
    for format, line in (("hex", b"0g"), ("hex", b"0"), ("base64", b"*"), ("base64", b"a")):
        with pytest.raises(InputError, match="Record 1"):
            Parser(format).parse(line)


def test_json() -> None:
    parser = Parser("json", headers=[("always", b"1")])
    line = {
        "key": "k",
        "value": {"town": "Plzeň"},
        "headers": {"a": "1", "b": None},
        "partition": 2,
        "timestamp": "2026-01-02T03:04:05Z",
    }
    record = parser.parse(json.dumps(line).encode())
    assert record.key == b"k"
    assert record.value == '{"town":"Plzeň"}'.encode()
    assert record.headers == [("always", b"1"), ("a", b"1"), ("b", None)]
    assert (record.partition, record.timestamp) == (2, 1767323045000)
    assert parser.parse(b"{}") == InputRecord(None, None, [("always", b"1")])
    assert Parser("json", key=b"d").parse(b'{"value":""}') == InputRecord(b"d", b"", [])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "[1]",
        '{"valeu":"x"}',
        '{"partition":-1}',
        '{"partition":"1"}',
        '{"partition":true}',
        '{"timestamp":"soon"}',
        '{"timestamp":99999999999999999999}',
        '{"headers":5}',
        '{"headers":[{"value":"x"}]}',
        '{"value_base64":"*"}',
        '{"key_base64":1}',
        "\udcff",
    ],
)
def test_json_that_is_none_of_ours(line: str) -> None:
    with pytest.raises(InputError, match="Record 1 of the input cannot be read"):
        Parser("json").parse(line.encode("utf-8", "surrogateescape"))


@given(
    key=st.none() | st.binary(max_size=20),
    value=st.none() | st.binary(max_size=20),
    headers=st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3),
    timestamp=st.integers(0, 1 << 60),
    partition=st.integers(0, 100),
)
def test_what_consume_prints_as_json_produce_reads_as_it_was(
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
    timestamp: int,
    partition: int,
) -> None:
    line = formatter("json", delimiter=b"")("topic", partition, Record(7, timestamp, key, value, headers))
    assert b"\n" not in line
    assert Parser("json").parse(line) == InputRecord(key, value, headers, partition, timestamp)
