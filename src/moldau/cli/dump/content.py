"""Records to look at: plain keys and values, and the records Kafka keeps about itself taken apart field by field.

Kafka's own topics are known by the directory a segment lies in. What cannot be taken apart (a newer version, damage)
is shown as the bytes it is. Secrets are not shown: neither those among settings, nor the keys users of SCRAM are known
by, which are all that somebody needs who would find out their passwords.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from moldau.cli.record_output import text_or_base64
from moldau.config.alteration import is_sensitive
from moldau.config.broker import BROKER_SETTINGS
from moldau.errors import MoldauError, ProtocolError
from moldau.protocol.api import (
    GROUP_KEYS,
    GROUP_VALUES,
    METADATA_RECORDS,
    SHARE_STATE_KEYS,
    SHARE_STATE_VALUES,
    TRANSACTION_KEYS,
    TRANSACTION_VALUES,
)
from moldau.protocol.message import Message, Struct
from moldau.protocol.records import ControlType, Record, control_type
from moldau.protocol.wire import Reader
from moldau.types import uuid_to_text

METADATA_TOPIC: Final = "__cluster_metadata"

_COORDINATORS: Final[Mapping[str, tuple[Mapping[int, type[Message]], Mapping[int, type[Message]]]]] = {
    "__consumer_offsets": (GROUP_KEYS, GROUP_VALUES),
    "__transaction_state": (TRANSACTION_KEYS, TRANSACTION_VALUES),
    "__share_group_state": (SHARE_STATE_KEYS, SHARE_STATE_VALUES),
}

_CONTROL: Final = {
    ControlType.LEADER_CHANGE: ("leader_change_message", "LeaderChangeMessage"),
    ControlType.SNAPSHOT_HEADER: ("snapshot_header_record", "SnapshotHeaderRecord"),
    ControlType.SNAPSHOT_FOOTER: ("snapshot_footer_record", "SnapshotFooterRecord"),
    ControlType.KRAFT_VERSION: ("kraft_version_record", "KRaftVersionRecord"),
    ControlType.KRAFT_VOTERS: ("voters_record", "VotersRecord"),
}

_HIDDEN: Final = "[hidden]"
# Of what a record says of a user of SCRAM.
_SCRAM_SECRETS: Final = ("salt", "stored_key", "server_key")
_BROKER: Final = 4

Decoder = Callable[[Record], dict[str, Any]]


def decoder(topic: str | None) -> Decoder:
    """The function that shows the records of a topic as plain data."""
    if topic == METADATA_TOPIC:
        return _guarded(_metadata)
    if topic is not None and topic in _COORDINATORS:
        keys, values = _COORDINATORS[topic]
        return _guarded(lambda record: _coordinator(record, keys, values))
    return plain


def plain(record: Record) -> dict[str, Any]:
    headers = [{"name": name, **text_or_base64("value", value)} for name, value in record.headers]
    return {
        **text_or_base64("key", record.key),
        **text_or_base64("value", record.value),
        **({"headers": headers} if headers else {}),
    }


def control(record: Record) -> dict[str, Any]:
    """A control record: its type and what the type says."""
    return _guarded(_control)(record)


def _guarded(take_apart: Decoder) -> Decoder:
    def decode(record: Record) -> dict[str, Any]:
        try:
            return take_apart(record)
        except (MoldauError, KeyError) as error:
            return {"undecoded": str(error) or type(error).__name__, **plain(record)}

    return decode


def _metadata(record: Record) -> dict[str, Any]:
    if record.value is None:
        raise ProtocolError("a metadata record has no value")
    source = Reader(record.value)
    frame, number, version = source.unsigned_varint(), source.unsigned_varint(), source.unsigned_varint()
    if frame != 1:
        raise ProtocolError(f"the frame has version {frame}")
    kind = _known(METADATA_RECORDS, number)
    data = to_data(kind.decode(source.rest(), version))
    return {"type": kind.__name__, "version": version, "data": _without_secrets(kind.__name__, data)}


def _without_secrets(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    if kind == "UserScramCredentialRecord":
        return {**data, **dict.fromkeys(_SCRAM_SECRETS, _HIDDEN)}
    of_broker = kind == "ConfigRecord" and data["resource_type"] == _BROKER
    if of_broker and data["value"] is not None and is_sensitive(BROKER_SETTINGS, data["name"]):
        return {**data, "value": _HIDDEN}
    return data


def _coordinator(
    record: Record, keys: Mapping[int, type[Message]], values: Mapping[int, type[Message]]
) -> dict[str, Any]:
    if record.key is None:
        raise ProtocolError("a coordinator's record has no key")
    source = Reader(record.key)
    number = source.int16()
    kind = _known(keys, number)
    shown: dict[str, Any] = {"type": kind.__name__.removesuffix("Key"), "key": to_data(kind.decode(source.rest(), 0))}
    if record.value is None:
        return {**shown, "value": None}
    source = Reader(record.value)
    version = source.int16()
    return {**shown, "version": version, "value": to_data(_known(values, number).decode(source.rest(), version))}


def _control(record: Record) -> dict[str, Any]:
    number = control_type(record)
    if number in (ControlType.ABORT, ControlType.COMMIT):
        source = Reader(record.value or b"")
        version = source.int16()
        return {"type": ControlType(number).name, "version": version, "data": {"coordinator_epoch": source.int32()}}
    if number not in _CONTROL:
        raise ProtocolError(f"control type {number} is not known")
    module, name = _CONTROL[ControlType(number)]
    kind: type[Message] = getattr(import_module(f"moldau.protocol.messages.{module}"), name)
    # These carry their version as their first field.
    version = min(Reader(record.value or b"").int16(), kind.MAX_VERSION)
    return {
        "type": ControlType(number).name,
        "version": version,
        "data": to_data(kind.decode(record.value or b"", version)),
    }


def _known(kinds: Mapping[int, type[Message]], number: int) -> type[Message]:
    if number not in kinds:
        raise ProtocolError(f"record type {number} is not known")
    return kinds[number]


def to_data(value: Any, name: str = "") -> Any:
    """A message as JSON would have it. Sixteen bytes in a field called an id are an id."""
    if isinstance(value, Struct):
        return {field: to_data(getattr(value, field), field) for field in value.FIELDS}
    if isinstance(value, list | tuple):
        return [to_data(item, name) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return uuid_to_text(data) if len(data) == 16 and _is_id(name) else b64encode(data).decode("ascii")
    return value


def _is_id(name: str) -> bool:
    return name.endswith(("_id", "_ids", "directories")) or name in ("id", "log_dirs")
