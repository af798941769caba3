"""Transactions: an identity of the producer that also knows which partitions are part of what is under way.

The coordinator of the transactional id hands out the identity, is told of partitions before records for them are sent
(brokers of transaction version 2 see that for themselves), and decides the end. An error in between makes the
transaction one that can only be aborted; being fenced by a newer producer of the same id is the end for this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from moldau.client.conversation import Ask, Conversation
from moldau.client.coordinators import CHANNEL, CoordinatorOf, CoordinatorType, check_code
from moldau.client.exceptions import named
from moldau.client.leaders import by_topic
from moldau.client.network import ClientNetwork
from moldau.client.producer.batch import NOBODY, Identity
from moldau.client.producer.identity import ProducerIdentity
from moldau.client.structs import ConsumerGroupMetadata, OffsetAndMetadata
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import IllegalStateError, TransactionAbortedError
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.producer.sender import Sender

_TIMEOUT: Final = 60.0
_LOOK_AGAIN: Final = 0.005

# What clients may use; what lies above is for brokers among each other, or belongs to transaction version 2.
_LAST_ADD_PARTITIONS: Final = 3
_LAST_END_OF_VERSION_1: Final = 4
_LAST_OFFSETS_OF_VERSION_1: Final = 4

_FENCED: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    }
)


class State(Enum):
    UNINITIALIZED = auto()
    READY = auto()
    IN_TRANSACTION = auto()
    ENDING = auto()
    ABORTABLE = auto()
    FATAL = auto()


class TransactionManager(ProducerIdentity):
    numbers = True
    transactional = True

    def __init__(self, network: ClientNetwork, transactional_id: str, timeout_ms: int) -> None:
        super().__init__()
        self.transactional_id = transactional_id
        self.state = State.UNINITIALIZED
        self._network = network
        self._timeout_ms = timeout_ms
        self._coordinator = CoordinatorOf(transactional_id, CoordinatorType.TRANSACTION)
        self._groups: dict[str, CoordinatorOf] = {}
        self._added: set[TopicPartition] = set()
        self._wanted: set[TopicPartition] = set()
        self._adding = False
        self._touched = False
        self._bump = False
        self._error: KafkaError | None = None

    # ------------------------------------------------------------------------------------------- for the application

    def init(self) -> Conversation[None]:
        if self.state is State.READY:
            return  # so it is already
        if self.state is not State.UNINITIALIZED:
            raise IllegalStateError("The transactions of this producer are initialized already.")
        yield from self._take_identity(NOBODY)
        self.state = State.READY

    def begin(self) -> None:
        self._check_fatal()
        if self.state is not State.READY:
            raise IllegalStateError(f"A transaction cannot begin in state {self.state.name.lower()}.")
        self._added.clear()
        self._touched = False
        self.state = State.IN_TRANSACTION

    @property
    def open(self) -> bool:
        """Whether records may be sent at this moment."""
        return self.state is State.IN_TRANSACTION

    def check_sending(self) -> None:
        self._check_fatal()
        if self.state is State.ABORTABLE:
            raise named(self._error) if self._error else IllegalStateError("The transaction must be aborted.")
        if self.state is not State.IN_TRANSACTION:
            raise IllegalStateError("Records are sent within a transaction; begin one first.")

    def check_committing(self) -> None:
        self.check_sending()

    def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata | str
    ) -> Conversation[None]:
        self.check_sending()
        if not offsets:
            return
        member = ConsumerGroupMetadata(group) if isinstance(group, str) else group
        name = member.group_id or ""
        try:
            if not self.implicit_partitions:
                yield from self._coordinator.retrying(
                    lambda: Ask(
                        AddOffsetsToTxnRequest(
                            transactional_id=self.transactional_id or "",
                            producer_id=self.current.id,
                            producer_epoch=self.current.epoch,
                            group_id=name,
                        )
                    ),
                    lambda response: check_code(response.error_code),
                )
            self._touched = True
            coordinator = self._groups.setdefault(name, CoordinatorOf(name, CoordinatorType.GROUP))
            yield from coordinator.retrying(lambda: self._offsets(offsets, member), _check_offsets)
        except KafkaError as error:
            self.batch_failed(error)
            raise

    def begin_abort(self) -> None:
        self._check_fatal()
        if self.state not in (State.IN_TRANSACTION, State.ABORTABLE):
            raise IllegalStateError("There is no transaction to abort.")
        self.state = State.ENDING

    def settle_all(self, sender: Sender) -> Deferred[None]:
        """Gives up what has not been sent; settled when the answers to what has been are here."""
        settled: Deferred[None] = Deferred()
        error = self._error or TransactionAbortedError()
        sender.fail_unsent(error)

        def look() -> None:
            if any(state.in_flight for state in sender.states()):
                self._network.loop.call_later(_LOOK_AGAIN, look)
            else:
                sender.fail_unsent(error)
                settled.resolve(None)

        look()
        return settled

    def end(self, *, commit: bool) -> Conversation[None]:
        if self.state is State.IN_TRANSACTION and commit:
            self.state = State.ENDING
        if self.state is not State.ENDING:
            self.check_sending()
        identity = self.current
        request = EndTxnRequest(
            transactional_id=self.transactional_id or "",
            producer_id=identity.id,
            producer_epoch=identity.epoch,
            committed=commit,
        )
        at_most = None if self.implicit_partitions else _LAST_END_OF_VERSION_1
        try:
            if self._touched:
                response: EndTxnResponse = yield from self._coordinator.retrying(
                    lambda: Ask(request, at_most=at_most), lambda response: check_code(response.error_code)
                )
                if response.producer_id >= 0:
                    self.current = Identity(response.producer_id, response.producer_epoch)
            if self._bump:
                yield from self._take_identity(self.current)
        except KafkaError as error:
            self._fail(error)
            raise
        self._error = None
        self.state = State.READY

    # -------------------------------------------------------------------------------------------------- for the sender

    @property
    def usable(self) -> bool:
        return self.state in (State.IN_TRANSACTION, State.ENDING)

    def may_send(self, where: TopicPartition) -> bool:
        if self.state not in (State.IN_TRANSACTION, State.ENDING):
            return False
        if self.implicit_partitions or where in self._added:
            self._touched = True
            return True
        self._wanted.add(where)
        self._add()
        return False

    def renew(self, broken: Identity) -> bool:
        return self.current != broken

    def batch_failed(self, error: KafkaError) -> None:
        if error.code is ErrorCode.TRANSACTION_ABORTABLE:
            self._error, self.state = error, State.ABORTABLE
        else:
            self._fail(error)

    # --------------------------------------------------------------------------------------------------------- inside

    def _fail(self, error: KafkaError) -> None:
        if error.code in _FENCED:
            self._error, self.state = error, State.FATAL
        elif self.state is not State.FATAL:
            # Which of its batches were written is not known any more: a new epoch draws the line.
            self._bump = True
            self._error = error
            if self.state is not State.ENDING:
                self.state = State.ABORTABLE

    def _check_fatal(self) -> None:
        if self.state is State.FATAL and self._error is not None:
            raise named(self._error)
        if self.state is State.UNINITIALIZED:
            raise IllegalStateError("init_transactions has to come first.")

    def _take_identity(self, before: Identity) -> Conversation[None]:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=before.id,
            producer_epoch=before.epoch,
        )
        response: InitProducerIdResponse = yield from self._coordinator.retrying(
            lambda: Ask(request), lambda response: check_code(response.error_code)
        )
        self.current = Identity(response.producer_id, response.producer_epoch)
        self._bump = False
        if self._coordinator.node is not None:
            versions = self._network.link(self._coordinator.node, CHANNEL).versions
            self.implicit_partitions = versions is not None and versions.features.get("transaction.version", 0) >= 2

    def _add(self) -> None:
        if self._adding:
            return
        self._adding = True
        wanted = frozenset(self._wanted)

        def added(_value: object, error: BaseException | None) -> None:
            self._adding = False
            self._wanted -= wanted
            if error is None:
                self._added |= wanted
            else:
                self._fail(error if isinstance(error, KafkaError) else KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
            if self._wanted:
                self._add()
            self.changed()

        self._touched = True
        self._network.perform(self._add_partitions(wanted), _TIMEOUT).then(added)

    def _add_partitions(self, wanted: frozenset[TopicPartition]) -> Conversation[None]:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id or "",
            v3_and_below_producer_id=self.current.id,
            v3_and_below_producer_epoch=self.current.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=[where.partition for where in partitions])
                for topic, partitions in by_topic(sorted(wanted)).items()
            ],
        )
        yield from self._coordinator.retrying(lambda: Ask(request, at_most=_LAST_ADD_PARTITIONS), _check_partitions)

    def _offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], member: ConsumerGroupMetadata) -> Ask:
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id or "",
            group_id=member.group_id or "",
            producer_id=self.current.id,
            producer_epoch=self.current.epoch,
            generation_id=member.generation_id,
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=where.partition,
                            committed_offset=offsets[where].offset,
                            committed_leader_epoch=offsets[where].leader_epoch,
                            committed_metadata=offsets[where].metadata or "",
                        )
                        for where in partitions
                    ],
                )
                for topic, partitions in by_topic(offsets).items()
            ],
        )
        return Ask(request, at_most=None if self.implicit_partitions else _LAST_OFFSETS_OF_VERSION_1)


def _check_partitions(response: AddPartitionsToTxnResponse) -> None:
    codes = [
        result.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for result in topic.results_by_partition
    ]
    # OPERATION_NOT_ATTEMPTED only says that another one failed: that one tells why.
    for code in sorted(codes, key=lambda code: code == ErrorCode.OPERATION_NOT_ATTEMPTED):
        check_code(code)


def _check_offsets(response: TxnOffsetCommitResponse) -> None:
    for topic in response.topics:
        for partition in topic.partitions:
            check_code(partition.error_code)
