"""The columns of the source, as Spark's own Kafka connector names and types them, and what a user's schema may ask for.

A source in Python is not told which columns a query needs. A user's `.schema("value binary")` is the way to say so:
what is not in it is never decoded, never crosses to the JVM and never becomes part of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from moldau.spark.options import OptionError, as_flag

HEADERS_TYPE: Final = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))

SOURCE_SCHEMA: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)

HEADERS: Final = StructField("headers", HEADERS_TYPE)

# Bytes and text lie in memory the same way, and Spark's own cast from one to the other changes nothing either.
_TEXT_TOO: Final = ("key", "value")


def source_schema(options: Mapping[str, str]) -> StructType:
    """What is read when the user names no schema."""
    wanted = {name.lower(): value for name, value in options.items()}.get("includeheaders", "false")
    return StructType([*SOURCE_SCHEMA.fields, HEADERS]) if as_flag("includeHeaders", wanted) else SOURCE_SCHEMA


def check_schema(schema: StructType) -> None:
    """Refuses columns that the source does not have, and types it cannot give them."""
    known: dict[str, DataType] = {field.name: field.dataType for field in (*SOURCE_SCHEMA.fields, HEADERS)}
    for field in schema.fields:
        if field.name not in known:
            raise OptionError(f"The source has no column {field.name}; it has {', '.join(known)}.")
        fits = _same(field.dataType, known[field.name])
        if not fits and not (field.name in _TEXT_TOO and isinstance(field.dataType, StringType)):
            raise OptionError(
                f"The column {field.name} is {known[field.name].simpleString()}, not {field.dataType.simpleString()}; "
                "read it as it is and CAST it."
            )
    if not schema.fields:
        raise OptionError("The schema names no column; leave it out, or name one, such as offset.")


def _same(one: DataType, other: DataType) -> bool:
    """Equal but for what may be null: Spark makes columns of sources nullable, or not, as it sees fit."""
    return one.simpleString() == other.simpleString()
