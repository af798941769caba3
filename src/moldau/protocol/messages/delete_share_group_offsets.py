# Generated from schema/delete_share_group_offsets.wire by tools/generate_messages.py: do not edit.
"""DeleteShareGroupOffsets: deletes the offsets of a share group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import (
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_ih, _unpack_ih = fixed("ih")
_pack_uh, _unpack_uh = fixed("16sh")


class DeleteShareGroupOffsetsRequestTopic(Struct):
    FIELDS = ("topic_name",)
    __slots__ = FIELDS

    topic_name: str

    def __init__(self, *, topic_name: str = "") -> None:
        self.topic_name = topic_name
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteShareGroupOffsetsRequestTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DeleteShareGroupOffsetsRequestTopic], int]:
        items: list[DeleteShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            item = new(DeleteShareGroupOffsetsRequestTopic)
            item.topic_name, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DeleteShareGroupOffsetsRequest(Message):
    FIELDS = ("group_id", "topics")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    group_id: str
    topics: list[DeleteShareGroupOffsetsRequestTopic]

    def __init__(self, *, group_id: str = "", topics: list[DeleteShareGroupOffsetsRequestTopic] = UNSET) -> None:
        self.group_id = group_id
        self.topics = [] if topics is UNSET else topics
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteShareGroupOffsetsRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.group_id)
            buf += compact_array_count(item.topics)
            DeleteShareGroupOffsetsRequestTopic.write_all(out, item.topics, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteShareGroupOffsetsRequest], int]:
        items: list[DeleteShareGroupOffsetsRequest] = []
        for _ in range(count):
            item = new(DeleteShareGroupOffsetsRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 2)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = DeleteShareGroupOffsetsRequestTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[DeleteShareGroupOffsetsRequest], int]]:
        check_count(count)
        items: list[DeleteShareGroupOffsetsRequest] = []
        for _ in range(count):
            item = new(DeleteShareGroupOffsetsRequest)
            item.group_id, pos = read_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 2)
            if size < 0:
                raise null_sent("topics")
            item.topics, pos = yield from struct_slices(
                DeleteShareGroupOffsetsRequestTopic.read_all,
                data,
                pos,
                version,
                size,
            )
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
            yield 1
        return items, pos


class DeleteShareGroupOffsetsResponseTopic(Struct):
    FIELDS = ("topic_name", "topic_id", "error_code", "error_message")
    __slots__ = FIELDS

    topic_name: str
    topic_id: Uuid
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: Uuid = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteShareGroupOffsetsResponseTopic], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.topic_name)
            buf += _pack_uh(item.topic_id, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> tuple[list[DeleteShareGroupOffsetsResponseTopic], int]:
        items: list[DeleteShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            item = new(DeleteShareGroupOffsetsResponseTopic)
            item.topic_name, pos = read_compact_string(data, pos)
            item.topic_id, item.error_code = _unpack_uh(data, pos)
            pos += 18
            item.error_message, pos = read_nullable_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DeleteShareGroupOffsetsResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "error_message", "responses")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[DeleteShareGroupOffsetsResponseTopic]

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponseTopic] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is UNSET else responses
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteShareGroupOffsetsResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.responses)
            DeleteShareGroupOffsetsResponseTopic.write_all(out, item.responses, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteShareGroupOffsetsResponse], int]:
        items: list[DeleteShareGroupOffsetsResponse] = []
        for _ in range(count):
            item = new(DeleteShareGroupOffsetsResponse)
            item.throttle_time_ms, item.error_code = _unpack_ih(data, pos)
            pos += 6
            item.error_message, pos = read_nullable_compact_string(data, pos)
            size, pos = read_compact_count(data, pos, 21)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = DeleteShareGroupOffsetsResponseTopic.read_all(data, pos, version, size)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteShareGroupOffsetsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_ih(item.throttle_time_ms, item.error_code)
            buf += nullable_compact_string(item.error_message)
            buf += compact_array_count(item.responses)
            yield from written_slices(DeleteShareGroupOffsetsResponseTopic.write_all, out, item.responses, version)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            yield 1
