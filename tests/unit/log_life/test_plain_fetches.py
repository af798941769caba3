"""What `_speed/plain_read` answers is, byte for byte, what the readable way answers, over logs of every shape."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from struct import pack_into
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame
from storage_kit import batch, marker

from moldau import _speed
from moldau._speed import read_header
from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from moldau.replica.appends import Appends
from moldau.runtime.ports import FileSlice
from moldau.server.apis import fetch as fetch_api
from moldau.storage.log import Log

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")

SMALL = {"internal.segment.bytes": "60000", "index.interval.bytes": "300"}
VERSIONS = range(4, 19)


class World:
    """One node, asked the same thing twice: once as it is, once without the plain way."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.node = InProcessNode(path, compiled=True)
        self.ids: dict[str, bytes] = {}
        self.plain = 0  # how many were answered so
        read_plain = fetch_api.read_plain
        self.refuses = False

        def counted(*arguments: Any) -> Any:
            answer = None if self.refuses else read_plain(*arguments)
            self.plain += answer is not None
            return answer

        monkeypatch.setattr(fetch_api, "read_plain", counted)

    def topic(self, name: str, partitions: int = 1, **settings: str) -> Log:
        self.ids[name] = self.node.create_topic(name, partitions, **settings)
        return self.log(name)

    def log(self, name: str, index: int = 0) -> Log:
        return self.node.node.replicas.get(name, index).log

    def request(self, name: str, *asked: FetchPartition, **fields: Any) -> FetchRequest:
        more = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1, **fields}
        topic = FetchTopic(topic=name, topic_id=self.ids.get(name, bytes(16)), partitions=list(asked))
        return FetchRequest(topics=[topic], **more)

    def answer(self, frame: bytearray) -> tuple[list[bytes], str | None]:
        wire = Wire()
        self.node.send(wire, bytearray(frame))
        self.node.turn_until(lambda: bool(wire.sent) or wire.closed is not None)
        return wire.sent, wire.closed

    def same(self, frame: bytearray) -> bytes:
        """The answer of both ways."""
        self.refuses = False
        mine = self.answer(frame)
        self.refuses = True
        readable = self.answer(frame)
        assert mine == readable
        return mine[0][0] if mine[0] else b""

    def ask(self, request: FetchRequest, version: int) -> FetchResponse:
        return FetchResponse.decode(self.same(request_frame(request, version))[8 + (version >= 12) :], version)


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path, monkeypatch)
    yield made
    made.node.close()


def sized(chance: Random) -> list[bytes]:
    """The values of one batch: mostly small ones, sometimes so large that the next entry of the index is far away."""
    largest = chance.choice([10, 10, 100, 400, 3000, 9000])
    return [bytes(chance.randrange(largest + 1)) for _ in range(chance.choice([1, 1, 2, 5]))]


def fill(log: Log, chance: Random, batches: int, *, gaps: bool = False) -> None:
    """As a follower would, so that there may be offsets without records, as after a compaction."""
    for _ in range(batches):
        first = log.log_end_offset + (chance.choice([0, 0, 1, 7]) if gaps else 0)
        data = batch(*sized(chance), base_offset=first, partition_leader_epoch=log.epochs.latest_epoch)
        log.append_as_follower(data, 0, len(data))
        if gaps and chance.random() < 0.03:
            log.local.skip_to(log.log_end_offset + chance.randrange(9))
    log.local.advance_high_watermark(log.log_end_offset)


def fill_with_transactions(log: Log, chance: Random, batches: int) -> None:
    """Several producers, whose transactions are committed, aborted, or left open."""
    sequences: dict[int, int] = {}
    pending: set[int] = set()
    for _ in range(batches):
        producer = chance.randrange(1, 5)
        if producer in pending and chance.random() < 0.4:
            data = marker(producer, 0, commit=chance.random() < 0.5)
            pending.discard(producer)
            put_offset(data, log.log_end_offset)
        else:
            values = sized(chance)
            fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequences.get(producer, 0)}
            data = batch(*values, base_offset=log.log_end_offset, is_transactional=True, **fields)
            sequences[producer] = sequences.get(producer, 0) + len(values)
            pending.add(producer)
        log.append_as_follower(data, 0, len(data))
    log.local.advance_high_watermark(log.log_end_offset)


