"""Damaged input to every decoder at every version: it decodes or it is a ProtocolError, and memory stays bounded."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from message_samples import class_of, make, messages, versions

from message_generator import model
from moldau.errors import ProtocolError

EVERY_MESSAGE = pytest.mark.parametrize(
    ("module", "message"), [pytest.param(module, message, id=message.name) for module, message in messages()]
)
DECODERS = [(module, message, version) for module, message in messages() for version in versions(message)]

# Decoding costs an object per element and a dictionary where there are unknown tags, for as little as four bytes.
BYTES_PER_BYTE = 120


def decode(cls: Any, data: bytes, version: int) -> bool:
    try:
        cls.decode(data, version)
    except ProtocolError:
        return False
    return True


def damaged(random: Random, data: bytes) -> bytes:
    """One to three of the ways in which bytes go wrong."""
    result = bytearray(data)
    for _ in range(random.randint(1, 3)):
        if not result:
            return random.randbytes(4)
        place = random.randrange(len(result))
        match random.randrange(5):
            case 0:
                result[place] ^= 1 << random.randrange(8)
            case 1:
                result[place : place + 4] = random.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0"))
            case 2:
                result[place : place + 1] = b"\xff\xff\xff\xff\x0f"
            case 3:
                del result[place : place + random.randint(1, 8)]
            case _:
                result[place:place] = random.randbytes(random.randint(1, 8))
    return bytes(result)


@EVERY_MESSAGE
def test_every_decoder_survives_damage(module: str, message: model.Message) -> None:
    cls = class_of(module, message.struct)
    for version in versions(message):
        random = Random(f"damage {message.name} {version}")
        for _ in range(12):
            valid = make(random, module, message.struct, version, tags=message.is_flexible(version)).encode(version)
            for _ in range(4):
                decode(cls, damaged(random, valid), version)
            decode(cls, random.randbytes(random.randint(0, 200)), version)


@EVERY_MESSAGE
def test_every_truncation_is_refused(module: str, message: model.Message) -> None:
    cls = class_of(module, message.struct)
    for version in versions(message):
        random = Random(f"truncation {message.name} {version}")
        valid = make(random, module, message.struct, version, tags=message.is_flexible(version)).encode(version)
        for length in random.sample(range(len(valid)), min(len(valid), 20)):
            assert not decode(cls, valid[:length], version), f"version {version}, {length} of {len(valid)} bytes"


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(DECODERS), st.binary(max_size=400))
@example(("fetch", next(m for _, m in messages() if m.name == "FetchRequest"), 18), b"\xff" * 400)
def test_arbitrary_bytes_decode_or_are_refused(decoder: tuple[str, model.Message, int], data: bytes) -> None:
    module, message, version = decoder
    decode(class_of(module, message.struct), data, version)


# What makes decoders allocate: counts that promise more than there is, and input full of elements of the least size.
BOMBS = [
    pytest.param(b"\x00", id="zeros"),
    pytest.param(b"\x01", id="empty strings and arrays"),
    pytest.param(b"\x02\x01", id="short strings and arrays"),
    pytest.param(b"\x7f\xff\xff\xff", id="largest count"),
    pytest.param(b"\xff\xff\xff\x07", id="large varint counts"),
    pytest.param(b"\x00\x00\x0f\x00", id="counts near the size of the input"),
    pytest.param(b"\x80\x1f\x01\x01", id="varint counts near the size of the input"),
]


@pytest.mark.parametrize("pattern", BOMBS)
def test_memory_is_bounded_by_the_size_of_the_input(pattern: bytes) -> None:
    data = pattern * (4096 // len(pattern))
    tracemalloc.start()
    try:
        for module, message, version in DECODERS:
            cls = class_of(module, message.struct)
            for skipped in range(6):
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                decode(cls, data[skipped:], version)
                used = tracemalloc.get_traced_memory()[1] - before
                assert used < BYTES_PER_BYTE * len(data), f"{message.name} version {version}, {used} bytes"
    finally:
        tracemalloc.stop()


def arrays(struct: model.Struct, way: tuple[model.Field, ...] = ()) -> Iterator[tuple[model.Field, ...]]:
    """The ways from a struct down to every array of structs in it."""
    for field in struct.fields:
        if field.struct is not None:
            if field.is_array:
                yield (*way, field)
            yield from arrays(field.struct, (*way, field))


def smallest(module: str, struct: model.Struct, tags: bool) -> Any:
    """An element that is as small as can be on the wire and as large as can be in memory."""
    made = class_of(module, struct)()
    for field in struct.fields:
        if field.is_array:
            setattr(made, field.name, [])
    if tags:
        made.unknown_tags = {100: b""}
    return made


@EVERY_MESSAGE
def test_the_smallest_elements_cost_bounded_memory(module: str, message: model.Message) -> None:
    cls = class_of(module, message.struct)
    for way in arrays(message.struct):
        version = min(field.versions.high for field in way)
        assert way[-1].struct is not None
        value: Any = [smallest(module, way[-1].struct, message.is_flexible(version)) for _ in range(500)]
        for depth in range(len(way) - 1, -1, -1):
            holder = way[depth - 1].struct if depth else message.struct
            assert holder is not None
            made = class_of(module, holder)(**{way[depth].name: value})
            value = [made] if depth and way[depth - 1].is_array else made
        data = value.encode(version)
        tracemalloc.start()
        try:
            assert decode(cls, data, version)
            used = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert used < BYTES_PER_BYTE * len(data), f"{[field.name for field in way]} at version {version}: {used} bytes"


@EVERY_MESSAGE
def test_a_huge_count_in_front_of_any_field_costs_nothing(module: str, message: model.Message) -> None:
    """Every position of a small valid message is overwritten by the largest count, in both encodings of counts."""
    cls = class_of(module, message.struct)
    version = message.versions.high
    valid = make(Random(7), module, message.struct, version).encode(version)[:60]
    for place in range(len(valid)):
        for count in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07"):
            decode(cls, valid[:place] + count + valid[place + len(count) :], version)
