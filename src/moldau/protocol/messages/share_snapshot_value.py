# Generated from schema/share_state_records.wire by tools/generate_messages.py: do not edit.
"""ShareSnapshotValue: the whole state of a share partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import compact_array_count, read_compact_count
from moldau.protocol.message import UNSET, Message, Struct, new
from moldau.protocol.primitives import fixed, null_sent
from moldau.protocol.slices import Slices, struct_slices, written_slices
from moldau.protocol.tagged_fields import check_tag_end, keep_tag, read_tag, read_tag_count, read_unknown_tags, tagged
from moldau.protocol.wire import Writer

_pack_i, _unpack_i = fixed("i")
_pack_iiiqqq, _unpack_iiiqqq = fixed("iiiqqq")
_pack_qqbh, _unpack_qqbh = fixed("qqbh")


class StateBatch(Struct):
    FIELDS = ("first_offset", "last_offset", "delivery_state", "delivery_count")
    __slots__ = FIELDS

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[StateBatch], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_qqbh(item.first_offset, item.last_offset, item.delivery_state, item.delivery_count)
            buf += tagged(item.unknown_tags) if item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[StateBatch], int]:
        items: list[StateBatch] = []
        for _ in range(count):
            item = new(StateBatch)
            item.first_offset, item.last_offset, item.delivery_state, item.delivery_count = _unpack_qqbh(data, pos)
            pos += 19
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                item.unknown_tags, pos = read_unknown_tags(data, pos)
            items.append(item)
        return items, pos


class ShareSnapshotValue(Message):
    FIELDS = (
        "snapshot_epoch",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "create_timestamp",
        "write_timestamp",
        "state_batches",
    )
    __slots__ = FIELDS

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_SINCE: ClassVar[int | None] = 0

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    create_timestamp: int
    write_timestamp: int
    state_batches: list[StateBatch]

    def __init__(
        self,
        *,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: list[StateBatch] = UNSET,
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches = [] if state_batches is UNSET else state_batches
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ShareSnapshotValue], version: int) -> None:
        buf = out.buffer
        for item in items:
            buf += _pack_iiiqqq(
                item.snapshot_epoch,
                item.state_epoch,
                item.leader_epoch,
                item.start_offset,
                item.create_timestamp,
                item.write_timestamp,
            )
            buf += compact_array_count(item.state_batches)
            StateBatch.write_all(out, item.state_batches, version)
            tags: dict[int, bytes] = {}
            delivery_complete_count = item.delivery_complete_count
            if delivery_complete_count != -1:
                tags[0] = _pack_i(delivery_complete_count)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ShareSnapshotValue], int]:
        items: list[ShareSnapshotValue] = []
        for _ in range(count):
            item = new(ShareSnapshotValue)
            (
                item.snapshot_epoch,
                item.state_epoch,
                item.leader_epoch,
                item.start_offset,
                item.create_timestamp,
                item.write_timestamp,
            ) = _unpack_iiiqqq(data, pos)
            pos += 36
            size, pos = read_compact_count(data, pos, 20)
            if size < 0:
                raise null_sent("state_batches")
            item.state_batches, pos = StateBatch.read_all(data, pos, version, size)
            item.delivery_complete_count = -1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.delivery_complete_count,) = _unpack_i(data, pos)
                        pos += 4
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
        return items, pos

    @staticmethod
    def read_slices(data: bytes, pos: int, version: int, count: int) -> Slices[tuple[list[ShareSnapshotValue], int]]:
        items: list[ShareSnapshotValue] = []
        for _ in range(count):
            item = new(ShareSnapshotValue)
            (
                item.snapshot_epoch,
                item.state_epoch,
                item.leader_epoch,
                item.start_offset,
                item.create_timestamp,
                item.write_timestamp,
            ) = _unpack_iiiqqq(data, pos)
            pos += 36
            size, pos = read_compact_count(data, pos, 20)
            if size < 0:
                raise null_sent("state_batches")
            item.state_batches, pos = yield from struct_slices(
                StateBatch.read_all,
                data,
                pos,
                version,
                size,
                bounded=False,
            )
            item.delivery_complete_count = -1
            item.unknown_tags = None
            if data[pos] == 0:
                pos += 1
            else:
                tags, pos = read_tag_count(data, pos)
                for _ in range(tags):
                    tag, pos, stop = read_tag(data, pos)
                    if tag == 0:
                        (item.delivery_complete_count,) = _unpack_i(data, pos)
                        pos += 4
                    else:
                        item.unknown_tags = keep_tag(item.unknown_tags, tag, data[pos:stop])
                        pos = stop
                    check_tag_end(tag, pos, stop)
            items.append(item)
            yield 1
        return items, pos

    @staticmethod
    def write_slices(out: Writer, items: Iterable[ShareSnapshotValue], version: int) -> Slices[None]:
        buf = out.buffer
        for item in items:
            buf += _pack_iiiqqq(
                item.snapshot_epoch,
                item.state_epoch,
                item.leader_epoch,
                item.start_offset,
                item.create_timestamp,
                item.write_timestamp,
            )
            buf += compact_array_count(item.state_batches)
            yield from written_slices(StateBatch.write_all, out, item.state_batches, version)
            tags: dict[int, bytes] = {}
            delivery_complete_count = item.delivery_complete_count
            if delivery_complete_count != -1:
                tags[0] = _pack_i(delivery_complete_count)
            buf += tagged(tags, item.unknown_tags) if tags or item.unknown_tags else b"\x00"
            yield 1
