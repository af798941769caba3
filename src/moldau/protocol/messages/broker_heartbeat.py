# Generated from schema/broker_heartbeat.wire by tools/generate_messages.py: do not edit.
"""BrokerHeartbeat: a broker is alive, and what it wants: to be unfenced or to shut down.

Since version
   1  failed log directories
   2  cordoned log directories
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_uuids, read_compact_count, read_uuids
from moldau.protocol.message import UNSET, Message, new, no_such_field
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.slices import Slices, check_count, uuid_slices
from moldau.protocol.tagged_fields import (
    check_tag_end,
    keep_tag,
    misplaced_tag,
    read_tag,
    read_tag_count,
    read_unknown_tags,
    tagged,
)
from moldau.protocol.wire import Writer
from moldau.types import Uuid

_pack_ihooo, _unpack_ihooo = fixed("ih???")
_pack_iqqoo, _unpack_iqqoo = fixed("iqq??")


class BrokerHeartbeatRequest(Message):
    FIELDS = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: list[Uuid]
    cordoned_log_dirs: list[Uuid] | None

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[Uuid] = UNSET,
        cordoned_log_dirs: list[Uuid] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = [] if offline_log_dirs is UNSET else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[BrokerHeartbeatRequest], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iqqoo(
                item.broker_id,
                item.broker_epoch,
                item.current_metadata_offset,
                item.want_fence,
                item.want_shut_down,
            )
            tags: dict[int, bytes] = {}
            if version >= 1:
                offline_log_dirs = item.offline_log_dirs
                if offline_log_dirs:
                    tags[0] = compact_uuids(offline_log_dirs)
            else:
                if item.offline_log_dirs:
                    raise no_such_field("BrokerHeartbeatRequest", "offline_log_dirs", version)
            if version >= 2:
                cordoned_log_dirs = item.cordoned_log_dirs
                if cordoned_log_dirs is not None:
                    tags[1] = compact_uuids(cordoned_log_dirs)
            else:
                if item.cordoned_log_dirs is not None:
                    raise no_such_field("BrokerHeartbeatRequest", "cordoned_log_dirs", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BrokerHeartbeatRequest], int]:
        items: list[BrokerHeartbeatRequest] = []
        for _ in range(count):
            item = new(BrokerHeartbeatRequest)
            (
                item.broker_id,
                item.broker_epoch,
                item.current_metadata_offset,
                item.want_fence,
                item.want_shut_down,
            ) = _unpack_iqqoo(data, pos)
            pos += 22
            item.offline_log_dirs = []
            item.cordoned_log_dirs = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        if version < 1:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 16)
                        if size < 0:
                            raise null_sent("offline_log_dirs")
                        item.offline_log_dirs, pos = read_uuids(data, pos, size)
                    elif tag == 1:
                        if version < 2:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 16)
                        if size < 0:
                            item.cordoned_log_dirs = None
                        else:
                            item.cordoned_log_dirs, pos = read_uuids(data, pos, size)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(
        data: bytes,
        pos: int,
        version: int,
        count: int,
    ) -> Slices[tuple[list[BrokerHeartbeatRequest], int]]:
        check_count(count)
        items: list[BrokerHeartbeatRequest] = []
        for _ in range(count):
            item = new(BrokerHeartbeatRequest)
            (
                item.broker_id,
                item.broker_epoch,
                item.current_metadata_offset,
                item.want_fence,
                item.want_shut_down,
            ) = _unpack_iqqoo(data, pos)
            pos += 22
            item.offline_log_dirs = []
            item.cordoned_log_dirs = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        if version < 1:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 16)
                        if size < 0:
                            raise null_sent("offline_log_dirs")
                        item.offline_log_dirs, pos = yield from uuid_slices(data, pos, size)
                    elif tag == 1:
                        if version < 2:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 16)
                        if size < 0:
                            item.cordoned_log_dirs = None
                        else:
                            item.cordoned_log_dirs, pos = yield from uuid_slices(data, pos, size)
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
            yield 1
        return items, pos


class BrokerHeartbeatResponse(Message):
    FIELDS = ("throttle_time_ms", "error_code", "is_caught_up", "is_fenced", "should_shut_down")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    throttle_time_ms: int
    error_code: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[BrokerHeartbeatResponse], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_ihooo(
                item.throttle_time_ms,
                item.error_code,
                item.is_caught_up,
                item.is_fenced,
                item.should_shut_down,
            )
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BrokerHeartbeatResponse], int]:
        items: list[BrokerHeartbeatResponse] = []
        for _ in range(count):
            item = new(BrokerHeartbeatResponse)
            (
                item.throttle_time_ms,
                item.error_code,
                item.is_caught_up,
                item.is_fenced,
                item.should_shut_down,
            ) = _unpack_ihooo(data, pos)
            pos += 9
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos
