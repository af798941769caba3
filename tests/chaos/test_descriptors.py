"""A node that may have few files open: it starts again, it keeps room for its records, and it says what is short."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from mortal_node import MortalNode

from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster
from moldau.client.producing import deliver
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import BatchBuilder
from moldau.types import TopicPartition

LIMIT = 400
PARTITIONS = 180
REFUSED = "the descriptors left are kept for files"


def record() -> bytes:
    builder = BatchBuilder(1 << 20)
    builder.append(time.time_ns() // 1_000_000, None, b"x" * 100, ())
    return builder.build()


def write(cluster: Cluster, partitions: int) -> None:
    results = cluster.run(deliver({TopicPartition("wide", index): record() for index in range(partitions)}))
    assert not [result for result in results.values() if isinstance(result, KafkaError)]


def files_of_wide(node: MortalNode) -> list[str]:
    return [path for path in node.open_files if "/wide-" in path]


@contextmanager
def cluster_of(node: MortalNode) -> Iterator[Cluster]:
    with Cluster(node.bootstrap, client_id="chaos", timeout=60.0) as cluster:
        yield cluster


@pytest.fixture
def node(tmp_path: Path) -> Iterator[MortalNode]:
    node = MortalNode(tmp_path / "data", {}, descriptors=LIMIT)
    node.start()
    with cluster_of(node) as cluster:
        (created,) = cluster.run(create_topics([NewTopic("wide", PARTITIONS, 1)]))
        assert created.error is None, created
        write(cluster, PARTITIONS)
    yield node
    node.kill()


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_a_restart_needs_no_more_descriptors_than_there_were(node: MortalNode, clean: bool) -> None:
    before = len(files_of_wide(node))
    if clean:
        node.stop()
    else:
        node.kill()
    node.start()
    assert files_of_wide(node) == [], "none is opened before it is used"
    with cluster_of(node) as cluster:
        write(cluster, PARTITIONS)
        assert len(files_of_wide(node)) <= before
    assert not node.tracebacks(), node.tracebacks()


def test_connections_are_refused_before_records_are(node: MortalNode) -> None:
    with cluster_of(node) as cluster:
        write(cluster, 1)
        guests: list[socket.socket] = []
        try:
            while REFUSED not in node.log_tail():
                guests.append(socket.create_connection(node.address))
                assert len(guests) < LIMIT, "nobody was refused"
            # Whoever is in can go on, also with what needs a file of its own.
            (created,) = cluster.run(create_topics([NewTopic("late", 10, 1)]))
            assert created.error is None, created
            write(cluster, PARTITIONS)
            assert "ulimit -n" in node.log_tail()
            assert node.log_tail(1000).count(REFUSED) == 1, "said once"
        finally:
            for guest in guests:
                guest.close()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with closing(socket.create_connection(node.address)) as guest:
                guest.settimeout(0.3)
                try:
                    if guest.recv(1) == b"":
                        continue  # turned away
                except TimeoutError:
                    break
        else:
            raise AssertionError("nobody is let in any more")
    assert not node.tracebacks(), node.tracebacks()


def test_too_many_partitions_for_the_limit_end_nothing(node: MortalNode) -> None:
    """Those that fit are served; for the others the disk is not to blame, and the log says what is."""
    with cluster_of(node) as cluster:
        (created,) = cluster.run(create_topics([NewTopic("more", LIMIT, 1)]))
        assert created.error is None, created
        batches = {TopicPartition("more", index): record() for index in range(LIMIT)}
        results = cluster.run(deliver(batches), timeout=5.0).values()
        refused = [result.code for result in results if isinstance(result, KafkaError)]
        assert 0 < len(refused) < LIMIT
        assert set(refused) == {ErrorCode.KAFKA_STORAGE_ERROR}
        assert "As many files are open as may be" in node.log_tail(1000)
        write(cluster, PARTITIONS)
    assert "offline" not in node.log_tail(1000)
    assert not node.tracebacks(), node.tracebacks()
