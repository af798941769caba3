"""A new leader with a shorter log: what was read and is gone, what was fetched and nobody has seen yet (KIP-320)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from scripted_partition import WHERE, ScriptedPartition, scripted_partition

from moldau import KafkaConsumer, errors
from moldau.protocol.api import ApiKey

PATIENCE = 60.0


@pytest.fixture
def partition() -> Iterator[ScriptedPartition]:
    with scripted_partition() as partition:
        partition.append(10)
        yield partition


def consumer_of(partition: ScriptedPartition, **settings: Any) -> KafkaConsumer:
    settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 20, "retry_backoff_ms": 10, **settings}
    consumer = KafkaConsumer(bootstrap_servers=partition.bootstrap, **settings)
    consumer.assign([WHERE])
    return consumer


def take(consumer: KafkaConsumer, count: int) -> list[bytes]:
    values: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while len(values) < count and time.monotonic() < deadline:
        for records in consumer.poll(200, max_records=count - len(values)).values():
            values += [record.value for record in records]
    return values


def first(count: int) -> list[bytes]:
    return [b"%d of epoch 1" % number for number in range(count)]


def test_what_was_read_and_is_gone_is_read_anew(partition: ScriptedPartition) -> None:
    with consumer_of(partition) as consumer:
        assert take(consumer, 10) == first(10)
        partition.lead_anew(1, keep=6, append=3)
        assert take(consumer, 3) == [b"%d of epoch 2" % number for number in (6, 7, 8)]
        (asked,) = partition.peers[1].asked(ApiKey.OFFSET_FOR_LEADER_EPOCH)
        row = asked.topics[0].partitions[0]
        assert (asked.replica_id, row.current_leader_epoch, row.leader_epoch) == (-2, 2, 1)


def test_without_a_reset_policy_the_application_hears_of_it(partition: ScriptedPartition) -> None:
    with consumer_of(partition, auto_offset_reset="none") as consumer:
        consumer.seek(WHERE, 0)
        assert take(consumer, 10) == first(10)
        partition.lead_anew(1, keep=6, append=3)
        with pytest.raises(errors.LogTruncationError) as raised:
            take(consumer, 1)
        assert raised.value.divergent_offsets == {WHERE: (6, "", 1)}
        assert consumer.position(WHERE) == 10, "where to go on is for the application to say"
        consumer.seek(WHERE, 6)
        assert take(consumer, 3) == [b"%d of epoch 2" % number for number in (6, 7, 8)]


@pytest.mark.parametrize("policy", ["earliest", "none"])
def test_what_was_fetched_but_not_handed_out_is_fetched_again(partition: ScriptedPartition, policy: str) -> None:
    with consumer_of(partition, auto_offset_reset=policy) as consumer:
        consumer.seek(WHERE, 0)
        assert take(consumer, 4) == first(4)
        partition.lead_anew(1, keep=6, append=3)
        # The consumer learns of the leader by itself; that it did shows in its question.
        deadline = time.monotonic() + PATIENCE
        while not partition.peers[1].asked(ApiKey.OFFSET_FOR_LEADER_EPOCH) and time.monotonic() < deadline:
            time.sleep(0.01)
        values = take(consumer, 5)
        assert values == [b"4 of epoch 1", b"5 of epoch 1", b"6 of epoch 2", b"7 of epoch 2", b"8 of epoch 2"]


def test_nothing_is_handed_out_while_the_new_leader_is_asked(partition: ScriptedPartition) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def slowly(version: int, request: Any) -> Any:
        asked.set()
        assert may_answer.wait(PATIENCE)
        return partition.offset_for_leader_epoch(version, request)

    partition.peers[1].handlers[ApiKey.OFFSET_FOR_LEADER_EPOCH] = slowly
    with consumer_of(partition) as consumer:
        consumer.seek(WHERE, 0)
        assert take(consumer, 4) == first(4)
        partition.lead_anew(1, keep=6, append=3)
        assert asked.wait(PATIENCE)
        assert consumer.poll(0) == {}, "there are six, and four of them are gone"
        may_answer.set()
        values = take(consumer, 5)
        assert values == [b"4 of epoch 1", b"5 of epoch 1", b"6 of epoch 2", b"7 of epoch 2", b"8 of epoch 2"]


def test_nothing_of_what_was_read_is_left(partition: ScriptedPartition) -> None:
    with consumer_of(partition) as consumer:
        take(consumer, 10)
        partition.lead_anew(1, keep=0, append=2)
        assert take(consumer, 2) == [b"0 of epoch 2", b"1 of epoch 2"]


def test_a_leader_with_the_same_log_is_gone_on_with(partition: ScriptedPartition) -> None:
    with consumer_of(partition) as consumer:
        take(consumer, 10)
        partition.lead_anew(1, keep=10, append=2)
        assert take(consumer, 2) == [b"10 of epoch 2", b"11 of epoch 2"]
        assert len(partition.peers[1].asked(ApiKey.OFFSET_FOR_LEADER_EPOCH)) == 1
        take(consumer, 0)
        partition.append(1)
        assert take(consumer, 1) == [b"12 of epoch 2"]
        assert len(partition.peers[1].asked(ApiKey.OFFSET_FOR_LEADER_EPOCH)) == 1, "asked once per leader"


def test_fetches_that_say_so_themselves(partition: ScriptedPartition) -> None:
    """From version 12 on the broker compares epochs while it fetches, and answers with where they part."""
    from moldau.protocol.messages import fetch

    with scripted_partition(fetch_versions=(4, 17)) as modern:
        modern.append(10)
        plain = modern.fetch

        def comparing(node: int, request: Any) -> Any:
            answer = plain(node, request)
            for topic in request.topics:
                for row in topic.partitions:
                    ends = [at for at, entry in enumerate(modern.log, 1) if entry.epoch <= row.last_fetched_epoch]
                    if row.last_fetched_epoch >= 0 and ends and ends[-1] < row.fetch_offset:
                        (data,) = answer.responses[0].partitions
                        data.records = b""
                        data.diverging_epoch = fetch.EpochEndOffset(epoch=1, end_offset=ends[-1])
            return answer

        modern.fetch = comparing  # type: ignore[method-assign]
        # No new epoch, so that it is only the fetch that can tell.
        with consumer_of(modern) as consumer:
            assert take(consumer, 10) == first(10)
            del modern.log[5:]
            assert take(consumer, 0) == []
            deadline = time.monotonic() + PATIENCE
            while consumer.position(WHERE) != 5 and time.monotonic() < deadline:
                consumer.poll(20)
            assert consumer.position(WHERE) == 5


def test_epochs_the_broker_does_not_know_yet_are_waited_for(partition: ScriptedPartition) -> None:
    with consumer_of(partition, metadata_max_age_ms=100) as consumer:
        take(consumer, 10)
        partition.announced = 2
        deadline = time.monotonic() + PATIENCE
        while len(partition.peers[1].asked(ApiKey.OFFSET_FOR_LEADER_EPOCH)) < 3 and time.monotonic() < deadline:
            consumer.poll(20)
        partition.append(1)
        partition.epoch = 2
        assert take(consumer, 1) == [b"10 of epoch 1"]


def test_epochs_of_which_metadata_tell_too_late_are_waited_for(partition: ScriptedPartition) -> None:
    with consumer_of(partition) as consumer:
        take(consumer, 10)
        partition.announced = 1
        partition.lead_anew(1, keep=10, append=1)
        deadline = time.monotonic() + PATIENCE
        before = len(partition.peers[1].asked(ApiKey.METADATA))
        while len(partition.peers[1].asked(ApiKey.METADATA)) < before + 3 and time.monotonic() < deadline:
            assert consumer.poll(20) == {}
        partition.announced = None
        assert take(consumer, 1) == [b"10 of epoch 2"]
        assert {asked.leader_epoch for asked in partition.fetches} == {1, 2}


def test_a_committed_offset_is_compared_before_the_first_fetch(partition: ScriptedPartition) -> None:
    """Its epoch was committed with it: the log may have been cut back while nobody read."""
    with consumer_of(partition) as consumer:
        with consumer._fetcher.changed:
            consumer._fetcher.readings[WHERE].seek(10, 1)
        partition.lead_anew(1, keep=4, append=9)
        assert take(consumer, 1) == [b"4 of epoch 2"]
