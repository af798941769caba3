"""Coordinator records as bytes: the framing of `__consumer_offsets` and `__transaction_state`.

A key is two bytes of type and the body; a value is two bytes of version and the body. Bodies of keys have only one
version, so that equal keys are equal bytes and compaction can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Final, NamedTuple

from moldau.coordinator.shard import CoordinatorRecord
from moldau.errors import ProtocolError
from moldau.protocol.message import Message
from moldau.protocol.wire import Writer
from moldau.slicing import Work

_KEY_VERSION: Final = 0
_INT16: Final = Struct(">h")


class RecordType(NamedTuple):
    key: type[Message]
    value: type[Message]


# The records of one internal topic, by the number at the head of the key.
RecordTypes = Mapping[int, RecordType]


def encode_key(key: Message) -> bytes:
    return _INT16.pack(key.API_KEY) + key.encode(_KEY_VERSION)


def encode_value(record: CoordinatorRecord) -> Work[bytes | None]:
    if record.value is None:
        return None
    out = Writer()
    out.buffer += _INT16.pack(record.value_version)
    yield from record.value.write_in_slices(out, record.value_version)
    return bytes(out.buffer)


def decode_record(types: RecordTypes, key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """The record; None if a newer broker wrote it and its type is not known here, which is passed over.

    ProtocolError for bytes that make no sense, and for a version of a known value that is not known.
    """
    if key is None or len(key) < _INT16.size:
        raise ProtocolError("a coordinator record has no proper key")
    (number,) = _INT16.unpack_from(key)
    known = types.get(number)
    if known is None:
        return None
    decoded_key = known.key.decode(key[_INT16.size :], _KEY_VERSION)
    if value is None:
        return CoordinatorRecord(decoded_key, None)
    if len(value) < _INT16.size:
        raise ProtocolError(f"a {known.value.__name__} is too short to have a version")
    (version,) = _INT16.unpack_from(value)
    if not known.value.MIN_VERSION <= version <= known.value.MAX_VERSION:
        raise ProtocolError(
            f"a {known.value.__name__} has version {version}; "
            f"versions {known.value.MIN_VERSION} to {known.value.MAX_VERSION} are known"
        )
    return CoordinatorRecord(decoded_key, known.value.decode(value[_INT16.size :], version), version)
