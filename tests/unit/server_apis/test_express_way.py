"""Small Produce requests written together do what they would do one by one, and leave the same files behind."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from express_traffic import RECORD, SETTINGS, Traffic, files_of, offsets, plain, produce, records
from served_node import PATIENCE, Client, Served

from moldau import _speed
from moldau._speed import scan_batches
from moldau.errors import ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.records import decode_batch, encode_batch
from moldau.replica.runs import Runs

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is no express way")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Served]]:
    nodes = [
        Served(tmp_path / "express", express=True, topics=SETTINGS),
        Served(tmp_path / "readable", express=False, topics=SETTINGS),
    ]
    yield nodes
    for node in nodes:
        node.close()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_sent_has_the_same_answers_and_files(pair: list[Served], seed: int) -> None:
    random = Random(seed)
    traffic = Traffic(random)
    ids = [node.ids for node in pair]
    asked = 0
    for _ in range(12):
        client_id = random.choice(("test", None, "x" * 300))
        clients = [Client(node.address, client_id) for node in pair]
        for _ in range(30):
            frames = [traffic.frames(clients[0], ids, number) for number in range(random.randint(1, 6))]
            for place, client in enumerate(clients):
                sent = b"".join(both[place] for both, _ in frames)
                cut = random.randrange(len(sent)) if random.random() < 0.2 else 0
                client.socket.sendall(sent[:cut])
                client.socket.sendall(sent[cut:])
            for _, version in frames:
                one, other = (plain(c.answer(), version, known) for c, known in zip(clients, ids, strict=True))
                assert one == other
                asked += 1
        for client in clients:
            client.close()
    assert pair[0].served > asked / 20
    assert pair[1].served == 0
    files = []
    for node in list(pair):
        node.close()
        files.append(files_of(node.data))
    pair.clear()
    assert files[0].keys() == files[1].keys()
    for name, content in files[0].items():
        assert content == files[1][name], name


@pytest.fixture
def express(tmp_path: Path) -> Iterator[Served]:
    node = Served(tmp_path / "node", express=True, topics=SETTINGS)
    yield node
    node.close()


def test_those_who_are_served_together_leave_the_same_files(pair: list[Served]) -> None:
    random = Random(7)
    crowds = [[Client(node.address) for _ in range(20)] for node in pair]
    for node, crowd in zip(pair, crowds, strict=True):
        for client in crowd:  # the first request makes it known, and begins the log
            client.socket.sendall(client.frame(produce("indexed", 0, encode_batch(RECORD), node.ids, 9), 9))
            assert offsets(client.answer(), 9)[0] == 0
    for turn in range(15):
        batches = [
            encode_batch(records(random, 1), producer_id=name, producer_epoch=0, base_sequence=turn)
            if name % 3
            else encode_batch(records(random, random.randint(1, 3)))
            for name in range(len(crowds[0]))
        ]
        for node, crowd in zip(pair, crowds, strict=True):
            with node.held():
                for client, batch in zip(crowd, batches, strict=True):
                    client.socket.sendall(client.frame(produce("indexed", 0, batch, node.ids, 9), 9))
        for one, other in zip(*crowds, strict=True):
            assert offsets(one.answer(), 9) == offsets(other.answer(), 9)
    assert pair[0].served >= 15 * 20
    files = []
    for node, crowd in zip(list(pair), crowds, strict=True):
        for client in crowd:
            client.close()
        node.close()
        files.append(files_of(node.data))
    pair.clear()
    assert files[0] == files[1]


def test_one_producer_on_two_connections_is_asked_twice(express: Served) -> None:
    clients = [Client(express.address) for _ in range(2)]
    for client in clients:
        client.socket.sendall(client.frame(produce("plain", 0, encode_batch(RECORD), express.ids, 9), 9))
        assert offsets(client.answer(), 9)[0] == 0
    batch = encode_batch(RECORD, producer_id=5, producer_epoch=0, base_sequence=0)
    with express.held():
        for client in clients:
            client.socket.sendall(client.frame(produce("plain", 0, batch, express.ids, 9), 9))
    assert [offsets(client.answer(), 9) for client in clients] == [(0, 2), (0, 2)]
    assert len(written(express, "plain")) == 3
    for client in clients:
        client.close()


def written(node: Served, topic: str) -> list[tuple[int, bytes | None]]:
    data = (node.data / f"{topic}-0" / f"{0:020d}.log").read_bytes()
    found, position = [], 0
    for header in scan_batches(data):
        found += [(one.offset, one.value) for one in decode_batch(data, position, position + header.size)]
        position += header.size
    return found


def test_those_who_write_at_once_get_the_places_they_are_told(express: Served) -> None:
    told: dict[int, bytes] = {}

    def write(name: int) -> None:
        client = Client(express.address, f"client-{name}")
        for number in range(200):
            value = b"%d/%d" % (name, number)
            request = produce("plain", 0, encode_batch([(1, None, value, ())]), express.ids, 9, acks=number % 2 or -1)
            client.socket.sendall(client.frame(request, 9, number))
            error, offset = offsets(client.answer(), 9)
            assert error == 0
            told[offset] = value
        client.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert written(express, "plain") == sorted(told.items())
    assert len(told) == 12 * 200
    # And all of it counts for those who read.
    client = Client(express.address)
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic(topic="plain", partitions=[asked])])
    client.socket.sendall(client.frame(fetch, 4))
    answer = client.answer()
    assert answer is not None
    assert FetchResponse.decode(answer[4:], 4).responses[0].partitions[0].high_watermark == len(told)
    client.close()
    assert express.served > 2000


def test_whoever_waits_for_records_is_woken(express: Served) -> None:
    writer, reader = Client(express.address), Client(express.address)
    frame = writer.frame(produce("plain", 0, encode_batch([(1, None, b"v", ())]), express.ids, 9), 9)
    for number in range(2):
        writer.socket.sendall(frame)
        assert offsets(writer.answer(), 9) == (0, number)
    before = express.served
    asked = FetchPartition(partition=0, fetch_offset=2, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic="plain", partitions=[asked])]
    reader.socket.sendall(
        reader.frame(FetchRequest(max_wait_ms=600_000, min_bytes=1, max_bytes=9999, topics=topics), 4)
    )
    fetches = express.node.node.services.replicas.fetches
    while not fetches.watched:
        time.sleep(0.001)
    writer.socket.sendall(frame)
    answer = reader.answer()
    assert answer is not None
    assert FetchResponse.decode(answer[4:], 4).responses[0].partitions[0].high_watermark == 3
    assert offsets(writer.answer(), 9) == (0, 2)
    assert express.served == before + 1
    writer.close()
    reader.close()


def test_nobody_writes_to_the_brokers_own_topics(tmp_path: Path) -> None:
    node = Served(tmp_path / "node", express=True, topics=SETTINGS, settings={"offsets.topic.num.partitions": "1"})
    client = Client(node.address)
    client.socket.sendall(client.frame(FindCoordinatorRequest(key="group"), 0))
    assert client.answer() is not None
    commit = OffsetCommitRequest(
        group_id="group",
        topics=[
            OffsetCommitRequestTopic(
                name="plain", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
            )
        ],
    )
    error = -1
    while error:  # until the coordinator is there, and the topic has something in it
        client.socket.sendall(client.frame(commit, 2))
        answer = client.answer()
        assert answer is not None
        error = OffsetCommitResponse.decode(answer[4:], 2).topics[0].partitions[0].error_code
    before = node.served
    batch = encode_batch([(1, b"k", b"v", ())])
    client.socket.sendall(client.frame(produce("__consumer_offsets", 0, batch, node.ids, 9), 9))
    assert offsets(client.answer(), 9) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert node.served == before
    client.close()
    node.close()


def test_without_acknowledgement_nothing_is_answered(express: Served) -> None:
    client = Client(express.address)
    batch = encode_batch([(1, None, b"v", ())])
    frames = [client.frame(produce("plain", 0, batch, express.ids, 9, acks=0), 9, number) for number in range(9)]
    client.socket.sendall(b"".join(frames) + client.frame(produce("plain", 0, batch, express.ids, 9), 9, 77))
    answer = client.answer()
    assert answer is not None
    assert int.from_bytes(answer[:4], "big") == 77
    assert offsets(answer, 9) == (0, 9)
    client.close()


def test_a_write_that_fails_is_repeated_the_readable_way(express: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is cut back to what counts, and nothing of the failed write is seen by anybody."""
    client = Client(express.address)

    def write(value: bytes) -> tuple[int, int]:
        request = produce("plain", 0, encode_batch([(1, None, value, ())]), express.ids, 9)
        client.socket.sendall(client.frame(request, 9))
        return offsets(client.answer(), 9)

    assert [write(b"%d" % number) for number in range(3)] == [(0, 0), (0, 1), (0, 2)]
    before = express.served
    torn = []
    opened = Runs.open

    def read_only(self: Runs, partition: Any) -> Any:
        run = opened(self, partition)
        if run is None or torn:
            return run
        # As a write does that breaks off: some bytes behind the end, and an error.
        os.pwrite(run[0], b"torn" * 100, run[1])
        torn.append(os.open(f"/proc/self/fd/{run[0]}", os.O_RDONLY))
        return (torn[0], *run[1:])

    monkeypatch.setattr(Runs, "open", read_only)
    assert write(b"after") == (0, 3)
    assert torn
    assert express.served == before
    assert write(b"last") == (0, 4)
    assert express.served == before + 1
    os.close(torn[0])
    assert [value for _, value in written(express, "plain")] == [b"0", b"1", b"2", b"after", b"last"]
    client.close()


