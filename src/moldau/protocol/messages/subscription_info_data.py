# Generated from schema/consumer_protocol.wire by tools/generate_messages.py: do not edit.
"""SubscriptionInfoData: what a member of a classic Kafka Streams group sends its leader. Kafka keeps it compatible
by hand; brokers do not read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from moldau.protocol.arrays import array_count, read_count
from moldau.protocol.message import UNSET, Message, Struct, new, no_such_field, no_tags
from moldau.protocol.primitives import bytes_, fixed, null_sent, nullable_string, read_bytes, read_nullable_string
from moldau.protocol.wire import Writer
from moldau.types import ZERO_UUID, Uuid

_pack_b, _unpack_b = fixed("b")
_pack_bi, _unpack_bi = fixed("bi")
_pack_i, _unpack_i = fixed("i")
_pack_ii, _unpack_ii = fixed("ii")
_pack_iiq, _unpack_iiq = fixed("iiq")
_pack_iiu, _unpack_iiu = fixed("ii16s")
_pack_iq, _unpack_iq = fixed("iq")
_pack_iu, _unpack_iu = fixed("i16s")


class TaskId(Struct):
    FIELDS = ("topic_group_id", "partition")
    __slots__ = FIELDS

    topic_group_id: int
    partition: int

    def __init__(self, *, topic_group_id: int = 0, partition: int = 0) -> None:
        self.topic_group_id = topic_group_id
        self.partition = partition
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TaskId], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 7:
                if item.topic_group_id != 0:
                    raise no_such_field("TaskId", "topic_group_id", version)
                if item.partition != 0:
                    raise no_such_field("TaskId", "partition", version)
            else:
                buf += _pack_ii(item.topic_group_id, item.partition)
            if item.unknown_tags:
                raise no_tags("TaskId", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TaskId], int]:
        items: list[TaskId] = []
        for _ in range(count):
            item = new(TaskId)
            if version >= 7:
                item.topic_group_id = 0
                item.partition = 0
            else:
                item.topic_group_id, item.partition = _unpack_ii(data, pos)
                pos += 8
            item.unknown_tags = None
            items.append(item)
        return items, pos


class PartitionToOffsetSum(Struct):
    FIELDS = ("partition", "offset_sum")
    __slots__ = FIELDS

    partition: int
    offset_sum: int

    def __init__(self, *, partition: int = 0, offset_sum: int = 0) -> None:
        self.partition = partition
        self.offset_sum = offset_sum
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[PartitionToOffsetSum], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 10:
                if item.partition != 0:
                    raise no_such_field("PartitionToOffsetSum", "partition", version)
                if item.offset_sum != 0:
                    raise no_such_field("PartitionToOffsetSum", "offset_sum", version)
            elif version >= 7:
                buf += _pack_iq(item.partition, item.offset_sum)
            else:
                if item.partition != 0:
                    raise no_such_field("PartitionToOffsetSum", "partition", version)
                if item.offset_sum != 0:
                    raise no_such_field("PartitionToOffsetSum", "offset_sum", version)
            if item.unknown_tags:
                raise no_tags("PartitionToOffsetSum", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[PartitionToOffsetSum], int]:
        items: list[PartitionToOffsetSum] = []
        for _ in range(count):
            item = new(PartitionToOffsetSum)
            if version >= 10:
                item.partition = 0
                item.offset_sum = 0
            elif version >= 7:
                item.partition, item.offset_sum = _unpack_iq(data, pos)
                pos += 12
            else:
                item.partition = 0
                item.offset_sum = 0
            item.unknown_tags = None
            items.append(item)
        return items, pos


class TaskOffsetSum(Struct):
    FIELDS = ("topic_group_id", "partition", "offset_sum", "named_topology", "partition_to_offset_sum")
    __slots__ = FIELDS

    topic_group_id: int
    partition: int
    offset_sum: int
    named_topology: str | None
    partition_to_offset_sum: list[PartitionToOffsetSum]

    def __init__(
        self,
        *,
        topic_group_id: int = 0,
        partition: int = 0,
        offset_sum: int = 0,
        named_topology: str | None = "",
        partition_to_offset_sum: list[PartitionToOffsetSum] = UNSET,
    ) -> None:
        self.topic_group_id = topic_group_id
        self.partition = partition
        self.offset_sum = offset_sum
        self.named_topology = named_topology
        self.partition_to_offset_sum = [] if partition_to_offset_sum is UNSET else partition_to_offset_sum
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[TaskOffsetSum], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 10:
                buf += _pack_iiq(item.topic_group_id, item.partition, item.offset_sum)
            elif version >= 7:
                if item.partition != 0:
                    raise no_such_field("TaskOffsetSum", "partition", version)
                if item.offset_sum != 0:
                    raise no_such_field("TaskOffsetSum", "offset_sum", version)
                buf += _pack_i(item.topic_group_id)
            else:
                if item.topic_group_id != 0:
                    raise no_such_field("TaskOffsetSum", "topic_group_id", version)
                if item.partition != 0:
                    raise no_such_field("TaskOffsetSum", "partition", version)
                if item.offset_sum != 0:
                    raise no_such_field("TaskOffsetSum", "offset_sum", version)
            if version >= 10:
                buf += nullable_string(item.named_topology)
            else:
                if item.named_topology != "":
                    raise no_such_field("TaskOffsetSum", "named_topology", version)
            if version >= 10:
                if item.partition_to_offset_sum:
                    raise no_such_field("TaskOffsetSum", "partition_to_offset_sum", version)
            elif version >= 7:
                buf += array_count(item.partition_to_offset_sum)
                PartitionToOffsetSum.write_all(out, item.partition_to_offset_sum, version)
            else:
                if item.partition_to_offset_sum:
                    raise no_such_field("TaskOffsetSum", "partition_to_offset_sum", version)
            if item.unknown_tags:
                raise no_tags("TaskOffsetSum", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[TaskOffsetSum], int]:
        items: list[TaskOffsetSum] = []
        for _ in range(count):
            item = new(TaskOffsetSum)
            if version >= 10:
                item.topic_group_id, item.partition, item.offset_sum = _unpack_iiq(data, pos)
                pos += 16
            elif version >= 7:
                (item.topic_group_id,) = _unpack_i(data, pos)
                pos += 4
                item.partition = 0
                item.offset_sum = 0
            else:
                item.topic_group_id = 0
                item.partition = 0
                item.offset_sum = 0
            if version >= 10:
                item.named_topology, pos = read_nullable_string(data, pos)
            else:
                item.named_topology = ""
            if version >= 10:
                item.partition_to_offset_sum = []
            elif version >= 7:
                size, pos = read_count(data, pos, 12)
                if size < 0:
                    raise null_sent("partition_to_offset_sum")
                item.partition_to_offset_sum, pos = PartitionToOffsetSum.read_all(data, pos, version, size)
            else:
                item.partition_to_offset_sum = []
            item.unknown_tags = None
            items.append(item)
        return items, pos


class ClientTag(Struct):
    FIELDS = ("key", "value")
    __slots__ = FIELDS

    key: bytes
    value: bytes

    def __init__(self, *, key: bytes = b"", value: bytes = b"") -> None:
        self.key = key
        self.value = value
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[ClientTag], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 11:
                buf += bytes_(item.key)
                buf += bytes_(item.value)
            else:
                if item.key != b"":
                    raise no_such_field("ClientTag", "key", version)
                if item.value != b"":
                    raise no_such_field("ClientTag", "value", version)
            if item.unknown_tags:
                raise no_tags("ClientTag", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[ClientTag], int]:
        items: list[ClientTag] = []
        for _ in range(count):
            item = new(ClientTag)
            if version >= 11:
                item.key, pos = read_bytes(data, pos)
                item.value, pos = read_bytes(data, pos)
            else:
                item.key = b""
                item.value = b""
            item.unknown_tags = None
            items.append(item)
        return items, pos


class SubscriptionInfoData(Message):
    FIELDS = (
        "version",
        "latest_supported_version",
        "process_id",
        "prev_tasks",
        "standby_tasks",
        "user_end_point",
        "task_offset_sums",
        "unique_field",
        "error_code",
        "client_tags",
    )
    __slots__ = FIELDS

    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_SINCE: ClassVar[int | None] = None

    version: int
    latest_supported_version: int
    process_id: Uuid
    prev_tasks: list[TaskId]
    standby_tasks: list[TaskId]
    user_end_point: bytes
    task_offset_sums: list[TaskOffsetSum]
    unique_field: int
    error_code: int
    client_tags: list[ClientTag]

    def __init__(
        self,
        *,
        version: int = 0,
        latest_supported_version: int = -1,
        process_id: Uuid = ZERO_UUID,
        prev_tasks: list[TaskId] = UNSET,
        standby_tasks: list[TaskId] = UNSET,
        user_end_point: bytes = b"",
        task_offset_sums: list[TaskOffsetSum] = UNSET,
        unique_field: int = 0,
        error_code: int = 0,
        client_tags: list[ClientTag] = UNSET,
    ) -> None:
        self.version = version
        self.latest_supported_version = latest_supported_version
        self.process_id = process_id
        self.prev_tasks = [] if prev_tasks is UNSET else prev_tasks
        self.standby_tasks = [] if standby_tasks is UNSET else standby_tasks
        self.user_end_point = user_end_point
        self.task_offset_sums = [] if task_offset_sums is UNSET else task_offset_sums
        self.unique_field = unique_field
        self.error_code = error_code
        self.client_tags = [] if client_tags is UNSET else client_tags
        self.unknown_tags = None

    @staticmethod
    def write_all(out: Writer, items: Iterable[SubscriptionInfoData], version: int) -> None:
        buf = out.buffer
        for item in items:
            if version >= 3:
                buf += _pack_iiu(item.version, item.latest_supported_version, item.process_id)
            else:
                if item.latest_supported_version != -1:
                    raise no_such_field("SubscriptionInfoData", "latest_supported_version", version)
                buf += _pack_iu(item.version, item.process_id)
            if version >= 7:
                if item.prev_tasks:
                    raise no_such_field("SubscriptionInfoData", "prev_tasks", version)
                if item.standby_tasks:
                    raise no_such_field("SubscriptionInfoData", "standby_tasks", version)
            else:
                buf += array_count(item.prev_tasks)
                TaskId.write_all(out, item.prev_tasks, version)
                buf += array_count(item.standby_tasks)
                TaskId.write_all(out, item.standby_tasks, version)
            if version >= 2:
                buf += bytes_(item.user_end_point)
            else:
                if item.user_end_point != b"":
                    raise no_such_field("SubscriptionInfoData", "user_end_point", version)
            if version >= 7:
                buf += array_count(item.task_offset_sums)
                TaskOffsetSum.write_all(out, item.task_offset_sums, version)
            else:
                if item.task_offset_sums:
                    raise no_such_field("SubscriptionInfoData", "task_offset_sums", version)
            if version >= 9:
                buf += _pack_bi(item.unique_field, item.error_code)
            elif version >= 8:
                if item.error_code != 0:
                    raise no_such_field("SubscriptionInfoData", "error_code", version)
                buf += _pack_b(item.unique_field)
            else:
                if item.unique_field != 0:
                    raise no_such_field("SubscriptionInfoData", "unique_field", version)
                if item.error_code != 0:
                    raise no_such_field("SubscriptionInfoData", "error_code", version)
            if version >= 11:
                buf += array_count(item.client_tags)
                ClientTag.write_all(out, item.client_tags, version)
            else:
                if item.client_tags:
                    raise no_such_field("SubscriptionInfoData", "client_tags", version)
            if item.unknown_tags:
                raise no_tags("SubscriptionInfoData", version)

    @staticmethod
    def read_all(data: bytes, pos: int, version: int, count: int) -> tuple[list[SubscriptionInfoData], int]:
        items: list[SubscriptionInfoData] = []
        for _ in range(count):
            item = new(SubscriptionInfoData)
            if version >= 3:
                item.version, item.latest_supported_version, item.process_id = _unpack_iiu(data, pos)
                pos += 24
            else:
                item.version, item.process_id = _unpack_iu(data, pos)
                pos += 20
                item.latest_supported_version = -1
            if version >= 7:
                item.prev_tasks = []
                item.standby_tasks = []
            else:
                size, pos = read_count(data, pos, 8)
                if size < 0:
                    raise null_sent("prev_tasks")
                item.prev_tasks, pos = TaskId.read_all(data, pos, version, size)
                size, pos = read_count(data, pos, 8)
                if size < 0:
                    raise null_sent("standby_tasks")
                item.standby_tasks, pos = TaskId.read_all(data, pos, version, size)
            if version >= 2:
                item.user_end_point, pos = read_bytes(data, pos)
            else:
                item.user_end_point = b""
            if version >= 7:
                size, pos = read_count(data, pos, 8)
                if size < 0:
                    raise null_sent("task_offset_sums")
                item.task_offset_sums, pos = TaskOffsetSum.read_all(data, pos, version, size)
            else:
                item.task_offset_sums = []
            if version >= 9:
                item.unique_field, item.error_code = _unpack_bi(data, pos)
                pos += 5
            elif version >= 8:
                (item.unique_field,) = _unpack_b(data, pos)
                pos += 1
                item.error_code = 0
            else:
                item.unique_field = 0
                item.error_code = 0
            if version >= 11:
                size, pos = read_count(data, pos, 8)
                if size < 0:
                    raise null_sent("client_tags")
                item.client_tags, pos = ClientTag.read_all(data, pos, version, size)
            else:
                item.client_tags = []
            item.unknown_tags = None
            items.append(item)
        return items, pos
