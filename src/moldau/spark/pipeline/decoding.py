"""Avro and Protobuf without a jar: Spark's own `from_avro` and `from_protobuf` are not in the PySpark package.

Bytes become JSON inside a worker (fastavro, or the protobuf package) and JSON becomes columns by Spark's parser, so
types, corrupt records and everything after are the same as for JSON. The columns come from the schema itself.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.place import PipelineError

_CONFLUENT_HEADER: Final = 5


@dataclass(slots=True, frozen=True)
class Decoder:
    """`schema` are the columns in Spark's words; `make()` runs in the worker and returns bytes -> JSON text."""

    schema: str
    make: Callable[[], Callable[[bytes], str]]
    framing: str

    def udf(self) -> Any:
        """A function of columns: bytes -> struct of `json` and, where that failed, `reason`."""
        import pandas
        from pyspark.sql.pandas import functions

        make, framing = self.make, self.framing

        def decode(values: pandas.Series) -> pandas.DataFrame:
            from moldau.spark.pipeline.decoding import decode_one

            to_json = make()
            pairs = [decode_one(to_json, value, framing) for value in values]
            return pandas.DataFrame(pairs, columns=["json", "reason"])

        decode.__annotations__ = {"values": pandas.Series, "return": pandas.DataFrame}
        pandas_udf: Any = functions.pandas_udf
        # Called not deterministic so that Spark does not move it into every expression that uses it, and runs it once.
        return pandas_udf(decode, "json STRING, reason STRING").asNondeterministic()


def decode_one(to_json: Callable[[bytes], str], value: bytes | None, framing: str) -> tuple[str | None, str | None]:
    if value is None:
        return None, "the record has no value"
    data = bytes(value)
    if framing == "confluent":
        if len(data) < _CONFLUENT_HEADER or data[0] != 0:
            return None, "the value does not begin with a registry's five bytes"
        data = data[_CONFLUENT_HEADER:]
    try:
        return to_json(data), None
    except Exception as error:  # whatever a decoder makes of foreign bytes
        words = " ".join(str(error).split()) or type(error).__name__
        return None, f"cannot be decoded: {words[:200]}"


def decoder_of(pipeline: Pipeline, part: Part) -> Decoder:
    place = part.line("schema_file")
    path = pipeline.located(part["schema_file"])
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise PipelineError(f"{place}: {path}: {error.strerror}.") from None
    if part["parse"] == "avro":
        return _avro(content, part, place)
    return _protobuf(content, part, place)


# -------------------------------------------------------------------------------------------------------------- Avro

_AVRO_TYPES: Final = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "bytes": "BINARY",
    "string": "STRING",
    "enum": "STRING",
    "fixed": "BINARY",
}
_AVRO_LOGICAL: Final = {
    "date": "DATE",
    "timestamp-millis": "TIMESTAMP",
    "timestamp-micros": "TIMESTAMP",
    "local-timestamp-millis": "TIMESTAMP_NTZ",
    "local-timestamp-micros": "TIMESTAMP_NTZ",
    "uuid": "STRING",
    "time-millis": "STRING",
    "time-micros": "STRING",
}


def _avro(content: bytes, part: Part, place: object) -> Decoder:
    try:
        import fastavro
    except ImportError:
        raise PipelineError(f"{place}: {part.owner} parses Avro, which needs fastavro: pip install fastavro.") from None
    try:
        declared = json.loads(content)
        parsed = fastavro.parse_schema(declared)
    except Exception as error:
        raise PipelineError(f"{place}: {part['schema_file']} is not an Avro schema: {error}.") from None
    if not isinstance(declared, dict) or declared.get("type") != "record":
        raise PipelineError(f"{place}: {part['schema_file']} does not describe an Avro record.")

    def make() -> Callable[[bytes], str]:
        import io

        import fastavro

        from moldau.spark.pipeline.decoding import plain

        schema = fastavro.parse_schema(declared)

        def to_json(data: bytes) -> str:
            source = io.BytesIO(data)
            row = fastavro.schemaless_reader(source, schema, None)
            left = len(data) - source.tell()
            if left:
                raise ValueError(f"{left} bytes are left over")
            return json.dumps(row, default=plain)

        return to_json

    del parsed
    return Decoder(_avro_fields(declared, {}, ", ", " "), make, part["framing"])


def _avro_fields(record: dict[str, Any], known: dict[str, str], between: str, colon: str) -> str:
    return between.join(f"`{field['name']}`{colon}{_avro_type(field['type'], known)}" for field in record["fields"])


