"""Offset commits of several connections that are written together: each is answered as if it had come alone."""

from __future__ import annotations

import errno
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from served_node import PATIENCE, Client, Served

from moldau import _speed
from moldau._speed import scan_batches
from moldau.coordinator.group.record_types import RECORD_TYPES
from moldau.coordinator.record_framing import decode_record
from moldau.errors import ErrorCode
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages import offset_fetch as fetches
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.records import decode_batch
from moldau.runtime.disk import DiskFile

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is no express way")

TOPICS: dict[str, dict[str, str]] = {"a": {}, "b": {}}
ONE_PARTITION = {"offsets.topic.num.partitions": "1"}
OFFSETS = "__consumer_offsets-0"


def serve(data: Path, *, express: bool = True, topics: dict[str, dict[str, str]] = TOPICS, **settings: str) -> Served:
    node = Served(data, express=express, topics=topics, settings={**ONE_PARTITION, **settings})
    client = Client(node.address)
    client.socket.sendall(client.frame(FindCoordinatorRequest(key="first"), 0))
    assert client.answer() is not None
    while ask(client, commit("first", 0)):
        pass  # until the coordinator is there
    client.close()
    return node


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Served]:
    node = serve(tmp_path / "node")
    yield node
    node.close()


def commit(group: str, offset: int, topic: str = "a", index: int = 0, **fields: Any) -> commits.OffsetCommitRequest:
    row = commits.OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
    topics = [commits.OffsetCommitRequestTopic(name=topic, partitions=[row])]
    return commits.OffsetCommitRequest(group_id=group, topics=topics, **fields)


def code(answer: bytes | None, version: int = 8) -> int:
    assert answer is not None
    response = commits.OffsetCommitResponse.decode(answer[5 if version >= 8 else 4 :], version)
    found: int = response.topics[0].partitions[0].error_code
    return found


def ask(client: Client, request: commits.OffsetCommitRequest, version: int = 8) -> int:
    client.socket.sendall(client.frame(request, version))
    return code(client.answer(), version)


def crowd(node: Served, count: int) -> list[Client]:
    """Connections whose next request is found by the express way: it has to know who they are."""
    clients = [Client(node.address) for _ in range(count)]
    for number, client in enumerate(clients):
        assert ask(client, commit(f"known-{number}", 0)) == 0
    return clients


def at_once(node: Served, clients: list[Client], requests: list[commits.OffsetCommitRequest]) -> list[int]:
    with node.held():
        for client, request in zip(clients, requests, strict=True):
            client.socket.sendall(client.frame(request, 8))
    return [code(client.answer()) for client in clients]


def committed(node: Served, group: str) -> dict[tuple[str, int], int]:
    client = Client(node.address)
    asked = fetches.OffsetFetchRequest(groups=[fetches.OffsetFetchRequestGroup(group_id=group, topics=None)])
    client.socket.sendall(client.frame(asked, 8))
    answer = client.answer()
    client.close()
    assert answer is not None
    (found,) = fetches.OffsetFetchResponse.decode(answer[5:], 8).groups
    return {(t.name, row.partition_index): row.committed_offset for t in found.topics for row in t.partitions}


def log_of(node: Served) -> list[list[tuple[Any, ...]]]:
    """By batch, the offset of each record, its group, topic and partition, and what was committed."""
    (path,) = node.data.parent.rglob(f"{node.data.name}*/{OFFSETS}/{0:020d}.log")
    data = path.read_bytes()
    found, position = [], 0
    for header in scan_batches(data):
        batch = []
        for one in decode_batch(data, position, position + header.size):
            record = decode_record(RECORD_TYPES, one.key, one.value)
            assert record is not None
            key: Any = record.key
            value: Any = record.value
            batch.append((one.offset, key.group, key.topic, key.partition, value.offset))
        found.append(batch)
        position += header.size
    return found


def test_what_is_committed_in_one_turn_is_one_batch(node: Served, tmp_path: Path) -> None:
    clients = crowd(node, 12)
    before, served = log_of(node), node.served
    requests = [commit(f"g-{number}", 100 + number, index=number % 2) for number in range(12)]
    assert at_once(node, clients, requests) == [0] * 12
    assert node.served == served + 12
    first = sum(map(len, before))
    together = [(first + number, f"g-{number}", "a", number % 2, 100 + number) for number in range(12)]
    assert log_of(node) == [*before, together]
    for client in clients:
        client.close()
    expected = {f"g-{number}": {("a", number % 2): 100 + number} for number in range(12)}
    assert {group: committed(node, group) for group in expected} == expected
    # As it is found by whoever starts after it was killed.
    shutil.copytree(node.data, tmp_path / "killed")
    again = serve(tmp_path / "killed", topics={})
    try:
        assert {group: committed(again, group) for group in expected} == expected
    finally:
        again.close()


