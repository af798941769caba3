"""The partitions of internal topics as coordinators see them: the replica manager behind their port."""

from __future__ import annotations

from collections.abc import Callable

from moldau.errors import ErrorCode, KafkaError
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.runtime.ports import FileSlice
from moldau.storage.origin import Origin
from moldau.types import TopicPartition

# Coordinators answer when the in-sync replicas have their records.
_ALL = -1


class CoordinatorLog:
    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def append(self, partition: TopicPartition, batch: bytearray) -> int:
        held = self._get(partition)
        info = held.append(memoryview(batch), 0, len(batch), _ALL, Origin.COORDINATOR)
        self._replicas.moved(held)
        return info.last_offset + 1

    def read(self, partition: TopicPartition, offset: int, max_bytes: int) -> tuple[bytes, int]:
        log = self._get(partition).log
        offset = max(offset, log.log_start_offset)
        found = log.read(offset, max_bytes, log.log_end_offset, at_least_one=True).records
        return (found.read() if isinstance(found, FileSlice) else found), log.log_end_offset

    def log_start_offset(self, partition: TopicPartition) -> int:
        return self._get(partition).log.log_start_offset

    def log_end_offset(self, partition: TopicPartition) -> int:
        return self._get(partition).log.log_end_offset

    def high_watermark(self, partition: TopicPartition) -> int:
        return self._get(partition).log.high_watermark

    def max_batch_size(self, partition: TopicPartition) -> int:
        return self._get(partition).log.config.max_message_bytes

    def watch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        self._replicas.watch(partition, listener)

    def unwatch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        self._replicas.unwatch(partition, listener)

    def _get(self, partition: TopicPartition) -> Partition:
        try:
            return self._replicas.get(*partition)
        except KafkaError as error:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, error.message) from error
