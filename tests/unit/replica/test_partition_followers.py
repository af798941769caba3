"""What a leader does with the fetches of its followers: the high watermark and who is in sync."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import PartitionRegistration
from moldau.protocol.records import Record, encode_batch
from moldau.replica.partition import Partition
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.storage.log import Log
from moldau.types import TopicPartition

ID = bytes(15) + b"\x07"


class Asked:
    """Stands for the controller: keeps the in-sync sets that were asked for."""

    def __init__(self) -> None:
        self.isr: list[tuple[int, ...]] = []

    def __call__(self, partition: Partition, isr: tuple[int, ...]) -> None:
        self.isr.append(isr)


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[Partition]:
    """Broker 1 leads; 2 and 3 follow, and 3 is not in sync. One record is written."""
    log = Log.open(str(tmp_path / "orders-0"), LogConfig(), RealDisk(), SystemClock())
    partition = Partition(TopicPartition("orders", 0), ID, log, 1)
    state = PartitionRegistration((1, 2, 3), (ID, ID, ID), (1, 2), leader=1, leader_epoch=5, partition_epoch=9)
    partition.become_leader(state, now_ms=1000)
    data = memoryview(bytearray(encode_batch([Record(0, 1_700_000_000_000, None, b"one", [])])))
    partition.append(data, 0, len(data), -1)
    yield partition
    log.segments.release()


def test_the_high_watermark_waits_for_the_in_sync_follower(leader: Partition) -> None:
    asked = Asked()
    assert leader.log.high_watermark == 0
    assert not leader.follower_fetched(2, 0, 0, 1, 1100, asked)
    assert leader.follower_fetched(2, 1, 0, 1, 1200, asked)
    assert leader.log.high_watermark == 1
    assert asked.isr == []


def test_a_follower_that_has_caught_up_is_proposed(leader: Partition) -> None:
    asked = Asked()
    leader.follower_fetched(2, 1, 0, 1, 1100, asked)
    leader.follower_fetched(3, 0, 0, 1, 1100, asked)
    assert asked.isr == []
    leader.follower_fetched(3, 1, 0, 1, 1200, asked)
    assert asked.isr == [(1, 2, 3)]


def test_a_follower_that_falls_behind_for_too_long_is_given_up(leader: Partition) -> None:
    asked = Asked()
    leader.shrink_isr(1500, 1000, asked)
    assert asked.isr == []
    leader.shrink_isr(2500, 1000, asked)
    assert asked.isr == [(1,)]


def test_a_stranger_is_refused(leader: Partition) -> None:
    with pytest.raises(KafkaError) as refused:
        leader.follower_fetched(9, 0, 0, 1, 1100, Asked())
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
