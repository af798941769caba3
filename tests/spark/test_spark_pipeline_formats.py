"""Avro and Protobuf without a jar: columns from the schema, bad bytes with a reason."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from moldau.spark.pipeline import PipelineError, load
from moldau.spark.pipeline.assembly import build

_AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "amount", "type": ["null", "double"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "buyer", "type": {"type": "record", "name": "Buyer", "fields": [{"name": "name", "type": "string"}]}},
        {"name": "raw", "type": "bytes"},
    ],
}


def values(spark: Any, tmp_path: Path, records: list[bytes], parse: str) -> Any:
    """A pipeline over records given as bytes, built as DataFrames."""
    (tmp_path / "records.py").write_text(
        "def records(spark):\n"
        f"    return spark.createDataFrame([(bytearray(each),) for each in {records!r}], 'value BINARY')\n"
    )
    path = tmp_path / "p.yaml"
    path.write_text(
        "pipeline: p\nsources: {s: {python: 'records.py:records'}}\nsteps:\n"
        f"  parsed: {{from: s, {parse}}}\n"
        "sinks: {o: {from: parsed, console: 1}}\ndead_letters: {memory: dead}\n"
    )
    return build(spark, load(str(path)))


def test_avro(spark: Any, tmp_path: Path) -> None:
    fastavro = pytest.importorskip("fastavro")
    from datetime import UTC, datetime

    (tmp_path / "order.avsc").write_text(json.dumps(_AVRO))
    row = {
        "id": "1",
        "amount": 2.5,
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "price": Decimal("12.34"),
        "tags": ["a", "b"],
        "buyer": {"name": "Anna"},
        "raw": b"\x00\xff",
    }
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(dict(_AVRO)), row)
    good = buffer.getvalue()
    frames = values(spark, tmp_path, [good, good[:5], good + b"x"], "parse: avro, schema_file: order.avsc")
    (found,) = frames["parsed"].collect()
    assert (found["id"], found["amount"], found["price"], found["tags"]) == ("1", 2.5, Decimal("12.34"), ["a", "b"])
    assert found["buyer"]["name"] == "Anna"
    assert bytes(found["raw"]) == b"\x00\xff"
    assert found["at"].year == 2026
    reasons = [row["reason"] for row in frames.bad.collect()]
    assert len(reasons) == 2
    assert all(reason.startswith("cannot be decoded: ") for reason in reasons)
    assert reasons[1] == "cannot be decoded: 1 bytes are left over"


def test_avro_without_its_library_is_refused_in_a_sentence(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "fastavro", None)
    (tmp_path / "order.avsc").write_text(json.dumps(_AVRO))
    with pytest.raises(PipelineError, match=r"p\.yaml:4: .* needs fastavro: pip install fastavro"):
        values(spark, tmp_path, [b""], "parse: avro, schema_file: order.avsc")


def descriptor_set() -> bytes:
    from google.protobuf import descriptor_pb2

    made = descriptor_pb2.FileDescriptorSet()
    file = made.file.add(name="orders.proto", package="shop", syntax="proto3")
    item = file.message_type.add(name="Item")
    item.field.add(name="name", number=1, type=9, label=1)
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=9, label=1)
    order.field.add(name="cents", number=2, type=3, label=1)
    order.field.add(name="amount", number=3, type=1, label=1)
    order.field.add(name="raw", number=4, type=12, label=1)
    order.field.add(name="items", number=5, type=11, label=3, type_name=".shop.Item")
    return bytes(made.SerializeToString())


def test_protobuf_behind_a_registry_s_header(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    from moldau.spark.pipeline.decoding import message_class

    content = descriptor_set()
    (tmp_path / "orders.desc").write_bytes(content)
    order = message_class(content, "shop.Order")(id="1", cents=2**40, amount=1.5, raw=b"\xff")
    order.items.add(name="book")
    good = b"\x00\x00\x00\x00\x07" + order.SerializeToString()
    parse = "parse: protobuf, schema_file: orders.desc, message: shop.Order, framing: confluent"
    frames = values(spark, tmp_path, [good, good[5:], b"\x00\x00\x00\x00\x07\xff\xff"], parse)
    (found,) = frames["parsed"].collect()
    assert (found["id"], found["cents"], found["amount"], bytes(found["raw"])) == ("1", 2**40, 1.5, b"\xff")
    assert [item["name"] for item in found["items"]] == ["book"]
    reasons = [row["reason"] for row in frames.bad.collect()]
    assert reasons[0] == "the value does not begin with a registry's five bytes"
    assert reasons[1].startswith("cannot be decoded: ")


@pytest.mark.parametrize(
    ("parse", "expected"),
    [
        ("parse: protobuf, schema_file: none.desc, message: shop.Order", "No such file"),
        ("parse: protobuf, schema_file: orders.desc, message: shop.Nothing", "no message `shop.Nothing`"),
        ("parse: protobuf, schema_file: p.yaml, message: shop.Order", "is not a descriptor set"),
    ],
)
def test_what_is_no_schema(spark: Any, tmp_path: Path, parse: str, expected: str) -> None:
    pytest.importorskip("google.protobuf")
    (tmp_path / "orders.desc").write_bytes(descriptor_set())
    with pytest.raises(PipelineError, match=expected):
        values(spark, tmp_path, [b""], parse)