def test_a_commit_that_comes_alone_is_not_kept_waiting(node: Served) -> None:
    (client,) = crowd(node, 1)
    before, served = len(log_of(node)), node.served
    for number in range(5):
        assert ask(client, commit("alone", number)) == 0
        assert committed(node, "alone") == {("a", 0): number}
    assert len(log_of(node)) == before + 5
    assert node.served == served + 5
    client.close()


def test_whoever_is_refused_does_not_hurt_the_others(node: Served) -> None:
    clients = crowd(node, 6)
    before = log_of(node)
    requests = [
        commit("g-0", 1),
        commit("g-1", 1, generation_id_or_member_epoch=7, member_id="nobody"),
        commit("g-2", 1),
        commit("g-3", 1, topic="absent"),
        commit("known-4", 1, generation_id_or_member_epoch=7, member_id="nobody"),
        commit("g-5", 1, index=1),
    ]
    refused = [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_MEMBER_ID]
    assert at_once(node, clients, requests) == [0, refused[0], 0, refused[1], refused[2], 0]
    (together,) = log_of(node)[len(before) :]
    assert [row[1] for row in together] == ["g-0", "g-2", "g-5"]
    assert committed(node, "g-1") == {}
    assert committed(node, "known-4") == {("a", 0): 0}
    for client in clients:
        client.close()


def test_whoever_reads_the_log_of_the_coordinator_is_woken(node: Served) -> None:
    writer, reader = crowd(node, 2)
    end = sum(map(len, log_of(node)))
    asked = FetchPartition(partition=0, fetch_offset=end, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic="__consumer_offsets", partitions=[asked])]
    reader.socket.sendall(
        reader.frame(FetchRequest(max_wait_ms=600_000, min_bytes=1, max_bytes=9999, topics=topics), 4)
    )
    fetches = node.node.node.services.replicas.fetches
    while not fetches.watched:
        time.sleep(0.001)
    assert ask(writer, commit("g", 1)) == 0
    answer = reader.answer()
    assert answer is not None
    assert FetchResponse.decode(answer[4:], 4).responses[0].partitions[0].high_watermark == end + 1
    writer.close()
    reader.close()


def test_of_one_group_the_last_commit_counts(node: Served) -> None:
    clients = crowd(node, 3)
    assert at_once(node, clients, [commit("g", number) for number in (5, 3, 4)]) == [0, 0, 0]
    assert committed(node, "g") == {("a", 0): 4}
    # And those behind each other on one connection are taken one after the other.
    client = clients[0]
    client.socket.sendall(b"".join(client.frame(commit("g", number), 8, number) for number in range(10)))
    answers = [client.answer() for _ in range(10)]
    assert [int.from_bytes(answer[:4], "big") for answer in answers if answer] == list(range(10))
    assert committed(node, "g") == {("a", 0): 9}
    for client in clients:
        client.close()


def test_what_does_not_fit_one_batch_is_written_in_several(tmp_path: Path) -> None:
    node = serve(tmp_path / "node", **{"message.max.bytes": "400"})
    clients = crowd(node, 8)
    before, served = len(log_of(node)), node.served
    assert at_once(node, clients, [commit(f"g-{number}", number) for number in range(8)]) == [0] * 8
    assert [[row[1] for row in batch] for batch in log_of(node)[before:]] == [[f"g-{number}"] for number in range(8)]
    assert node.served == served
    for client in clients:
        client.close()
    node.close()


