"""What the coordinator refuses, and what it decides where no client's request leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from txn_world import STATE, TxnWorld

from moldau.coordinator.shard import Result
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.coordinator.txn.shard import TransactionShard
from moldau.coordinator.txn.states import TransactionState
from moldau.coordinator.txn.transaction import (
    TRANSACTIONS_TOPIC,
    Producer,
    Transaction,
    new_transaction,
    transaction_from_record,
    transaction_record,
)
from moldau.deferred import Deferred, failed
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.protocol.messages.transaction_log_value import TransactionLogValue
from moldau.slicing import run_whole
from moldau.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def answered(world: TxnWorld, answer: Deferred[Any]) -> Any:
    found: list[Any] = []

    def settled(value: Any, error: BaseException | None) -> None:
        assert error is None, error
        found.append(value)

    answer.then(settled)
    world.time.settle()
    (value,) = found
    return value


def initialize(world: TxnWorld, name: str = "a", version: int = 4, **fields: Any) -> Any:
    fields.setdefault("transaction_timeout_ms", 60_000)
    request = InitProducerIdRequest(transactional_id=name, **fields)
    return answered(world, world.coordinator.init_producer_id(request, version))


def begin(world: TxnWorld, name: str = "a", *places: TopicPartition) -> Producer:
    given = initialize(world, name)
    producer = Producer(given.producer_id, given.producer_epoch)
    assert answered(world, world.coordinator.add_partitions(name, producer, places or [T0], 0)) == ErrorCode.NONE
    return producer


def end(world: TxnWorld, producer: Producer, name: str = "a", version: int = 3, committed: bool = True) -> Any:
    request = EndTxnRequest(
        transactional_id=name, producer_id=producer.id, producer_epoch=producer.epoch, committed=committed
    )
    return answered(world, world.coordinator.end(request, version))


def add_offsets(world: TxnWorld, producer: Producer, version: int) -> ErrorCode:
    request = AddOffsetsToTxnRequest(
        transactional_id="a", producer_id=producer.id, producer_epoch=producer.epoch, group_id="g"
    )
    return ErrorCode(answered(world, world.coordinator.add_offsets(request, version)).error_code)


def test_an_id_that_is_no_id_is_refused_everywhere() -> None:
    world = TxnWorld()
    nobody = Producer(1, 0)
    assert initialize(world, "").error_code == ErrorCode.INVALID_REQUEST
    assert initialize(world, None).error_code == ErrorCode.INVALID_REQUEST  # type: ignore[arg-type]
    assert answered(world, world.coordinator.add_partitions("", nobody, [T0], 0)) == ErrorCode.INVALID_REQUEST
    assert world.coordinator.verify_partitions("", nobody, [T0]) == {T0: ErrorCode.INVALID_REQUEST}
    assert end(world, nobody, "").error_code == ErrorCode.INVALID_REQUEST
    request = DescribeTransactionsRequest(transactional_ids=[""])
    (row,) = world.coordinator.describe_transactions(request).transaction_states
    assert row.error_code == ErrorCode.INVALID_REQUEST
    assert world.transactions() == {}


@pytest.mark.parametrize(
    ("allowed", "enable", "keep", "code"),
    [
        (False, True, False, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (True, True, False, ErrorCode.UNSUPPORTED_VERSION),
        (False, False, True, ErrorCode.UNSUPPORTED_VERSION),
        (True, False, False, ErrorCode.NONE),
    ],
)
def test_two_phase_commit_is_refused(allowed: bool, enable: bool, keep: bool, code: ErrorCode) -> None:
    world = TxnWorld(settings=TransactionSettings(two_phase_commit=allowed))
    assert initialize(world, enable_2pc=enable, keep_prepared_txn=keep).error_code == code


def test_clients_are_told_of_fencing_in_words_they_know() -> None:
    """PRODUCER_FENCED came with InitProducerId 4, EndTxn 2 and AddOffsetsToTxn 2."""
    world = TxnWorld(transaction_version=1)
    old = begin(world)
    initialize(world)
    initialize(world)
    named: dict[str, Any] = {"producer_id": old.id, "producer_epoch": old.epoch}
    assert initialize(world, version=3, **named).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert initialize(world, version=4, **named).error_code == ErrorCode.PRODUCER_FENCED
    assert end(world, old, version=1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert end(world, old, version=2).error_code == ErrorCode.PRODUCER_FENCED
    assert add_offsets(world, old, 1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert add_offsets(world, old, 2) == ErrorCode.PRODUCER_FENCED
    # Any other refusal is the same to all of them.
    assert end(world, Producer(77, 0), version=1).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_the_end_names_a_producer_only_to_those_who_know_the_field() -> None:
    world = TxnWorld()
    producer = begin(world)
    response = end(world, producer, version=4)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, -1, -1)
    response = end(world, producer, version=5)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, *producer)
    response = end(world, producer, version=5, committed=False)
    assert (response.error_code, response.producer_id) == (ErrorCode.INVALID_TXN_STATE, -1)


def test_offsets_belong_nowhere_before_there_is_a_topic_for_them() -> None:
    world = TxnWorld()
    producer = begin(world)
    world.drop_topic("__consumer_offsets")
    assert add_offsets(world, producer, 3) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.transactions()["a"].partitions == {T0}


def test_without_a_producer_id_the_client_asks_again_later() -> None:
    world = TxnWorld()
    world.coordinator._next_producer_id = lambda: failed(KafkaError(ErrorCode.BROKER_NOT_AVAILABLE))
    assert initialize(world).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.transactions() == {}


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("no topic", ErrorCode.COORDINATOR_NOT_AVAILABLE),
        ("elsewhere", ErrorCode.NOT_COORDINATOR),
        ("loading", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_who_is_not_the_coordinator_says_so(state: str, code: ErrorCode) -> None:
    world = TxnWorld()
    producer = begin(world)
    if state == "no topic":
        world.drop_topic(TRANSACTIONS_TOPIC)
    elif state == "elsewhere":
        world.coordinator.unload(0, 2)
    else:
        world.coordinator.load(0, 2)
    listed = run_whole(world.coordinator.list_transactions(ListTransactionsRequest(state_filters=["Odd"])))
    assert not isinstance(listed, Deferred)
    assert (listed.error_code == code) == (state == "loading")
    assert listed.unknown_state_filters == ["Odd"]
    request = DescribeTransactionsRequest(transactional_ids=["a"])
    (row,) = world.coordinator.describe_transactions(request).transaction_states
    assert row.error_code == code
    assert world.coordinator.verify_partitions("a", producer, [T0]) == {T0: code}
    answers: list[Any] = []
    world.coordinator.add_partitions("a", producer, [T1], 0).then(lambda value, _: answers.append(value))
    assert answers == [code]


# ------------------------------------------------------------------------------------------------------- completions


def complete(world: TxnWorld, name: str, producer: Producer) -> bool:
    def operation(shard: TransactionShard) -> Result[bool]:
        return shard.complete(name, producer, world.time.now_ms())

    completed = answered(world, world.coordinator.runtime.write("complete", 0, operation))
    assert isinstance(completed, bool)
    return completed


def test_only_what_was_prepared_is_completed() -> None:
    """The markers of a transaction say nothing about one that began since, nor about another producer's."""
    world = TxnWorld(transaction_version=1)
    producer = begin(world)
    assert not complete(world, "nobody", producer)
    assert not complete(world, "a", producer)
    world.markers.held = True
    end(world, producer)
    assert not complete(world, "a", Producer(producer.id, producer.epoch + 1))
    assert world.transactions()["a"].state == TransactionState.PREPARE_COMMIT
    assert complete(world, "a", producer)
    assert not complete(world, "a", producer)