def put_offset(data: memoryview, offset: int) -> None:
    pack_into(">q", data, 0, offset)


def some_partition(log: Log, chance: Random, index: int, version: int) -> FetchPartition:
    start, end = log.log_start_offset, log.log_end_offset
    offset = chance.choice([chance.randrange(start, end + 1)] * 6 + [start, end, end - 1, start - 1, end + 1])
    return FetchPartition(
        partition=index,
        fetch_offset=offset,
        partition_max_bytes=chance.choice([0, 1, 60, 200, 2000, 16384, 1 << 20, -1]),
        current_leader_epoch=chance.choice([-1, -1, -1, 0, 1]) if version >= 9 else -1,
        last_fetched_epoch=chance.choice([-1, -1, 0, 3]) if version >= 12 else -1,
    )


def some_requests(world: World, name: str, chance: Random, count: int) -> None:
    for _ in range(count):
        logs = len(world.node.node.replicas.by_name[name].partitions)
        version = chance.choice(VERSIONS)
        places = [chance.randrange(logs) for _ in range(chance.choice([1, 1, 1, 2, 3]))]
        asked = [some_partition(world.log(name, place), chance, place, version) for place in places]
        request = world.request(
            name,
            *asked,
            max_bytes=chance.choice([0, 1, 500, 16384, 1 << 20, 1 << 30, -5]),
            min_bytes=chance.choice([0, 1, 1, 5000]),
            max_wait_ms=0,
            isolation_level=chance.choice([0, 0, 1]),
            rack_id=chance.choice(["", "", "a", "\u00fc"]) if version >= 11 else "",
        )
        world.same(request_frame(request, version))


# ------------------------------------------------------------------------------------------------------------ the logs

SHAPES: dict[str, Callable[[Log, Random], None]] = {
    "plain": lambda log, chance: fill(log, chance, 120),
    "with gaps": lambda log, chance: fill(log, chance, 120, gaps=True),
    "transactional": lambda log, chance: fill_with_transactions(log, chance, 120),
    "one batch": lambda log, chance: fill(log, chance, 1),
}


def whole(log: Log, chance: Random) -> None:
    pass


def starts_in_a_batch(log: Log, chance: Random) -> None:
    log.local.advance_log_start(chance.randrange(log.log_start_offset, log.log_end_offset))


def half_an_index(log: Log, chance: Random) -> None:
    for segment in log.segments:
        segment.offset_index.load()
        segment.offset_index._keep(segment.offset_index.entries // 2)


def no_index(log: Log, chance: Random) -> None:
    for segment in log.segments:
        segment.offset_index.load()
        segment.offset_index._keep(0)


def damaged_index(log: Log, chance: Random) -> None:
    """Entries that point anywhere, some with the wrong offset."""
    for segment in log.segments:
        index = segment.offset_index
        index.load()
        for slot in range(index.entries):
            if chance.random() < 0.2:
                at = slot * 8 + chance.choice([0, 4])
                pack_into(">i", index._view, at, chance.randrange(-3, segment.size + 50))


def shifted_index(log: Log, chance: Random) -> None:
    """Entries that point to a batch, but to one behind their own."""
    for segment in log.segments:
        index = segment.offset_index
        index.load()
        for slot in range(index.entries - 1):
            pack_into(">i", index._view, slot * 8 + 4, index.entry(slot + 1)[1])


def at_rest(log: Log, chance: Random) -> None:
    log.segments.rest()


def behind(log: Log, chance: Random) -> None:
    """Readers may see only a part: followers have not got the rest yet."""
    log.local.high_watermark = chance.randrange(log.log_start_offset, log.log_end_offset + 1)


@pytest.mark.parametrize(
    "change",
    [whole, starts_in_a_batch, half_an_index, no_index, damaged_index, shifted_index, at_rest, behind],
    ids=lambda change: change.__name__,
)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(2))
def test_any_log_and_any_request(world, shape, change, seed):
    chance = Random(f"{shape} {change.__name__} {seed}")
    world.topic("topic", 2, **SMALL)
    for index in range(2):
        log = world.log("topic", index)
        SHAPES[shape](log, chance)
        change(log, chance)
    some_requests(world, "topic", chance, 150)
    assert world.plain > 10


