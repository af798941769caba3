"""Asking the transaction coordinator, before a transactional write, whether the partition is in the transaction.

A leader asks once per transaction and partition: as soon as the transaction has written there, the log knows that it
is open. Clients of transactions version 1 have added the partition themselves, and it is only verified; for those of
version 2 it is added now.

The coordinator may be another broker; then the question goes out as AddPartitionsToTxn version 4 or later. That is the
place of `RemoteTransactions`; a single node has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from moldau.config.broker import BrokerConfig
from moldau.coordinator.txn.coordinator import TransactionCoordinator
from moldau.coordinator.txn.transaction import EPOCH_PER_TRANSACTION, Producer
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.ports import Loop
from moldau.types import TopicPartition

Results = dict[TopicPartition, ErrorCode]


class RemoteTransactions(Protocol):
    def ask(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition], *, add: bool
    ) -> Deferred[Results]: ...


class TransactionPartitions:
    def __init__(
        self,
        coordinator: TransactionCoordinator,
        config: BrokerConfig,
        loop: Loop,
        remote: RemoteTransactions | None = None,
    ) -> None:
        self._coordinator = coordinator
        self._config = config
        self._loop = loop
        self._remote = remote

    @property
    def required(self) -> bool:
        """Off, a transactional write is taken on the client's word (`transaction.partition.verification.enable`)."""
        return self._config.transaction_partition_verification_enable

    def ask(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition], *, add: bool
    ) -> Deferred[Results]:
        """NONE for each partition that may be written; otherwise the coordinator's code. Settled at once if it can."""
        if self._remote is not None and not self._is_here(transactional_id):
            return self._remote.ask(transactional_id, producer, partitions, add=add)
        answer: Deferred[Results] = Deferred()
        if add:
            self._add(transactional_id, producer, partitions, answer, waited_ms=0)
        else:
            answer.resolve(self._coordinator.verify_partitions(transactional_id, producer, partitions))
        return answer

    def _add(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Sequence[TopicPartition],
        answer: Deferred[Results],
        waited_ms: int,
    ) -> None:
        """The first write of a transaction often meets the end of the one before: it waits a little for that."""

        def added(code: ErrorCode | None, error: BaseException | None) -> None:
            if code is None:
                answer.resolve(dict.fromkeys(partitions, ErrorCode.UNKNOWN_SERVER_ERROR))
                return
            pause = self._config.add_partitions_to_txn_retry_backoff_ms
            limit = self._config.add_partitions_to_txn_retry_backoff_max_ms
            if code == ErrorCode.CONCURRENT_TRANSACTIONS and waited_ms + pause <= limit:
                self._loop.call_later(
                    pause / 1000,
                    lambda: self._add(transactional_id, producer, partitions, answer, waited_ms + pause),
                )
            else:
                answer.resolve(dict.fromkeys(partitions, code))

        self._coordinator.add_partitions(transactional_id, producer, partitions, EPOCH_PER_TRANSACTION).then(added)

    def _is_here(self, transactional_id: str) -> bool:
        runtime = self._coordinator.runtime
        try:
            return runtime.is_loaded(runtime.partition_of(transactional_id))
        except KafkaError:
            return True