def test_a_decision_is_awaited_only_while_there_is_one() -> None:
    world = TxnWorld(transaction_version=1)
    producer = begin(world)

    def decision(name: str) -> Transaction | None:
        runtime = world.coordinator.runtime
        found: Transaction | None = answered(world, runtime.write("look", 0, lambda shard: shard.still_prepared(name)))
        return found

    assert decision("nobody") is None
    assert decision("a") is None
    world.markers.held = True
    end(world, producer)
    assert decision("a") == world.transactions()["a"]


def test_a_partition_that_leaves_takes_only_its_own_completions_along() -> None:
    world = TxnWorld(transaction_version=1)
    world.coordinator.load(1, 1)
    producer = begin(world)
    world.markers.held = True
    end(world, producer)
    world.coordinator.unload(1, 2)
    assert world.coordinator.completions.get("a") is not None
    world.markers.release()
    world.time.settle()
    assert world.transactions()["a"].state == TransactionState.COMPLETE_COMMIT
    assert len(world.coordinator.completions) == 0


class Slow:
    """A MarkerSender that answers when it is told to, for some of the partitions."""

    def __init__(self) -> None:
        self.asked: list[Sequence[TopicPartition]] = []
        self.done: list[Any] = []
        self.wanted: Any = None

    def send(self, *args: Any) -> None:
        _marker, partitions, done, self.wanted = args
        self.asked.append(list(partitions))
        self.done.append(done)


def slow_world() -> tuple[TxnWorld, Slow, list[TopicPartition]]:
    world, slow = TxnWorld(transaction_version=1), Slow()
    places = [TopicPartition("t", index) for index in range(3)]
    producer = begin(world, "a", *places)
    world.coordinator.completions.markers = slow  # type: ignore[assignment]
    end(world, producer)
    return world, slow, places


def test_a_leader_that_hangs_does_not_keep_others_from_being_asked_again() -> None:
    world, slow, (t0, t1, t2) = slow_world()
    assert slow.asked == [[t0, t1, t2]]
    slow.done[0]({t0: ErrorCode.NOT_LEADER_OR_FOLLOWER})
    slow.done[0]({t1: ErrorCode.NONE})
    world.time.advance(100)
    assert slow.asked[1:] == [[t0]]
    slow.done[1]({t0: ErrorCode.NETWORK_EXCEPTION})
    world.time.advance(199)
    assert len(slow.asked) == 2, "the pause grows while nothing gets better"
    world.time.advance(1)
    slow.done[2]({t0: ErrorCode.NONE})
    assert world.transactions()["a"].state == TransactionState.PREPARE_COMMIT
    slow.done[0]({t2: ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT})
    assert world.transactions()["a"].state == TransactionState.COMPLETE_COMMIT
    assert not slow.wanted()