@pytest.mark.parametrize("seed", range(4))
def test_damaged_batches(world, seed):
    """Who walks past fewer batches meets less of the damage: should the answers differ, the plain one is right."""
    chance = Random(f"damage {seed}")
    log = world.topic("topic", **SMALL)
    fill(log, chance, 120)
    for segment in log.segments:
        for placed in list(segment.batches()):
            if chance.random() < 0.05:
                segment.open_file().write(bytes([chance.randrange(256)]), placed.position + chance.randrange(61))
    for _ in range(150):
        asked = FetchPartition(fetch_offset=chance.randrange(log.log_end_offset), partition_max_bytes=16384)
        frame = request_frame(world.request("topic", asked), 12)
        answers = []
        for world.refuses in (False, True):
            sent, closed = world.answer(frame)
            assert closed is None
            answers.append(FetchResponse.decode(sent[0][9:], 12).responses[0].partitions[0])
        if answers[0] != answers[1]:
            assert answers[0].error_code == 0
            found = read_header(bytes(answers[0].records))
            assert found.base_offset <= asked.fetch_offset <= found.last_offset


def test_small_batches_behind_each_other(world):
    """As many as an index interval holds: the walk goes over headers in memory."""
    log = world.topic("topic")
    chance = Random(5)
    for _ in range(400):
        data = batch(bytes(chance.randrange(40)))
        log.append_as_leader(data, 0, len(data), 0)
    log.local.advance_high_watermark(log.log_end_offset)
    assert log.segments.active.offset_index.entries > 5
    log.local.recent, log.local.older = {}, {}
    for offset in range(log.log_end_offset):
        answer = world.ask(world.request("topic", FetchPartition(fetch_offset=offset, partition_max_bytes=100)), 12)
        assert bytes(answer.responses[0].partitions[0].records)[:8] == offset.to_bytes(8, "big")
    assert world.plain == log.log_end_offset


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version(world, version):
    log = world.topic("topic", 2)
    fill(log, Random(version), 5)
    fill(world.log("topic", 1), Random(version), 5)
    asked = [FetchPartition(partition=index, fetch_offset=1, partition_max_bytes=500) for index in (0, 1)]
    answer = world.ask(world.request("topic", *asked), version)
    assert [part.error_code for part in answer.responses[0].partitions] == [0, 0]
    assert answer.responses[0].partitions[0].records
    assert world.plain == 1


# ----------------------------------------------------------------------------------------------- what is left to others


def left(world: World, request: FetchRequest, version: int = 12) -> FetchResponse:
    """Asks for what the plain way has to leave."""
    before = world.plain
    answer = world.ask(request, version)
    assert world.plain == before
    return answer


def test_what_is_not_plain(world):
    log = world.topic("topic")
    fill(log, Random(1), 20)
    one = FetchPartition(fetch_offset=3, partition_max_bytes=500)
    assert world.ask(world.request("topic", one), 12).responses[0].partitions[0].records
    assert world.plain == 1
    replicas = world.node.node.replicas
    assert left(world, world.request("nowhere", one)).responses[0].partitions[0].error_code
    assert left(world, world.request("topic", FetchPartition(partition=7))).responses[0].partitions[0].error_code
    left(world, world.request("topic", one, replica_id=1))
    left(world, world.request("topic", one, replica_state=ReplicaState(replica_id=1, replica_epoch=1)), 15)
    left(world, world.request("topic", one, forgotten_topics_data=[ForgottenTopic(topic="topic", partitions=[0])]))
    left(world, world.request("topic", one, session_id=5, session_epoch=7))
    two = world.request("topic", one)
    two.topics.append(FetchTopic(topic="topic", topic_id=world.ids["topic"], partitions=[one]))
    left(world, two)
    left(world, world.request("topic", *[one] * 17))
    replicas.get("topic", 0).is_leader = False
    # Clients that know of followers may read from one.
    refused = left(world, world.request("topic", one), 10).responses[0].partitions[0]
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert left(world, world.request("topic", one), 11).responses[0].partitions[0].error_code == ErrorCode.NONE
    replicas.get("topic", 0).is_leader = True