def test_no_more_than_its_share_of_a_turn(express: Served) -> None:
    """The rest of what one connection sent waits for the others, and is not lost."""
    client = Client(express.address)
    batch = encode_batch([(1, None, b"v", ())])
    first = client.frame(produce("plain", 0, batch, express.ids, 9), 9)
    client.socket.sendall(first)
    assert offsets(client.answer(), 9) == (0, 0)
    frames = [client.frame(produce("plain", 0, batch, express.ids, 9, acks=0), 9) for _ in range(100)]
    with express.held():
        client.socket.sendall(b"".join(frames) + first)
    assert offsets(client.answer(), 9) == (0, 101)
    assert express.served == 64
    client.close()


def test_a_client_that_calls_itself_something_else_is_known_by_it(express: Served) -> None:
    client = Client(express.address, "first")
    batch = encode_batch([(1, None, b"v", ())])
    for name in (b"first", b"first", b"again"):
        frame = client.frame(produce("plain", 0, batch, express.ids, 9), 9).replace(b"first", name)
        client.socket.sendall(frame)
        assert offsets(client.answer(), 9)[0] == 0
    (connection,) = express.node.node.server.connections
    assert connection.client_id == "again"
    client.close()


def test_a_request_larger_than_allowed_closes_the_connection(tmp_path: Path) -> None:
    express = Served(tmp_path / "node", express=True, topics=SETTINGS, settings={"socket.request.max.bytes": "1000"})
    client = Client(express.address)

    def write(size: int) -> bytes | None:
        batch = encode_batch([(1, None, b"v" * size, ())])
        client.socket.sendall(client.frame(produce("plain", 0, batch, express.ids, 9), 9))
        return client.answer()

    for number in range(2):
        assert offsets(write(500), 9) == (0, number)
    assert write(1000) is None
    assert len(written(express, "plain")) == 2
    client.close()
    express.close()


