"""The columns of a data frame on their way into records: which there are, of which types, and where in memory.

As in Spark's own connector: `value` has to be there, `key`, `headers`, `topic` and `partition` may be; the option
`topic` wins over the column. Keys and values are binary or text, which are the same bytes.

Beyond it, the column `timestamp` becomes the record's where the option `keepTimestamps` asks for that. Without it every
record carries the moment of writing, because a data frame that was read from a topic has that column anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

import numpy
import pyarrow
import pyarrow.compute
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructType, TimestampType

from moldau import _speed
from moldau._speed.reference.packing import BytesBuffers, HeaderBuffers, NumberBuffers
from moldau.spark.options import OptionError
from moldau.spark.schema import HEADERS_TYPE

if _speed.COMPILED:
    from moldau._speed.packing import RowPacker
else:
    from moldau._speed.reference.packing import RowPacker

__all__ = ["RowPacker", "check_columns", "packers"]

KNOWN: Final = ("key", "value", "headers", "topic", "partition")


def check_columns(schema: StructType, topic: str | None, include_headers: bool, keep_timestamps: bool) -> None:
    """Refuses, before anything runs, a data frame that cannot be written."""
    found = {field.name: field.dataType for field in schema.fields}
    _known(found, (*KNOWN, "timestamp") if keep_timestamps else KNOWN)
    if "value" not in found:
        raise OptionError(
            f"The data frame has no column value; it has {', '.join(found) or 'none'}. "
            "A record's value comes from it: rename one, or build it with to_json(struct(*))."
        )
    if topic is None and "topic" not in found:
        raise OptionError("No topic is named: set the option topic, or give the data frame a column topic.")
    for name in ("key", "value"):
        if name in found and not isinstance(found[name], BinaryType | StringType):
            raise OptionError(f"The column {name} is {_said(found[name])}; it must be binary or string: CAST it.")
    if "topic" in found and not isinstance(found["topic"], StringType):
        raise OptionError(f"The column topic is {_said(found['topic'])}; it must be string: CAST it.")
    if "partition" in found and not isinstance(found["partition"], IntegerType):
        raise OptionError(f"The column partition is {_said(found['partition'])}; it must be int: CAST it.")
    if include_headers and "headers" not in found:
        raise OptionError("The option includeHeaders is true, and the data frame has no column headers.")
    if "headers" in found and not _are_headers(found["headers"]):
        raise OptionError(f"The column headers is {_said(found['headers'])}; it must be {HEADERS_TYPE.simpleString()}.")
    if keep_timestamps and "timestamp" not in found:
        raise OptionError("The option keepTimestamps is true, and the data frame has no column timestamp.")
    if keep_timestamps and not isinstance(found["timestamp"], TimestampType):
        raise OptionError(f"The column timestamp is {_said(found['timestamp'])}; it must be timestamp: CAST it.")


def _known(found: dict[str, DataType], known: Collection[str]) -> None:
    for name in found:
        if name not in known and name.lower() in known:
            raise OptionError(f"The column {name} is not known; is {name.lower()} meant?")


def _are_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    types = [field.dataType for field in kind.elementType.fields]
    return len(types) == 2 and isinstance(types[0], StringType) and isinstance(types[1], BinaryType)


def _said(kind: DataType) -> str:
    return kind.simpleString()


def packers(batch: Any, topic: str | None, keep_timestamps: bool) -> Iterator[tuple[str, RowPacker]]:
    """One packer per topic of an Arrow batch."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    rows: int = batch.num_rows
    key, value = _bytes(columns.get("key")), _bytes(columns["value"])
    headers, partition = _headers(columns.get("headers")), _numbers(columns.get("partition"))
    timestamp = _moments(columns["timestamp"]) if keep_timestamps else None
    chosen = [(topic, None)] if topic is not None else _by_topic(columns["topic"])
    for name, select in chosen:
        try:
            yield name, RowPacker(rows, key, value, headers, partition, select, timestamp)
        except ValueError as error:
            raise OptionError(f"The rows cannot be written: {error}.") from None


def _by_topic(column: Any) -> Iterator[tuple[str, bytes | None]]:
    """The topics of a column, each with its rows: None for all, else their numbers."""
    if column.null_count:
        raise OptionError("A row has no topic: the column topic is null, and the option topic is not set.")
    encoded = column.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if len(names) == 1:
        yield names[0], None
        return
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = numpy.argsort(codes, kind="stable").astype(numpy.int32)
    ends = numpy.cumsum(numpy.bincount(codes, minlength=len(names)))
    first = 0
    for name, end in zip(names, ends.tolist(), strict=True):
        if end > first:
            yield name, order[first:end].tobytes()
        first = end


def _bytes(column: Any | None) -> BytesBuffers | None:
    if column is None:
        return None
    kind = column.type
    if pyarrow.types.is_large_binary(kind) or pyarrow.types.is_large_string(kind):
        column = column.cast(pyarrow.binary() if pyarrow.types.is_large_binary(kind) else pyarrow.string())
    validity, offsets, data = column.buffers()
    return BytesBuffers(_validity(column, validity), offsets or b"", data or b"", column.offset)


def _numbers(column: Any | None) -> NumberBuffers | None:
    if column is None:
        return None
    validity, data = column.buffers()
    return NumberBuffers(_validity(column, validity), data or b"", column.offset)


def _moments(column: Any) -> NumberBuffers | None:
    # Spark hands over microseconds, and then nothing is copied.
    return _numbers(column.cast(pyarrow.timestamp("us", "UTC")))


def _headers(column: Any | None) -> HeaderBuffers | None:
    if column is None:
        return None
    entries = column.values
    # Flattened, a header that is null as a whole has a null key, which is refused if a row refers to it.
    keys, values = (_bytes(field) for field in entries.flatten())
    assert keys is not None
    assert values is not None
    validity, offsets = column.buffers()[:2]
    return HeaderBuffers(_validity(column, validity), offsets or b"", keys, values, len(entries), column.offset)


def _validity(column: Any, validity: Any) -> Any:
    return validity if column.null_count else None