def test_a_write_that_fails_is_told_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log directory is lost with it; each of them hears what one alone hears."""
    codes = []
    write = DiskFile.write

    def failing(self: DiskFile, data: Any, position: int) -> None:
        if OFFSETS in self.path:
            raise OSError(errno.EIO, "planted", self.path)
        write(self, data, position)

    for way in ("express", "readable"):
        directories = ",".join(str(tmp_path / f"{way}-{number}") for number in range(2))
        with monkeypatch.context() as patched:
            meta = str(tmp_path / f"{way}-meta")
            node = serve(
                tmp_path / way, express=way == "express", **{"log.dirs": directories, "metadata.log.dir": meta}
            )
            clients = crowd(node, 4)
            before = log_of(node)
            patched.setattr(DiskFile, "write", failing)
            codes.append(at_once(node, clients, [commit(f"g-{number}", 1) for number in range(4)]))
            assert log_of(node) == before
            for client in clients:
                client.close()
            node.close()
    assert codes[0] == codes[1] == [ErrorCode.NOT_COORDINATOR] * 4


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_committed_has_the_same_answers_and_records(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    nodes = [serve(tmp_path / way, express=way == "express") for way in ("express", "readable")]
    groups = ("g", "h", "ž" * 30, "", "x" * 300)
    for _ in range(15):
        clients = [Client(node.address) for node in nodes]
        for _ in range(20):
            version = random.randint(2, 10)
            request = some_commit(random, groups, nodes[0].ids, version)
            same = with_ids(request, nodes[0].ids, nodes[1].ids)
            for client, asked in zip(clients, (request, same), strict=True):
                client.socket.sendall(client.frame(asked, version, 5))
            one, other = (plain(client.answer(), version) for client in clients)
            assert one == other
        for client in clients:
            client.close()
    assert nodes[0].served > 50
    assert nodes[1].served == 0
    assert log_of(nodes[0]) == log_of(nodes[1])
    for group in groups:
        assert committed(nodes[0], group) == committed(nodes[1], group)
    for node in nodes:
        node.close()


def some_commit(
    random: Random, groups: tuple[str, ...], ids: dict[str, bytes], version: int
) -> commits.OffsetCommitRequest:
    fields: dict[str, Any] = {}
    if random.random() < 0.2:
        fields |= {"generation_id_or_member_epoch": random.choice((0, 3)), "member_id": "m"}
    if version <= 4 and random.random() < 0.1:
        fields["retention_time_ms"] = 60_000
    if version >= 7 and random.random() < 0.1:
        fields["group_instance_id"] = "i"
    topics = []
    for _ in range(random.choice((1, 1, 1, 2, 9))):
        name = random.choice(("a", "a", "b", "absent") if random.random() < 0.3 else ("a", "b"))
        rows = [
            commits.OffsetCommitRequestPartition(
                partition_index=random.choice((0, 0, 1, 1, 7) if random.random() < 0.2 else (0, 1)),
                committed_offset=random.randrange(1 << 40),
                committed_leader_epoch=random.choice((-1, 4)) if version >= 6 else -1,
                committed_metadata=random.choice((None, "", "ž" * random.choice((3, 90)))),
            )
            for _ in range(random.choice((1, 1, 2, 5)))
        ]
        topics.append(
            commits.OffsetCommitRequestTopic(
                name=name if version < 10 else "",
                topic_id=ids.get(name, b"absent".ljust(16)) if version >= 10 else bytes(16),
                partitions=rows,
            )
        )
    return commits.OffsetCommitRequest(group_id=random.choice(groups), topics=topics, **fields)


def with_ids(
    request: commits.OffsetCommitRequest, mine: dict[str, bytes], theirs: dict[str, bytes]
) -> commits.OffsetCommitRequest:
    """The same request for a node whose topics have other ids."""
    other = {topic_id: theirs[name] for name, topic_id in mine.items()}
    copy = commits.OffsetCommitRequest.decode(request.encode(10), 10)
    copy.retention_time_ms = request.retention_time_ms
    for topic, original in zip(copy.topics, request.topics, strict=True):
        topic.name, topic.topic_id = original.name, other.get(original.topic_id, original.topic_id)
    return copy


def plain(answer: bytes | None, version: int) -> Any:
    """An answer without the ids of topics, which differ between two nodes."""
    if answer is None:
        return None
    response = commits.OffsetCommitResponse.decode(answer[5 if version >= 8 else 4 :], version)
    for topic in response.topics:
        topic.topic_id = bytes(16)
    return answer[:4], response


def test_many_at_once_lose_nothing(node: Served) -> None:
    last = 60
    failures: list[Any] = []

    def work(name: int) -> None:
        client = Client(node.address, f"client-{name}")
        for number in range(last + 1):
            found = ask(client, commit(f"g-{name}", number, index=name % 2))
            if found:
                failures.append(found)
        client.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not failures
    rows = [row for batch in log_of(node) for row in batch]
    assert [row[0] for row in rows] == list(range(len(rows)))
    for name in range(10):
        mine = [row[4] for row in rows if row[1] == f"g-{name}"]
        assert mine == list(range(last + 1))
        assert committed(node, f"g-{name}") == {("a", name % 2): last}
    assert node.served > 10 * last / 2