def test_a_client_that_reads_late_gets_all_answers_in_order(tmp_path: Path) -> None:
    express = Served(tmp_path / "node", express=True, topics=SETTINGS, settings={"socket.send.buffer.bytes": "4096"})
    client = Client(express.address)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    batch = encode_batch(RECORD)
    client.socket.sendall(client.frame(produce("plain", 0, batch, express.ids, 9), 9))
    assert offsets(client.answer(), 9) == (0, 0)
    (connection,) = express.node.node.server.connections
    sent = 0
    while not connection.transport.unsent:  # until the buffers on both sides are full
        frames = [client.frame(produce("plain", 0, batch, express.ids, 9), 9, sent + number) for number in range(50)]
        sent += len(frames)
        client.socket.sendall(b"".join(frames))
        while express.served < sent and not connection.transport.unsent:
            time.sleep(0.001)
    for number in range(sent):
        answer = client.answer()
        assert answer is not None
        assert int.from_bytes(answer[:4], "big") == number
        assert offsets(answer, 9) == (0, number + 1)
    client.close()
    express.close()


def test_long_answers_keep_out_of_each_others_way(express: Served) -> None:
    """The name of the topic is in every answer: of these, some dozen fill what one connection may be told at once."""
    topic = CreatableTopic(name="n" * 240, num_partitions=1, replication_factor=1)
    clients = [Client(express.address) for _ in range(3)]
    clients[0].socket.sendall(clients[0].frame(CreateTopicsRequest(topics=[topic], timeout_ms=9000), 4))
    assert clients[0].answer() is not None
    batch = encode_batch(RECORD)
    for client in clients:
        client.socket.sendall(client.frame(produce(topic.name, 0, batch, {}, 9), 9))
        assert offsets(client.answer(), 9)[0] == 0
    with express.held():
        for client in clients:
            frames = [client.frame(produce(topic.name, 0, batch, {}, 9), 9, number) for number in range(60)]
            client.socket.sendall(b"".join(frames))
    told = set()
    for client in clients:
        for number in range(60):
            answer = client.answer()
            assert answer is not None
            assert int.from_bytes(answer[:4], "big") == number
            error, offset = offsets(answer, 9)
            assert error == 0
            told.add(offset)
        client.close()
    assert told == set(range(3, 183))
    assert 30 < express.served < 180


