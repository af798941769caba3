"""Answers as the network sends them: length, header and body; records in files stay there until they are sent."""

from __future__ import annotations

from struct import Struct

from moldau.protocol.message import Message
from moldau.protocol.slices import Slices, freed
from moldau.protocol.wire import Writer
from moldau.runtime.ports import Chunk

_prefix = Struct(">ii").pack
_put_length = Struct(">i").pack_into


def encode_response(response: Message, version: int, correlation_id: int, tags: bytes) -> list[Chunk]:
    """Length, header (`tags` end it) and body, for the network; records in files stay there until they are sent."""
    out = _begin(correlation_id, tags)
    first = out.buffer
    response.write(out, version)
    _put_length(first, 0, len(out) - 4)
    return out.chunks()


def encode_in_slices(response: Message, version: int, correlation_id: int, tags: bytes) -> Slices[list[Chunk]]:
    out = _begin(correlation_id, tags)
    first = out.buffer
    yield from response.write_in_slices(out, version)
    _put_length(first, 0, len(out) - 4)
    yield from freed(response)
    return out.chunks()


def _begin(correlation_id: int, tags: bytes) -> Writer:
    out = Writer()
    out.buffer += _prefix(0, correlation_id)
    out.buffer += tags
    return out
