"""Partitions that are to be opened, where one of them cannot be."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from moldau.metadata.image import PartitionRegistration, TopicImage
from moldau.metadata.topics_delta import LocalPartition
from moldau.replica.arrivals import Arrivals
from moldau.runtime.clock import SystemClock
from moldau.types import TopicPartition, Uuid

ID = bytes(15) + b"\x07"


class Turns:
    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)


def test_one_that_fails_holds_up_none_of_the_others() -> None:
    """They may be followers: no request would ever ask for them."""
    opened: list[int] = []

    def open(local: LocalPartition) -> None:
        if local.topic_partition.partition == 1:
            raise ZeroDivisionError
        opened.append(local.topic_partition.partition)

    loop: Any = Turns()
    arrivals = Arrivals(2, lambda topic_id, index: None, open, SystemClock(), loop)  # type: ignore[arg-type]
    for index in range(4):
        state = PartitionRegistration((1, 2), (ID, ID), (1, 2), 1, 3, 3)
        arrivals.add(LocalPartition(TopicPartition("orders", index), ID, state))
    loop.call_soon(arrivals.open_more)
    failures = 0
    while loop.soon:
        try:
            loop.soon.pop()()
        except ZeroDivisionError:
            failures += 1
    assert (opened, failures) == ([0, 2, 3], 1)


def test_those_that_are_open_already_are_passed_over_in_slices() -> None:
    topics = {
        bytes([number]) * 16: TopicImage(
            f"t{number}",
            bytes([number]) * 16,
            {index: PartitionRegistration((2,), (ID,), (2,), 2, 3, 3) for index in range(2)},
        )
        for number in range(200)
    }
    looked: list[Uuid] = []
    opened: list[str] = []

    def find(topic_id: Uuid, index: int) -> Any:
        looked.append(topic_id)
        return None if (topic_id, index) == (bytes([199]) * 16, 1) else "open"

    def open(local: LocalPartition) -> None:
        opened.append(local.topic_partition.topic)

    arrivals = Arrivals(2, find, open, SystemClock(), Turns())  # type: ignore[arg-type]
    arrivals._image = SimpleNamespace(topics=SimpleNamespace(by_id=topics.get))  # type: ignore[assignment]
    for topic_id in topics:
        arrivals.add_topic(topic_id)
    ends = [len(looked) for _ in arrivals.open_all()]
    assert max(after - before for before, after in pairwise([0, *ends])) <= 64
    assert (len(looked), opened, bool(arrivals)) == (400, ["t199"], False)