def test_a_marker_that_is_answered_after_its_topic_was_deleted_completes_nothing_twice() -> None:
    world, slow, (t0, t1, t2) = slow_world()
    slow.done[0]({t0: ErrorCode.NONE, t1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
    world.log.automatic = False
    world.drop_topic("t")
    world.time.advance(100)
    written = len(world.log.batches[STATE])
    slow.done[0]({t2: ErrorCode.NONE})
    assert len(world.log.batches[STATE]) == written
    world.log.automatic = True
    world.log.commit(STATE)
    assert world.transactions()["a"].state == TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_where_a_newer_epoch_has_been_this_coordinator_has_no_more_business(code: ErrorCode) -> None:
    world, slow, (t0, t1, t2) = slow_world()
    slow.done[0]({t0: code})
    assert len(world.coordinator.completions) == 0
    slow.done[0]({t1: ErrorCode.NONE, t2: ErrorCode.NONE})
    world.time.advance(5000)
    assert len(slow.asked) == 1
    assert world.transactions()["a"].state == TransactionState.PREPARE_COMMIT


def test_markers_that_still_wait_to_be_sent_are_given_up_with_the_partition() -> None:
    world, slow, _ = slow_world()
    assert slow.wanted()
    world.coordinator.unload(0, world.epoch + 1)
    assert not slow.wanted()


def test_loading_completes_only_what_was_decided() -> None:
    world = TxnWorld(transaction_version=1)
    begin(world, "open")
    initialize(world, "empty")
    producer = begin(world, "decided")
    world.markers.held = True
    end(world, producer, "decided")
    world.log.automatic = False
    # As long as this one is not committed, nobody who asks whether there is something to complete hears an answer.
    request = InitProducerIdRequest(transactional_id="late", transaction_timeout_ms=60_000)
    world.coordinator.init_producer_id(request, 4)
    world.reload()
    assert len(world.coordinator.completions) == 1
    assert world.coordinator.completions.get("decided") is not None


def test_more_than_one_operation_can_abort_time_out_together() -> None:
    """The rest follows at once, not with the next interval."""
    world = TxnWorld(1, TransactionSettings(abort_interval_ms=5000, expiration_ms=100_000, expiration_interval_ms=5000))
    for number in range(1001):
        begin(world, f"x{number}")
    world.time.advance(65_000)
    states = {transaction.state for transaction in world.transactions().values()}
    assert states == {TransactionState.COMPLETE_ABORT}
    assert len(world.markers.sent) == 1001
    world.time.advance(100_000)
    assert world.transactions() == {}


# ------------------------------------------------------------------------------------------------------------ records


@pytest.mark.parametrize(("feature", "version"), [(0, 0), (1, 1), (2, 1)])
def test_the_newer_record_is_written_once_the_cluster_agreed_on_it(feature: int, version: int) -> None:
    transaction = new_transaction("a", 7, 0)._replace(producer_epoch=0, next_producer_id=9)
    record = transaction_record(transaction, feature)
    assert record.value_version == version
    assert isinstance(record.value, TransactionLogValue)
    assert record.value.next_producer_id == (9 if version else -1)


def test_an_id_without_a_transaction_has_no_partitions_rather_than_none_of_them() -> None:
    """As Kafka writes it: the list is null."""
    transaction = new_transaction("a", 7, 0)
    empty = transaction_record(transaction, 1).value
    complete = transaction_record(transaction._replace(state=TransactionState.COMPLETE_ABORT), 1).value
    assert isinstance(empty, TransactionLogValue)
    assert isinstance(complete, TransactionLogValue)
    assert (empty.transaction_partitions, complete.transaction_partitions) == (None, [])


def test_a_state_nobody_knows_is_not_taken_from_a_log() -> None:
    with pytest.raises(ProtocolError, match="in the state 9, which is not known"):
        transaction_from_record("a", TransactionLogValue(transaction_status=9))


def test_a_decision_cannot_be_turned_round() -> None:
    committing = new_transaction("a", 7, 0)._replace(state=TransactionState.PREPARE_COMMIT)
    for state in (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT, TransactionState.ONGOING):
        with pytest.raises(RuntimeError, match="cannot go from PrepareCommit"):
            committing.moved_to(state, 0)
    assert committing.moved_to(TransactionState.COMPLETE_COMMIT, 0).state == TransactionState.COMPLETE_COMMIT


def test_the_log_holds_nothing_of_what_was_refused() -> None:
    world = TxnWorld(transaction_version=1)
    before = len(world.log.batches[STATE])
    assert initialize(world, transaction_timeout_ms=0).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert len(world.log.batches[STATE]) == before
