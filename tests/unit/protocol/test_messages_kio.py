"""Every message at every version against kio, which has its own code from Kafka's own definitions.

For each sample the same values are put into our class and into kio's. Then the bytes must be equal, and each side must
read the other's bytes into what was put in.
"""

from __future__ import annotations

import io
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from importlib import import_module
from random import Random
from typing import Any, get_args
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer
from message_samples import array_size, class_of, leave_default, messages, scalar, versions

from message_generator import model

SAMPLES = 6

# kio follows the definitions of the clients only and leaves the logs of the brokers out. What is in this list is held
# by round trips (test_messages.py) and by the comparison with Kafka's definitions (tools/compare_schemas.py).
NOT_IN_KIO = {
    *(message.name for _, message in messages() if message.topic),
    "QuorumStateData",
    "SubscriptionInfoData",
}
_KIO_NAMES = {
    "kraft_version_record": "k_raft_version_record",
}
_KINDS = {"request": "request", "response": "response", "header": "header"}


def kio_class(module: str, message: model.Message, version: int) -> Any:
    place = f"kio.schema.{_KIO_NAMES.get(module, module)}.v{version}.{_KINDS.get(message.kind, 'data')}"
    return getattr(import_module(place), message.name)


def pair(random: Random, module: str, struct: model.Struct, kio: Any, version: int) -> tuple[Any, Any]:
    """The same values as ours and as kio's."""
    present = [field for field in struct.fields if version in field.versions]
    theirs = fields(kio)
    assert len(present) == len(theirs), f"{struct.name}: {[f.name for f in present]} {[f.name for f in theirs]}"
    our_values: dict[str, Any] = {}
    kio_values: dict[str, Any] = {}
    for field, other in zip(present, theirs, strict=True):
        assert same_name(field.name, other.name), f"{struct.name}.{field.name} is {other.name} there"
        if other.default is not MISSING and leave_default(random, field):
            continue
        if field.is_nullable(version) and random.random() < 0.25:
            our_values[field.name] = kio_values[other.name] = None
        elif field.is_array:
            element = inner_class(other.type)
            pairs = [
                value_pair(random, module, field, other, element, version) for _ in range(array_size(random, field))
            ]
            our_values[field.name] = [ours for ours, _ in pairs]
            kio_values[other.name] = tuple(theirs for _, theirs in pairs)
        else:
            our_values[field.name], kio_values[other.name] = value_pair(
                random, module, field, other, inner_class(other.type), version
            )
    return class_of(module, struct)(**our_values), kio(**kio_values)


def same_name(ours: str, theirs: str) -> bool:
    return theirs.rstrip("_").replace("_", "") in (ours.replace("_", ""), ours.removesuffix("_ms").replace("_", ""))


def inner_class(annotation: Any) -> Any:
    """The dataclass inside `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    for argument in get_args(annotation):
        if argument is not type(None) and argument is not ...:
            return inner_class(argument)
    return annotation


def value_pair(random: Random, module: str, field: model.Field, other: Any, element: Any, version: int) -> Any:
    if field.struct is not None:
        return pair(random, module, field.struct, element, version)
    kind = other.metadata["kafka_type"]
    if kind == "error_code":
        code = random.choice(list(KioErrorCode))
        return code.value, code
    if kind.startswith("timedelta"):
        milliseconds = random.choice((0, -1, 1, 2**31 - 1, random.randint(-(2**31), 2**31 - 1)))
        return milliseconds, timedelta(milliseconds=milliseconds)
    if kind == "datetime_i64":
        seconds = random.randint(0, 4_000_000_000)
        return seconds * 1000, datetime.fromtimestamp(seconds, UTC)
    value = scalar(random, field.type)
    if kind == "uuid":
        return value, UUID(bytes=value) if any(value) else None
    return value, value


@pytest.mark.parametrize(
    ("module", "message"),
    [
        pytest.param(module, message, id=message.name)
        for module, message in messages()
        if message.name not in NOT_IN_KIO
    ],
)
def test_same_bytes_and_same_values_as_kio(module: str, message: model.Message) -> None:
    for version in versions(message):
        random = Random(f"{message.name} {version}")
        kio = kio_class(module, message, version)
        assert kio.__flexible__ == message.is_flexible(version)
        read, write = entity_reader(kio), entity_writer(kio)
        for _ in range(SAMPLES):
            ours, theirs = pair(random, module, message.struct, kio, version)
            buffer = io.BytesIO()
            write(buffer, theirs)
            encoded = ours.encode(version)
            assert encoded == buffer.getvalue(), f"version {version}: {ours}"
            assert read(encoded, 0) == (theirs, len(encoded)), f"version {version}: {ours}"
            assert type(ours).decode(buffer.getvalue(), version) == ours, f"version {version}"
