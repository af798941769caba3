# Generated from schema/delete_topics.wire by tools/generate_messages.py: do not edit.
"""DeleteTopics: deletes topics.

Since version
   4  flexible
   5  an error message
   6  topics may be named by id
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import (
    array_count,
    compact_array_count,
    compact_strings,
    read_compact_count,
    read_count,
    read_many,
    strings,
)
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags, null_refused
from moldau.protocol.primitives import (
    COMPACT_NULL,
    compact_string,
    fixed,
    null_sent,
    nullable_compact_string,
    read_compact_string,
    read_nullable_compact_string,
    read_string,
    string,
)
from moldau.protocol.slices import Slices, check_count, struct_slices, value_slices, written_slices
from moldau.protocol.tagged_fields import read_unknown_tags, tagged
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_h, _unpack_h = fixed("h")
_pack_i, _unpack_i = fixed("i")
_pack_u, _unpack_u = fixed("16s")
_pack_uh, _unpack_uh = fixed("16sh")


class DeleteTopicState(Struct):
    FIELDS = ("name", "topic_id")
    __slots__ = FIELDS

    name: str | None
    topic_id: Uuid

    def __init__(self, *, name: str | None = None, topic_id: Uuid = ZERO_UUID) -> None:
        self.name = name
        self.topic_id = topic_id
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteTopicState], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += nullable_compact_string(item.name)
            buf += _pack_u(item.topic_id)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteTopicState], int]:
        items: list[DeleteTopicState] = []
        for _ in range(count):
            item = new(DeleteTopicState)
            item.name, pos = read_nullable_compact_string(data, pos)
            (item.topic_id,) = _unpack_u(data, pos)
            pos += 16
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class DeleteTopicsRequest(Message):
    FIELDS = ("topics", "topic_names", "timeout_ms")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    topics: list[DeleteTopicState]
    topic_names: list[str]
    timeout_ms: int

    def __init__(
        self,
        *,
        topics: list[DeleteTopicState] = UNSET,
        topic_names: list[str] = UNSET,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is UNSET else topics
        self.topic_names = [] if topic_names is UNSET else topic_names
        self.timeout_ms = timeout_ms
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteTopicsRequest], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                if version >= 6:
                    buf += compact_array_count(item.topics)
                    DeleteTopicState.write_all(out, item.topics, version)
                else:
                    if item.topics:
                        raise no_such_field("DeleteTopicsRequest", "topics", version)
                if version <= 5:
                    buf += compact_strings(item.topic_names)
                buf += _pack_i(item.timeout_ms)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            if item.topics:
                raise no_such_field("DeleteTopicsRequest", "topics", version)
            buf += strings(item.topic_names)
            buf += _pack_i(item.timeout_ms)
            if item.unknown_tags:
                raise no_tags("DeleteTopicsRequest", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteTopicsRequest], int]:
        items: list[DeleteTopicsRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(DeleteTopicsRequest)
                if version >= 6:
                    size, pos = read_compact_count(data, pos, 18)
                    if size < 0:
                        raise null_sent("topics")
                    item.topics, pos = DeleteTopicState.read_all(data, pos, version, size)
                else:
                    item.topics = []
                if version >= 6:
                    item.topic_names = []
                else:
                    size, pos = read_compact_count(data, pos, 1)
                    if size < 0:
                        raise null_sent("topic_names")
                    item.topic_names, pos = read_many(read_compact_string, data, pos, size)
                (item.timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteTopicsRequest)
            item.topics = []
            size, pos = read_count(data, pos, 2)
            if size < 0:
                raise null_sent("topic_names")
            item.topic_names, pos = read_many(read_string, data, pos, size)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[DeleteTopicsRequest], int]]:
        check_count(count)
        items: list[DeleteTopicsRequest] = []
        if version >= 4:
            for _ in range(count):
                item = new(DeleteTopicsRequest)
                if version >= 6:
                    size, pos = read_compact_count(data, pos, 18)
                    if size < 0:
                        raise null_sent("topics")
                    item.topics, pos = yield from struct_slices(DeleteTopicState.read_all, data, pos, version, size)
                else:
                    item.topics = []
                if version >= 6:
                    item.topic_names = []
                else:
                    size, pos = read_compact_count(data, pos, 1)
                    if size < 0:
                        raise null_sent("topic_names")
                    item.topic_names, pos = yield from value_slices(read_compact_string, data, pos, size)
                (item.timeout_ms,) = _unpack_i(data, pos)
                pos += 4
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
                yield 1
            return items, pos
        for _ in range(count):
            item = new(DeleteTopicsRequest)
            item.topics = []
            size, pos = read_count(data, pos, 2)
            if size < 0:
                raise null_sent("topic_names")
            item.topic_names, pos = yield from value_slices(read_string, data, pos, size)
            (item.timeout_ms,) = _unpack_i(data, pos)
            pos += 4
            item.unknown_tags = None
            items.append(item)
            yield 1
        return items, pos


class DeletableTopicResult(Struct):
    FIELDS = ("name", "topic_id", "error_code", "error_message")
    __slots__ = FIELDS

    name: str | None
    topic_id: Uuid
    error_code: int
    error_message: str | None

    def __init__(
        self,
        *,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeletableTopicResult], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                name = item.name
                if name is None:
                    if version < 6:
                        raise null_refused("DeletableTopicResult", "name", version)
                    buf += COMPACT_NULL
                else:
                    buf += compact_string(name)
                if version >= 6:
                    buf += _pack_uh(item.topic_id, item.error_code)
                else:
                    buf += _pack_h(item.error_code)
                if version >= 5:
                    buf += nullable_compact_string(item.error_message)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            name = item.name
            if name is None:
                raise null_refused("DeletableTopicResult", "name", version)
            buf += string(name)
            buf += _pack_h(item.error_code)
            if item.unknown_tags:
                raise no_tags("DeletableTopicResult", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeletableTopicResult], int]:
        items: list[DeletableTopicResult] = []
        if version >= 4:
            for _ in range(count):
                item = new(DeletableTopicResult)
                if version >= 6:
                    item.name, pos = read_nullable_compact_string(data, pos)
                else:
                    item.name, pos = read_compact_string(data, pos)
                if version >= 6:
                    item.topic_id, item.error_code = _unpack_uh(data, pos)
                    pos += 18
                else:
                    (item.error_code,) = _unpack_h(data, pos)
                    pos += 2
                    item.topic_id = ZERO_UUID
                if version >= 5:
                    item.error_message, pos = read_nullable_compact_string(data, pos)
                else:
                    item.error_message = None
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeletableTopicResult)
            item.name, pos = read_string(data, pos)
            (item.error_code,) = _unpack_h(data, pos)
            pos += 2
            item.topic_id = ZERO_UUID
            item.error_message = None
            item.unknown_tags = None
            items.append(item)
        return items, pos


class DeleteTopicsResponse(Message):
    FIELDS = ("throttle_time_ms", "responses")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_SINCE: ClassVar[int | None] = 4

    throttle_time_ms: int
    responses: list[DeletableTopicResult]

    def __init__(self, *, throttle_time_ms: int = 0, responses: list[DeletableTopicResult] = UNSET) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is UNSET else responses
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[DeleteTopicsResponse], version: int) -> None:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.responses)
                DeletableTopicResult.write_all(out, item.responses, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.responses)
            DeletableTopicResult.write_all(out, item.responses, version)
            if item.unknown_tags:
                raise no_tags("DeleteTopicsResponse", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[DeleteTopicsResponse], int]:
        items: list[DeleteTopicsResponse] = []
        if version >= 4:
            for _ in range(count):
                item = new(DeleteTopicsResponse)
                (item.throttle_time_ms,) = _unpack_i(data, pos)
                pos += 4
                size, pos = read_compact_count(data, pos, 4)
                if size < 0:
                    raise null_sent("responses")
                item.responses, pos = DeletableTopicResult.read_all(data, pos, version, size)
                item.unknown_tags = None
                if data[pos] == 0:
                    pos += 1
                else:
                    item.unknown_tags, pos = read_unknown_tags(data, pos)
                items.append(item)
            return items, pos
        for _ in range(count):
            item = new(DeleteTopicsResponse)
            (item.throttle_time_ms,) = _unpack_i(data, pos)
            pos += 4
            size, pos = read_count(data, pos, 4)
            if size < 0:
                raise null_sent("responses")
            item.responses, pos = DeletableTopicResult.read_all(data, pos, version, size)
            item.unknown_tags = None
            items.append(item)
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[DeleteTopicsResponse], version: int) -> Slices[None]:
        buf = out.buffer
        if version >= 4:
            for item in items:
                buf += _pack_i(item.throttle_time_ms)
                buf += compact_array_count(item.responses)
                yield from written_slices(DeletableTopicResult.write_all, out, item.responses, version)
                buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"
                yield 1
            return
        for item in items:
            buf += _pack_i(item.throttle_time_ms)
            buf += array_count(item.responses)
            yield from written_slices(DeletableTopicResult.write_all, out, item.responses, version)
            if item.unknown_tags:
                raise no_tags("DeleteTopicsResponse", version)
            yield 1