@pytest.mark.parametrize("at_once", [True, False])
def test_a_topic_made_anew_is_found_again(express: Served, monkeypatch: pytest.MonkeyPatch, *, at_once: bool) -> None:
    """The connection remembers where it wrote last; that partition is gone, or going as soon as its turn comes."""
    if not at_once:
        replicas = express.node.node.replicas
        monkeypatch.setattr(replicas.departures, "begin", lambda: None)
        monkeypatch.setattr(replicas.arrivals, "_open_some", lambda *_: None)
    client = Client(express.address)
    batch = encode_batch([(1, None, b"v", ())])

    def write() -> tuple[int, int]:
        client.socket.sendall(client.frame(produce("plain", 0, batch, express.ids, 9), 9))
        return offsets(client.answer(), 9)

    def ask(request: Message, version: int, kind: type[Message]) -> Any:
        client.socket.sendall(client.frame(request, version))
        answer = client.answer()
        assert answer is not None
        return kind.decode(answer[5:], version)

    for number in range(4):
        assert write() == (0, number)
    deleted = ask(
        DeleteTopicsRequest(topics=[DeleteTopicState(name="plain")], timeout_ms=9000), 6, DeleteTopicsResponse
    )
    assert deleted.responses[0].error_code == 0
    assert write()[0] != 0
    made = ask(
        CreateTopicsRequest(
            topics=[CreatableTopic(name="plain", num_partitions=1, replication_factor=1)], timeout_ms=9000
        ),
        7,
        CreateTopicsResponse,
    )
    assert made.topics[0].error_code == 0
    before = express.served
    # Its place may not be free yet.
    while (first := write())[0] == ErrorCode.KAFKA_STORAGE_ERROR:
        monkeypatch.undo()
    assert [first, *(write() for _ in range(3))] == [(0, number) for number in range(4)]
    assert express.served > before
    client.close()


def test_whoever_cannot_be_served_is_not_left_waiting(
    express: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("broken on purpose")

    client, other = Client(express.address), Client(express.address)
    batch = encode_batch([(1, None, b"v", ())])
    frame = client.frame(produce("plain", 0, batch, express.ids, 9), 9)
    client.socket.sendall(frame)
    assert offsets(client.answer(), 9) == (0, 0)
    monkeypatch.setattr(Runs, "open", broken)
    client.socket.sendall(frame)
    assert client.answer() is None
    monkeypatch.undo()
    assert "could not be served" in caplog.text
    other.socket.sendall(frame)
    assert offsets(other.answer(), 9) == (0, 1)
    for one in (client, other):
        one.close()
