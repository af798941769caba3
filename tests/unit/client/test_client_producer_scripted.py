"""`KafkaProducer` and brokers that refuse, forget and hang on cue: numbers, epochs, order, and where records go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from scripted_peer import SILENCE, ScriptedPeer, metadata

from moldau import KafkaProducer, errors
from moldau.errors import ErrorCode
from moldau.links.addresses import Address
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.init_producer_id import InitProducerIdResponse
from moldau.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from moldau.protocol.records import decode_batch, read_header

Attempt = tuple[int, int, list[bytes]]  # epoch, sequence, values


class Broker:
    """A node that writes what `verdict(partition, epoch, sequence, values)` lets pass; NONE means written."""

    def __init__(self, verdict: Callable[[int, Attempt], Any], leaders: list[int] | None = None) -> None:
        self.verdict = verdict
        self.leaders = leaders or [1]
        self.attempts: list[tuple[int, Attempt]] = []
        self.log: dict[int, list[bytes]] = {}
        self.others: dict[int, Address] = {}
        self.lock = threading.Lock()
        self.peer = ScriptedPeer(
            {
                ApiKey.METADATA: lambda _version, _request: self.describe(),
                ApiKey.INIT_PRODUCER_ID: lambda _version, _request: InitProducerIdResponse(
                    producer_id=9, producer_epoch=0
                ),
                ApiKey.PRODUCE: self.produce,
            },
            ranges={ApiKey.PRODUCE: (3, 12)},
        )

    def describe(self) -> Any:
        partitions = {index: (leader, 0) for index, leader in enumerate(self.leaders)}
        return metadata({1: self.peer.address, **self.others}, {"rivers": partitions})

    def produce(self, _version: int, request: Any) -> Any:
        answers = []
        (topic,) = request.topic_data
        for data in topic.partition_data:
            header = read_header(data.records, 0)
            values = [record.value or b"" for record in decode_batch(data.records)]
            attempt = (header.producer_epoch, header.base_sequence, values)
            with self.lock:
                self.attempts.append((data.index, attempt))
                verdict = self.verdict(data.index, attempt)
                if verdict is SILENCE:
                    return SILENCE
                written = self.log.setdefault(data.index, [])
                offset = len(written)
                if verdict is ErrorCode.NONE:
                    written += values
            answers.append(
                PartitionProduceResponse(
                    index=data.index, error_code=int(verdict), base_offset=offset, log_append_time_ms=-1
                )
            )
        return ProduceResponse(responses=[TopicProduceResponse(name="rivers", partition_responses=answers)])


def producer(broker: Broker, **settings: Any) -> KafkaProducer:
    return KafkaProducer(
        bootstrap_servers=str(broker.peer.address), retry_backoff_ms=5, retry_backoff_max_ms=20, **settings
    )


def in_sequence(refuse: Callable[[int], ErrorCode | None]) -> Callable[[int, Attempt], Any]:
    """As Kafka checks it: the next number of this epoch, or zero of a higher one. `refuse(n)` may spoil attempt n."""
    state = {"epoch": 0, "next": 0, "attempt": 0}

    def verdict(_partition: int, attempt: Attempt) -> ErrorCode:
        epoch, sequence, values = attempt
        state["attempt"] += 1
        refused = refuse(state["attempt"])
        if refused is not None:
            return refused
        if epoch > state["epoch"]:
            if sequence != 0:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            state["epoch"], state["next"] = epoch, 0
        elif epoch < state["epoch"]:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if sequence != state["next"]:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        state["next"] = sequence + len(values)
        return ErrorCode.NONE

    return verdict


VALUES = [b"%d" % number for number in range(60)]


def send_in_small_batches(client: KafkaProducer) -> list[Any]:
    futures = [client.send("rivers", value) for value in VALUES]
    client.flush(30)
    return futures


def test_a_batch_behind_a_full_one_keeps_its_linger() -> None:
    broker = Broker(in_sequence(lambda attempt: None))
    with broker.peer, producer(broker, batch_size=1000, linger_ms=60_000, delivery_timeout_ms=200_000) as client:
        futures = [client.send("rivers", bytes(600)) for _ in range(2)]  # the second finds no room with the first
        futures[0].get(20)
        futures.append(client.send("rivers", bytes(50)))
        client.flush(20)
    assert [len(values) for _partition, (_epoch, _sequence, values) in broker.attempts] == [1, 2]


@pytest.mark.parametrize("spoiled", [{1}, {2}, {1, 2, 3}, {3, 7, 8, 12}])
def test_order_and_numbers_survive_refusals_with_five_in_flight(spoiled: set[int]) -> None:
    def refuse(attempt: int) -> ErrorCode | None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if attempt in spoiled else None

    broker = Broker(in_sequence(refuse))
    with broker.peer, producer(broker, batch_size=100) as client:
        futures = send_in_small_batches(client)
        assert [future.get(0).offset for future in futures] == list(range(len(VALUES)))
    assert broker.log[0] == VALUES
    # A repeat has the number it had: nothing about it changed, so the epoch did not either.
    assert {epoch for _, (epoch, _, _) in broker.attempts} == {0}
    numbers: dict[int, list[bytes]] = {}
    for _, (_, sequence, values) in broker.attempts:
        assert numbers.setdefault(sequence, values) == values


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER])
def test_a_broker_that_lost_count_is_told_a_new_epoch(code: ErrorCode) -> None:
    lost = threading.Event()
    count = in_sequence(lambda _attempt: None)

    def verdict(partition: int, attempt: Attempt) -> ErrorCode:
        if lost.is_set() and attempt[0] == 0:
            return code
        return count(partition, attempt)  # type: ignore[no-any-return]

    broker = Broker(verdict)
    with broker.peer, producer(broker, batch_size=100) as client:
        client.send("rivers", b"before").get(10)
        lost.set()
        futures = send_in_small_batches(client)
        assert [future.get(0).offset for future in futures] == list(range(1, len(VALUES) + 1))
    assert broker.log[0] == [b"before", *VALUES]
    first_of_the_new = next(attempt for _, attempt in broker.attempts if attempt[0] == 1)
    assert first_of_the_new[1] == 0


def test_a_record_refused_for_good_breaks_no_other() -> None:
    count = in_sequence(lambda _attempt: None)

    def verdict(partition: int, attempt: Attempt) -> ErrorCode:
        return ErrorCode.INVALID_RECORD if b"bad" in attempt[2] else count(partition, attempt)

    broker = Broker(verdict)
    with broker.peer, producer(broker, batch_size=1) as client:
        futures = [client.send("rivers", value) for value in (b"1", b"bad", b"2", b"3")]
        client.flush(20)
        with pytest.raises(errors.InvalidRecordError):
            futures[1].get(0)
        assert [futures[index].get(0).offset for index in (0, 2, 3)] == [0, 1, 2]
    assert broker.log[0] == [b"1", b"2", b"3"]


def test_retries_come_to_an_end_where_they_are_limited() -> None:
    broker = Broker(lambda _partition, _attempt: ErrorCode.NOT_LEADER_OR_FOLLOWER)
    with broker.peer, producer(broker, retries=2) as client:
        with pytest.raises(errors.NotLeaderForPartitionError):
            client.send("rivers", b"x").get(20)
        assert client.metrics()["producer-metrics"]["record-retry-total"] == 2
    assert len(broker.attempts) == 3


def test_an_answer_that_was_lost_is_not_written_twice() -> None:
    """The broker wrote it, said so to nobody, and recognizes it by its number."""
    seen: set[int] = set()
    count = in_sequence(lambda _attempt: None)

    def verdict(partition: int, attempt: Attempt) -> Any:
        if attempt[1] in seen:
            return ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        seen.add(attempt[1])
        outcome = count(partition, attempt)
        if attempt[1] == 1:
            broker.log.setdefault(0, []).extend(attempt[2])
            return SILENCE
        return outcome

    broker = Broker(verdict)
    with broker.peer, producer(broker, request_timeout_ms=600) as client:
        client.send("rivers", b"0").get(10)
        assert client.send("rivers", b"1").get(10).offset == -1  # written, the broker does not know where any more
        client.send("rivers", b"2").get(10)
    assert broker.log[0] == [b"0", b"1", b"2"]


# ------------------------------------------------------------------------------------------- where records go


def test_a_leader_that_takes_nothing_is_avoided_by_records_without_a_key() -> None:
    """Node 2 leads half of the partitions and answers no produce request."""
    hanging = Broker(lambda _partition, _attempt: SILENCE)
    broker = Broker(lambda _partition, _attempt: ErrorCode.NONE, leaders=[1, 2, 1, 2])
    broker.others = {2: hanging.peer.address}
    with broker.peer, hanging.peer:
        client = producer(
            broker,
            batch_size=1000,
            partitioner_availability_timeout_ms=2000,
            max_in_flight_requests_per_connection=1,
        )
        # Until the sender has noticed and has told whoever chooses partitions. Node 1, which answers, is not taken for
        # stuck by a machine that is busy with other things.
        deadline = time.monotonic() + 60
        while set(client._sender._unavailable.nodes) != {2} or not {
            client.send("rivers", bytes(300)).delivery.partition for _ in range(60)
        } <= {0, 2}:
            assert time.monotonic() < deadline
            client.send("rivers", bytes(300))
            time.sleep(0.01)
        before = {index: state.lane.queued for index, state in enumerate(client._sender.states())}
        futures = [client.send("rivers", bytes(300)) for _ in range(400)]
        assert {future.delivery.partition for future in futures} == {0, 2}
        queued = [state.lane.queued for state in client._sender.states()]
        assert [queued[index] for index in (1, 3)] == [before[1], before[3]]
        # Who asks for one by name, or by key, gets it all the same.
        assert client.send("rivers", b"x", partition=1).delivery.partition == 1
        client.close(timeout=0)


def test_a_slow_leader_is_given_less() -> None:
    """Node 2 hangs with queues that grow; no timeout is set, so it is not avoided, only less likely."""
    hanging = Broker(lambda _partition, _attempt: SILENCE)
    broker = Broker(lambda _partition, _attempt: ErrorCode.NONE, leaders=[1, 2])
    broker.others = {2: hanging.peer.address}
    with broker.peer, hanging.peer:
        client = producer(broker, batch_size=1000, buffer_memory=100_000_000)
        for _ in range(400):
            client.send("rivers", bytes(1000), partition=1)
        futures = [client.send("rivers", bytes(1000)) for _ in range(300)]
        slow = sum(1 for future in futures if future.delivery.partition == 1)
        assert slow < 30
        client.close(timeout=0)
