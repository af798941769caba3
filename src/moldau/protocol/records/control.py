"""Control records: what brokers write between the records of producers, in batches of their own.

The key is a version and a type, two bytes each; the value depends on the type. This file knows the markers that end
transactions, whose value is a version and the coordinator's epoch; the values of the raft types are messages.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from moldau._speed import Record, RecordData
from moldau.errors import InvalidRecordError

_KEY: Final = Struct(">hh")
_END_TRANSACTION: Final = Struct(">hi")
_VERSION: Final = 0


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransaction(NamedTuple):
    """The marker that ends a transaction in a partition."""

    committed: bool
    coordinator_epoch: int


def control_record(control_type: int, value: bytes, timestamp: int) -> RecordData:
    """For `encode_batch(..., is_control=True)`."""
    return timestamp, _KEY.pack(_VERSION, control_type), value, ()


def end_transaction_record(marker: EndTransaction, timestamp: int) -> RecordData:
    control_type = ControlType.COMMIT if marker.committed else ControlType.ABORT
    return control_record(control_type, _END_TRANSACTION.pack(_VERSION, marker.coordinator_epoch), timestamp)


def control_type(record: Record) -> int:
    """The number in the key. Types unknown here are for the caller to pass over: newer brokers may write them."""
    key = record.key
    if key is None or len(key) < _KEY.size:
        raise InvalidRecordError("a control record has no proper key")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecordError(f"the key of a control record has the impossible version {version}")
    return int(number)


def read_end_transaction(record: Record) -> EndTransaction | None:
    """The marker, or None for a control record of another type. Later versions may only add fields at the end."""
    number = control_type(record)
    if number not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    value = record.value
    if value is None or len(value) < _END_TRANSACTION.size:
        raise InvalidRecordError("the marker of a transaction's end is too short")
    version, coordinator_epoch = _END_TRANSACTION.unpack_from(value)
    if version < 0:
        raise InvalidRecordError(f"the marker of a transaction's end has the impossible version {version}")
    return EndTransaction(number == ControlType.COMMIT, coordinator_epoch)