def _avro_type(kind: Any, known: dict[str, str]) -> str:
    """The type in Spark's words. `known`: named types that were declared before."""
    if isinstance(kind, list):
        real = [each for each in kind if each != "null"]
        return _avro_type(real[0], known) if len(real) == 1 else "STRING"
    if isinstance(kind, str):
        return _AVRO_TYPES.get(kind) or known.get(kind, "STRING")
    logical = kind.get("logicalType")
    if logical == "decimal":
        return f"DECIMAL({kind['precision']},{kind.get('scale', 0)})"
    if logical in _AVRO_LOGICAL:
        return _AVRO_LOGICAL[logical]
    match kind["type"]:
        case "array":
            return f"ARRAY<{_avro_type(kind['items'], known)}>"
        case "map":
            return f"MAP<STRING, {_avro_type(kind['values'], known)}>"
        case "record":
            known[kind["name"]] = "STRING"  # a type inside itself has no columns; it is shown as text
            known[kind["name"]] = f"STRUCT<{_avro_fields(kind, known, ', ', ': ')}>"
            return known[kind["name"]]
        case name:
            found = _avro_type(name, known)
            if "name" in kind:
                known[kind["name"]] = found
            return found


def plain(value: Any) -> Any:
    """What JSON has no word for, as Spark's parser expects it."""
    match value:
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


# ---------------------------------------------------------------------------------------------------------- Protobuf

# By the numbers of FieldDescriptorProto.Type; JSON carries 64-bit numbers as text, which Spark's parser takes.
_PROTOBUF_TYPES: Final = {
    1: "DOUBLE", 2: "FLOAT", 3: "BIGINT", 4: "DECIMAL(20,0)", 5: "INT", 6: "DECIMAL(20,0)", 7: "BIGINT", 8: "BOOLEAN",
    9: "STRING", 12: "BINARY", 13: "BIGINT", 14: "STRING", 15: "INT", 16: "BIGINT", 17: "INT", 18: "BIGINT",
}  # fmt: skip
_PROTOBUF_KNOWN: Final = {"google.protobuf.Timestamp": "TIMESTAMP", "google.protobuf.Duration": "STRING"}


def _protobuf(content: bytes, part: Part, place: object) -> Decoder:
    try:
        from google.protobuf.message import DecodeError
    except ImportError:
        raise PipelineError(
            f"{place}: {part.owner} parses Protobuf, which needs its package: pip install protobuf."
        ) from None
    message = part["message"]
    try:
        descriptor = message_class(content, message).DESCRIPTOR
    except (DecodeError, TypeError):
        raise PipelineError(
            f"{place}: {part['schema_file']} is not a descriptor set; "
            "`protoc --include_imports --descriptor_set_out=FILE` writes one."
        ) from None
    except KeyError:
        raise PipelineError(
            f"{part.line('message')}: {part['schema_file']} has no message `{message}`; its full name is needed."
        ) from None

    def make() -> Callable[[bytes], str]:
        from google.protobuf.json_format import MessageToDict

        from moldau.spark.pipeline.decoding import message_class, numbers

        kind = message_class(content, message)

        def to_json(data: bytes) -> str:
            row = MessageToDict(
                kind.FromString(data), preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )
            return json.dumps(numbers(row, kind.DESCRIPTOR))

        return to_json

    return Decoder(_protobuf_fields(descriptor, ", ", " ", ()), make, part["framing"])


def message_class(content: bytes, message: str) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    described: Any = descriptor_pb2
    pool: Any = descriptor_pool.DescriptorPool()
    for file in described.FileDescriptorSet.FromString(content).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(message))


def _protobuf_fields(descriptor: Any, between: str, colon: str, inside: tuple[str, ...]) -> str:
    return between.join(f"`{field.name}`{colon}{_protobuf_type(field, inside)}" for field in descriptor.fields)


def _protobuf_type(field: Any, inside: tuple[str, ...]) -> str:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        return f"MAP<STRING, {_protobuf_type(inner.fields_by_name['value'], inside)}>"
    if inner is None:
        single = _PROTOBUF_TYPES[field.type]
    elif inner.full_name in _PROTOBUF_KNOWN:
        single = _PROTOBUF_KNOWN[inner.full_name]
    elif inner.full_name in inside:  # a type inside itself has no columns; it is shown as text
        single = "STRING"
    else:
        single = f"STRUCT<{_protobuf_fields(inner, ', ', ': ', (*inside, inner.full_name))}>"
    return f"ARRAY<{single}>" if field.is_repeated else single


def numbers(row: dict[str, Any], descriptor: Any) -> dict[str, Any]:
    """64-bit numbers as numbers: Protobuf's JSON quotes them for the sake of JavaScript, Spark's parser minds."""
    for field in descriptor.fields:
        if field.name not in row:
            continue
        value, inner = row[field.name], field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            entry = inner.fields_by_name["value"]
            for key in value:
                value[key] = _number(value[key], entry)
        elif field.is_repeated:
            row[field.name] = [_number(item, field) for item in value]
        else:
            row[field.name] = _number(value, field)
    return row


def _number(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        return numbers(value, field.message_type) if isinstance(value, dict) else value
    return int(value) if isinstance(value, str) and field.type in (3, 4, 6, 16, 18) else value
