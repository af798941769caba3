# Generated from schema/streams_group_records.wire by tools/generate_messages.py: do not edit.
"""StreamsGroupMetadataValue: the epoch of a streams group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import COMPACT_NULL, compact_string, fixed, read_compact_string
from moldau.protocol.slices import Slices, struct_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_iq, _unpack_iq = fixed("iq")


class LastAssignmentConfig(Struct):
    FIELDS = ("key", "value")
    __slots__ = FIELDS

    key: str
    value: str

    def __init__(self, *, key: str = "", value: str = "") -> None:
        self.key = key
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[LastAssignmentConfig], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += compact_string(item.key)
            buf += compact_string(item.value)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[LastAssignmentConfig], int]:
        items: list[LastAssignmentConfig] = []
        for _ in range(count):
            item = new(LastAssignmentConfig)
            item.key, pos = read_compact_string(data, pos)
            item.value, pos = read_compact_string(data, pos)
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class StreamsGroupMetadataValue(Message):
    FIELDS = ("epoch", "metadata_hash", "validated_topology_epoch", "last_assignment_configs")
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    epoch: int
    metadata_hash: int
    validated_topology_epoch: int
    last_assignment_configs: list[LastAssignmentConfig] | None

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: list[LastAssignmentConfig] | None = UNSET,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = [] if last_assignment_configs is UNSET else last_assignment_configs
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StreamsGroupMetadataValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.epoch, item.metadata_hash)
            tags: dict[int, bytes] = {}
            validated_topology_epoch = item.validated_topology_epoch
            if validated_topology_epoch != -1:
                tags[0] = _pack_i(validated_topology_epoch)
            last_assignment_configs = item.last_assignment_configs
            if last_assignment_configs != []:
                if last_assignment_configs is None:
                    tags[1] = COMPACT_NULL
                else:
                    inner = Writer()
                    inner.buffer += compact_array_count(last_assignment_configs)
                    LastAssignmentConfig.write_all(inner, last_assignment_configs, version)
                    tags[1] = inner.bytes()
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StreamsGroupMetadataValue], int]:
        items: list[StreamsGroupMetadataValue] = []
        for _ in range(count):
            item = new(StreamsGroupMetadataValue)
            item.epoch, item.metadata_hash = _unpack_iq(data, pos)
            pos += 12
            item.validated_topology_epoch = -1
            item.last_assignment_configs = []
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.validated_topology_epoch,) = _unpack_i(data, pos)
                        pos += 4
                    elif tag == 1:
                        size, pos = read_compact_count(data, pos, 3)
                        if size < 0:
                            item.last_assignment_configs = None
                        else:
                            item.last_assignment_configs, pos = LastAssignmentConfig.read_all(data, pos, version, size)
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
    ) -> Slices[tuple[list[StreamsGroupMetadataValue], int]]:
        items: list[StreamsGroupMetadataValue] = []
        for _ in range(count):
            item = new(StreamsGroupMetadataValue)
            item.epoch, item.metadata_hash = _unpack_iq(data, pos)
            pos += 12
            item.validated_topology_epoch = -1
            item.last_assignment_configs = []
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.validated_topology_epoch,) = _unpack_i(data, pos)
                        pos += 4
                    elif tag == 1:
                        size, pos = read_compact_count(data, pos, 3)
                        if size < 0:
                            item.last_assignment_configs = None
                        else:
                            item.last_assignment_configs, pos = yield from struct_slices(
                                LastAssignmentConfig.read_all,
                                data,
                                pos,
                                version,
                                size,
                                bounded=False,
                            )
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[StreamsGroupMetadataValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_iq(item.epoch, item.metadata_hash)
            tags: dict[int, bytes] = {}
            validated_topology_epoch = item.validated_topology_epoch
            if validated_topology_epoch != -1:
                tags[0] = _pack_i(validated_topology_epoch)
            last_assignment_configs = item.last_assignment_configs
            if last_assignment_configs != []:
                if last_assignment_configs is None:
                    tags[1] = COMPACT_NULL
                else:
                    inner = Writer()
                    inner.buffer += compact_array_count(last_assignment_configs)
                    LastAssignmentConfig.write_all(inner, last_assignment_configs, version)
                    tags[1] = inner.bytes()
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            yield 1
