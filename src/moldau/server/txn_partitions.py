"""Asking the transaction coordinator, before a transactional write, whether the partition is in the transaction.

A leader asks once per transaction and partition: as soon as the transaction has written there, the log knows that it
is open. Clients of transactions version 1 have added the partition themselves, and it is only verified; for those of
version 2 it is added now.

The coordinator is whoever leads the id's partition of `__transaction_state`. If that is another broker, the question
goes out as AddPartitionsToTxn (`membership_requests`). What it answers is what a client would be told; what cannot be
found out now is asked again a few times within `add.partitions.to.txn.retry.backoff.max.ms`, and then left to the
client, which is told to send its batch again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.coordinator.txn.coordinator import TransactionCoordinator
from moldau.coordinator.txn.transaction import EPOCH_PER_TRANSACTION, TRANSACTIONS_TOPIC, Producer
from moldau.deferred import Deferred, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.ports import Loop
from moldau.server.membership_requests import MembershipErrand, Results, membership_requests
from moldau.server.other_brokers import OtherBrokers
from moldau.types import NO_LEADER, TopicPartition

# The end of the transaction before is on its way; only who adds waits for it, others have to know now.
_SOON_OVER: Final = {True: (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_COORDINATOR), False: ()}


class TransactionPartitions:
    """Without `brokers` this node is the coordinator of all transactions."""

    def __init__(
        self,
        coordinator: TransactionCoordinator,
        config: BrokerConfig,
        loop: Loop,
        brokers: OtherBrokers | None = None,
    ) -> None:
        self._coordinator = coordinator
        self._config = config
        self._loop = loop
        self._remote = None if brokers is None else membership_requests(brokers)

    @property
    def required(self) -> bool:
        """Off, a transactional write is taken on the client's word (`transaction.partition.verification.enable`)."""
        return self._config.transaction_partition_verification_enable

    def ask(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition], *, add: bool
    ) -> Deferred[Results]:
        """NONE for each partition that may be written; otherwise the coordinator's code. Settled at once if it can."""
        answer: Deferred[Results] = Deferred()
        self._ask(lambda: self._once(transactional_id, producer, partitions, add), _SOON_OVER[add], answer, 0)
        return answer

    def _ask(
        self,
        once: Callable[[], Deferred[Results]],
        soon_over: Sequence[ErrorCode],
        answer: Deferred[Results],
        waited_ms: int,
    ) -> None:
        """The first write of a transaction often meets the end of the one before: it waits a little for that."""

        def answered(results: Results | None, error: BaseException | None) -> None:
            if results is None:
                assert error is not None
                answer.fail(error)
                return
            pause = self._config.add_partitions_to_txn_retry_backoff_ms
            limit = self._config.add_partitions_to_txn_retry_backoff_max_ms
            if waited_ms + pause <= limit and any(code in soon_over for code in results.values()):
                self._loop.call_later(pause / 1000, lambda: self._ask(once, soon_over, answer, waited_ms + pause))
            else:
                answer.resolve(results)

        once().then(answered)

    def _once(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition], add: bool
    ) -> Deferred[Results]:
        """Of whoever is the coordinator now."""
        if self._remote is not None:
            leader = self._leader(transactional_id)
            if leader == NO_LEADER:
                return ready(dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            if leader != self._config.node_id:
                answer: Deferred[Results] = Deferred()
                self._remote.add(leader, MembershipErrand(transactional_id, producer, partitions, add, answer))
                return answer
        if not add:
            return ready(self._coordinator.verify_partitions(transactional_id, producer, partitions))
        return self._add(transactional_id, producer, partitions)

    def _add(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TopicPartition]
    ) -> Deferred[Results]:
        answer: Deferred[Results] = Deferred()

        def added(code: ErrorCode | None, _: BaseException | None) -> None:
            answer.resolve(dict.fromkeys(partitions, ErrorCode.UNKNOWN_SERVER_ERROR if code is None else code))

        self._coordinator.add_partitions(transactional_id, producer, partitions, EPOCH_PER_TRANSACTION).then(added)
        return answer

    def _leader(self, transactional_id: str) -> int:
        runtime = self._coordinator.runtime
        try:
            partition = runtime.partition_of(transactional_id)
        except KafkaError:
            return NO_LEADER
        state = runtime.image.topics.partition(TRANSACTIONS_TOPIC, partition)
        return NO_LEADER if state is None else state.leader
