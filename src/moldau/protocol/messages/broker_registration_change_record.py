# Generated from schema/metadata_records.wire by tools/generate_messages.py: do not edit.
"""BrokerRegistrationChangeRecord: a broker was fenced, unfenced, is shutting down, or its directories changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_uuids, read_compact_count, read_uuids
from moldau.protocol.message import UNSET, Message, new, no_such_field
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, misplaced_tag, read_tag, read_tag_count, tagged
from moldau.protocol.wire import Writer
from moldau.types import Uuid

_pack_b, _unpack_b = fixed("b")
_pack_iq, _unpack_iq = fixed("iq")


class BrokerRegistrationChangeRecord(Message):
    FIELDS = ("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    broker_id: int
    broker_epoch: int
    fenced: int
    in_controlled_shutdown: int
    log_dirs: list[Uuid]
    cordoned_log_dirs: list[Uuid] | None

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[Uuid] = UNSET,
        cordoned_log_dirs: list[Uuid] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is UNSET else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[BrokerRegistrationChangeRecord], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.broker_id, item.broker_epoch)
            tags: dict[int, bytes] = {}
            fenced = item.fenced
            if fenced != 0:
                tags[0] = _pack_b(fenced)
            if version >= 1:
                in_controlled_shutdown = item.in_controlled_shutdown
                if in_controlled_shutdown != 0:
                    tags[1] = _pack_b(in_controlled_shutdown)
            else:
                if item.in_controlled_shutdown != 0:
                    raise no_such_field("BrokerRegistrationChangeRecord", "in_controlled_shutdown", version)
            if version >= 2:
                log_dirs = item.log_dirs
                if log_dirs:
                    tags[2] = compact_uuids(log_dirs)
            else:
                if item.log_dirs:
                    raise no_such_field("BrokerRegistrationChangeRecord", "log_dirs", version)
            if version >= 3:
                cordoned_log_dirs = item.cordoned_log_dirs
                if cordoned_log_dirs is not None:
                    tags[3] = compact_uuids(cordoned_log_dirs)
            else:
                if item.cordoned_log_dirs is not None:
                    raise no_such_field("BrokerRegistrationChangeRecord", "cordoned_log_dirs", version)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[BrokerRegistrationChangeRecord], int]:
        items: list[BrokerRegistrationChangeRecord] = []
        for _ in range(count):
            item = new(BrokerRegistrationChangeRecord)
            item.broker_id, item.broker_epoch = _unpack_iq(data, pos)
            pos += 12
            item.fenced = 0
            item.in_controlled_shutdown = 0
            item.log_dirs = []
            item.cordoned_log_dirs = None
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.fenced,) = _unpack_b(data, pos)
                        pos += 1
                    elif tag == 1:
                        if version < 1:
                            raise misplaced_tag(tag, version)
                        (item.in_controlled_shutdown,) = _unpack_b(data, pos)
                        pos += 1
                    elif tag == 2:
                        if version < 2:
                            raise misplaced_tag(tag, version)
                        size, pos = read_compact_count(data, pos, 16)
                        if size < 0:
                            raise null_sent("log_dirs")
                        item.log_dirs, pos = read_uuids(data, pos, size)
                    elif tag == 3:
                        if version < 3:
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
