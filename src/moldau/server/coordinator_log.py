"""The partitions of internal topics as coordinators see them: the replica manager behind their port.

A coordinator names the leader epoch it was loaded in with everything it appends. The partition may be led by another
broker by now, or by this one again in a later epoch, after records it has never seen: then nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable

from moldau.errors import ErrorCode, KafkaError
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.runtime.ports import FileSlice
from moldau.storage.log import Log
from moldau.storage.origin import Origin
from moldau.storage.run import append_run
from moldau.types import NO_OFFSET, TopicPartition

# Coordinators answer when the in-sync replicas have their records.
_ALL = -1
# From transactions version 2 on the marker that ends a transaction has a higher epoch than its records.
_EPOCH_PER_TRANSACTION = 2


def check_marker(log: Log, producer_id: int, producer_epoch: int, transaction_version: int) -> None:
    """Refuses a marker that comes late. Its first copy has ended the transaction, and the producer goes on with the
    epoch the marker has: taken again, it would end the next transaction, of which its coordinator knows nothing."""
    entry = log.producers.entries.get(producer_id)
    if entry is None or transaction_version < _EPOCH_PER_TRANSACTION:
        return
    if entry.transaction_start != NO_OFFSET and entry.epoch == producer_epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Producer {producer_id} is in a transaction with epoch {producer_epoch}, which ended the one before.",
        )


def _of_another_epoch(held: Partition, leader_epoch: int) -> KafkaError:
    return KafkaError(
        ErrorCode.NOT_COORDINATOR,
        f"{held.topic_partition} is in leader epoch {held.leader_epoch}; its coordinator was loaded in {leader_epoch}.",
    )


class CoordinatorLog:
    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas
        self._watched = replicas.fetches.watched

    def role(self, partition: TopicPartition, leader_epoch: int) -> Partition:
        held = self._get(partition)
        if not held.is_leader or held.leader_epoch != leader_epoch:
            raise _of_another_epoch(held, leader_epoch)
        return held

    def append(self, partition: TopicPartition, batch: bytearray, leader_epoch: int) -> int:
        held = self._get(partition)
        if held.leader_epoch != leader_epoch:
            raise _of_another_epoch(held, leader_epoch)
        info = held.append(memoryview(batch), 0, len(batch), _ALL, Origin.COORDINATOR)
        self._replicas.moved(held)
        return info.last_offset + 1

    def append_run(
        self, partition: TopicPartition, batch: bytearray, records: int, now_ms: int, leader_epoch: int
    ) -> int | None:
        held = self._replicas.find(*partition)
        if held is None or not held.has_runs or held.leader_epoch != leader_epoch:
            return None
        end = append_run(held.log.local, batch, records, leader_epoch, now_ms)
        if end is not None:
            held.traffic.took(len(batch), records)
            if held in self._watched:
                self._replicas.wake_readers(held)
        return end

    def check_marker(
        self, partition: TopicPartition, producer_id: int, producer_epoch: int, transaction_version: int
    ) -> None:
        check_marker(self._get(partition).log, producer_id, producer_epoch, transaction_version)

    def replicated(self, partition: TopicPartition, offset: int) -> ErrorCode:
        return self._get(partition).replicated(offset)[1]

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

    def delete_before(self, partition: TopicPartition, offset: int) -> None:
        """Readers and followers begin at the offset from now on; whole segments before it are removed in time."""
        held = self._get(partition)
        held.check_leader(-1)
        held.log.local.advance_log_start(min(offset, held.log.high_watermark))

    def watch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        self._replicas.watch(partition, listener)

    def unwatch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        self._replicas.unwatch(partition, listener)

    def _get(self, partition: TopicPartition) -> Partition:
        try:
            return self._replicas.get(*partition)
        except KafkaError as error:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, error.message) from error
