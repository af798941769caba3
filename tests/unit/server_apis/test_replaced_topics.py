"""A topic that is deleted and created anew under its name while somebody still waits for a record of the first one."""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition

PLACES = [TopicPartition("orders", index) for index in range(4)]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[InProcessNode]:
    directories = ",".join(str(tmp_path / name) for name in "ab")
    node = InProcessNode(tmp_path, compiled=True, settings={"log.dirs": directories})
    node.create_topic("orders", len(PLACES))
    yield node
    node.close()


def wait_for_a_record(node: InProcessNode, place: TopicPartition) -> Wire:
    """A reader who names the topic: to it the second one is as good as the first."""
    partition = FetchPartition(partition=place.partition, partition_max_bytes=1000)
    topics = [FetchTopic(topic=place.topic, partitions=[partition])]
    wire = Wire()
    node.send(wire, request_frame(FetchRequest(max_wait_ms=600_000, min_bytes=1, max_bytes=1000, topics=topics), 11))
    assert wire.paused
    return wire


def delete(node: InProcessNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody finds the topic any more, and its partitions are still to go, as if there were very many."""
    monkeypatch.setattr(node.node.replicas.departures, "begin", lambda: None)
    node.settle(node.node.controller.delete_topics(DeleteTopicsRequest(topic_names=["orders"], timeout_ms=60_000), 5))
    assert node.node.replicas.departures
    assert node.node.replicas.find(*PLACES[0]) is None


def turn_until_replaced(node: InProcessNode, monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = node.node.replicas
    monkeypatch.undo()
    replicas.departures.begin()
    node.turn_until(lambda: not replicas.departures and all(replicas.find(*place) is not None for place in PLACES))
    for place in PLACES:
        partition = replicas.find(*place)
        assert partition is not None
        assert partition.log is node.node.logs.get(place)
        assert posixpath.basename(partition.log.directory.path) == str(place)


def test_a_reader_who_is_sent_away_does_not_set_the_old_log_aside(
    node: InProcessNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waiting = [wait_for_a_record(node, place) for place in PLACES]
    delete(node, monkeypatch)
    node.create_topic("orders", len(PLACES))
    turn_until_replaced(node, monkeypatch)
    assert all(wire.sent for wire in waiting)
    # Its topic was deleted, so it is deleted: what is set aside stays on the disk for good.
    assert not list(tmp_path.glob("*/*-stray"))


def test_a_reader_who_is_sent_away_opens_the_new_log_for_good(
    node: InProcessNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The old one went with its disk, so that its place is free at once."""
    lost = str(tmp_path / "b")
    place = next(iter(node.node.logs.logs_in(lost)))
    waiting = wait_for_a_record(node, place)
    delete(node, monkeypatch)
    node.node.replicas.storage_failed(StorageError(lost, "Reading", OSError(errno.EIO, "Input/output error")))
    node.create_topic("orders", len(PLACES))
    turn_until_replaced(node, monkeypatch)
    assert waiting.sent