def test_damaged_requests(world):
    log = world.topic("topic")
    fill(log, Random(1), 20)
    chance = Random(7)
    for version in VERSIONS:
        good = request_frame(world.request("topic", FetchPartition(fetch_offset=3, partition_max_bytes=500)), version)
        for length in range(14, len(good)):
            world.same(good[:length])
        for _ in range(60):
            frame = bytearray(good)
            at = chance.randrange(14, len(frame))
            # Not where it says how long to wait for how much: that would wait.
            if not 18 <= at < 31:
                frame[at] ^= 1 << chance.randrange(8)
                world.same(frame)


def test_a_fetch_that_finds_too_little_waits(world):
    log = world.topic("topic")
    fill(log, Random(1), 3)
    request = world.request(
        "topic", FetchPartition(fetch_offset=0, partition_max_bytes=1 << 20), min_bytes=1 << 20, max_wait_ms=1
    )
    left(world, request)


def test_a_disk_that_fails_is_met_by_the_readable_way(world, monkeypatch):
    log = world.topic("topic")
    fill(log, Random(1), 30)
    log.local.recent, log.local.older = {}, {}
    failed = []
    log.directory.report = failed.append
    file = log.segments.active.open_file()

    class Failing:
        path = file.path

        def fileno(self) -> int:
            return nowhere

        def read(self, position: int, length: int) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    nowhere = os.open("/", os.O_RDONLY)
    log.segments.active.file = Failing()  # type: ignore[assignment]
    request = world.request("topic", FetchPartition(fetch_offset=9, partition_max_bytes=500))
    answer = left(world, request)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert failed
    log.segments.active.file = file
    os.close(nowhere)


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE])
def test_aborted_transactions_that_cannot_be_read_are_met_by_the_readable_way(world, monkeypatch, code):
    """After a start they are read when somebody asks for committed records."""
    log = world.topic("topic")
    fill(log, Random(1), 50)
    index = log.segments.active.transaction_index
    told: list[str] = []

    def broken() -> None:
        told.append(index.path)
        raise OSError(code, "no")

    monkeypatch.setattr(type(index), "_read", lambda _: broken())
    index._entries = None
    asked = FetchPartition(partition=0, fetch_offset=7, partition_max_bytes=1 << 20)
    frame = request_frame(world.request("topic", asked, isolation_level=1), 12)
    sent, closed = world.answer(frame)
    assert closed is None
    (topic,) = FetchResponse.decode(sent[0][9:], 12).responses
    assert topic.partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(told) == 2
    assert world.plain == 0


def test_many_records_stay_in_their_file(world):
    log = world.topic("topic")
    fill(log, Random(3), 200)
    frame = request_frame(world.request("topic", FetchPartition(fetch_offset=5, partition_max_bytes=1 << 20)), 12)
    sent: list[Any] = []
    wire = Wire()
    wire.send = sent.extend  # type: ignore[method-assign]
    world.node.send(wire, frame)
    assert [type(chunk) for chunk in sent] == [bytes, FileSlice, bytes]
    assert len(sent[1]) > 65536
    world.same(frame)


def test_short_answers_are_one_piece_by_either_way(world):
    log = world.topic("topic")
    fill(log, Random(3), 5)
    frame = request_frame(world.request("topic", FetchPartition(fetch_offset=1, partition_max_bytes=2000)), 12)
    for world.refuses in (False, True):
        sent: list[Any] = []
        wire = Wire()
        wire.send = sent.extend  # type: ignore[method-assign]
        world.node.send(wire, bytearray(frame))
        assert [type(chunk) for chunk in sent] == [bytes]


@pytest.mark.parametrize("version", [4, 11, 12, 17])
def test_who_waited_for_records_is_answered_so(world: World, version: int) -> None:
    log = world.topic("t")
    frame = request_frame(
        world.request("t", FetchPartition(fetch_offset=0, partition_max_bytes=1 << 20), max_wait_ms=60_000), version
    )
    wire = Wire()
    world.node.send(wire, bytearray(frame))
    assert not wire.sent
    before = world.plain
    data = batch(b"waited for")
    Appends(world.node.node.replicas, -1, by_id=False).append("t", 0, data, 0, len(data))
    world.node.turn_until(lambda: bool(wire.sent))
    assert world.plain == before + 1
    assert log.high_watermark == 1
    world.refuses = True
    assert wire.sent == world.answer(frame)[0]
