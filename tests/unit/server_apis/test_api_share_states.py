"""The states of share partitions: by the five requests of brokers, and by the persister that sends them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from in_process_node import InProcessNode

from moldau.coordinator.record_framing import decode_record
from moldau.coordinator.share.shard import Change
from moldau.coordinator.share.state import RECORD_TYPES, SharePartitionKey
from moldau.coordinator.share.state_batches import Batch
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages import read_share_group_state as reads
from moldau.protocol.messages import read_share_group_state_summary as summaries
from moldau.protocol.messages import write_share_group_state as writes
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.share_snapshot_value import ShareSnapshotValue
from moldau.protocol.records import decode_batch
from moldau.server.other_brokers import OtherBrokers
from moldau.server.share.persister import LIMIT_SECONDS, SharePersister
from moldau.types import uuid_to_text

SETTINGS = {"share.coordinator.state.topic.num.partitions": "3"}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path / "data", compiled=True, settings=SETTINGS)
    yield node
    node.close()


def initialize(topic_id: bytes, *partitions: int, start: int = 5) -> Any:
    rows = [initializes.PartitionData(partition=index, state_epoch=1, start_offset=start) for index in partitions]
    topics = [initializes.InitializeStateData(topic_id=topic_id, partitions=rows)]
    return initializes.InitializeShareGroupStateRequest(group_id="g", topics=topics)


def write(topic_id: bytes, partition: int, first: int, last: int) -> Any:
    batch = writes.StateBatch(first_offset=first, last_offset=last, delivery_state=2, delivery_count=1)
    row = writes.PartitionData(
        partition=partition, state_epoch=1, leader_epoch=0, start_offset=5, delivery_complete_count=3
    )
    row.state_batches = [batch]
    topics = [writes.WriteStateData(topic_id=topic_id, partitions=[row])]
    return writes.WriteShareGroupStateRequest(group_id="g", topics=topics)


def summary(topic_id: bytes, *partitions: int) -> Any:
    rows = [summaries.PartitionData(partition=index, leader_epoch=-1) for index in partitions]
    topics = [summaries.ReadStateSummaryData(topic_id=topic_id, partitions=rows)]
    return summaries.ReadShareGroupStateSummaryRequest(group_id="g", topics=topics)


def codes(response: Any) -> list[ErrorCode]:
    return [row.error_code for topic in response.results for row in topic.partitions]


def test_a_state_is_kept_though_nobody_has_made_the_topic(node: InProcessNode) -> None:
    topic_id = node.create_topic("orders", 4)
    persister = node.node.services.share_persister
    assert codes(node.settle(persister.initialize(initialize(topic_id, 0, 1, 3)))) == [0, 0, 0]
    assert codes(node.settle(persister.write(write(topic_id, 3, 7, 9)))) == [0]
    answer = node.settle(persister.read_summary(summary(topic_id, 3, 2, 9)))
    known, never, missing = answer.results[0].partitions
    assert (known.start_offset, known.delivery_complete_count) == (5, 3)
    assert never.start_offset == -1
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    settings = node.node.services.metadata.image.configs.topic("__share_group_state")
    assert settings["cleanup.policy"] == "delete"
    assert settings["retention.ms"] == "-1"


def test_brokers_ask_with_requests(node: InProcessNode) -> None:
    topic_id = node.create_topic("orders", 4)
    key = f"g:{uuid_to_text(topic_id)}:1"
    find = FindCoordinatorRequest(key_type=2, coordinator_keys=[key, "g:1"])
    found, malformed = node.ask(find, 6, FindCoordinatorResponse).coordinators
    assert found.error_code == ErrorCode.NONE
    assert found.node_id == node.node.services.node_id
    assert malformed.error_code == ErrorCode.INVALID_REQUEST
    (early,) = node.ask(find, 5, FindCoordinatorResponse).coordinators[:1]
    assert early.error_code == ErrorCode.INVALID_REQUEST
    loading = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    while (
        answer := codes(node.ask(initialize(topic_id, 1), 0, initializes.InitializeShareGroupStateResponse))
    ) == loading:
        node.turn()
    assert answer == [0]
    assert codes(node.ask(write(topic_id, 1, 7, 9), 1, writes.WriteShareGroupStateResponse)) == [0]
    rows = [reads.PartitionData(partition=1, leader_epoch=2)]
    topics = [reads.ReadStateData(topic_id=topic_id, partitions=rows)]
    request = reads.ReadShareGroupStateRequest(group_id="g", topics=topics)
    (row,) = node.ask(request, 0, reads.ReadShareGroupStateResponse).results[0].partitions
    assert [(batch.first_offset, batch.last_offset) for batch in row.state_batches] == [(7, 9)]
    # From now on the leader before is fenced.
    fenced = node.ask(write(topic_id, 1, 7, 9), 1, writes.WriteShareGroupStateResponse)
    assert codes(fenced) == [ErrorCode.FENCED_LEADER_EPOCH]


def test_a_restart_finds_the_states(tmp_path: Path) -> None:
    node = InProcessNode(tmp_path / "data", compiled=True, settings=SETTINGS)
    topic_id = node.create_topic("orders", 4)
    assert codes(node.settle(node.node.services.share_persister.initialize(initialize(topic_id, 0, 2)))) == [0, 0]
    node.close()
    again = InProcessNode(tmp_path / "data", compiled=True, settings=SETTINGS)
    answer = again.settle(again.node.services.share_persister.read_summary(summary(topic_id, 0, 2)))
    assert [row.start_offset for row in answer.results[0].partitions] == [5, 5]
    again.close()


def records_of(node: InProcessNode, partition: int) -> list[Any]:
    """What was written of a share partition, but for the times."""
    found = []
    for hosted in node.node.replicas.by_name["__share_group_state"].partitions.values():
        segment = hosted.log.segments.active
        data = segment.open_file().read(0, segment.size)
        for placed in segment.batches():
            for record in decode_batch(data, placed.position, placed.position + placed.header.size):
                decoded = decode_record(RECORD_TYPES, record.key, record.value)
                if decoded is not None and decoded.key.partition == partition:
                    found.append(decoded.value)
    for value in found:
        if isinstance(value, ShareSnapshotValue):
            value.create_timestamp = value.write_timestamp = 0
    return found


def test_a_short_change_becomes_the_record_that_a_request_would_write(tmp_path: Path) -> None:
    settings = {**SETTINGS, "share.coordinator.snapshot.update.records.per.snapshot": "4"}
    node = InProcessNode(tmp_path / "data", compiled=True, settings=settings)
    topic_id, chance, short = node.create_topic("orders", 4), Random(1), 0
    persister = node.node.services.share_persister
    node.settle(persister.initialize(initialize(topic_id, 0, 1)))
    for number in range(40):
        first = 5 + chance.randrange(60)
        start = chance.choice([5, 6, number]) if number > 5 else -1
        batches = [
            Batch(first + 3 * each, first + 3 * each + 1, 2, 1 + each % 2) for each in range(chance.randrange(4))
        ]
        request = write(topic_id, 0, 0, 0)
        (row,) = request.topics[0].partitions
        row.start_offset, row.delivery_complete_count, row.leader_epoch = start, number, number // 9
        row.state_batches = [
            writes.StateBatch(
                first_offset=each.first,
                last_offset=each.last,
                delivery_state=each.state,
                delivery_count=each.deliveries,
            )
            for each in batches
        ]
        assert codes(node.settle(persister.write(request))) == [0]
        here = persister.write_here(SharePartitionKey("g", topic_id, 1), Change(1, number // 9, start, number, batches))
        if here is None:
            row.partition = 1
            assert codes(node.settle(persister.write(request))) == [0]
        else:
            assert here is True
            short += 1
    assert records_of(node, 0) == records_of(node, 1)
    known, other = node.settle(persister.read_summary(summary(topic_id, 0, 1))).results[0].partitions
    assert (known.start_offset, known.delivery_complete_count) == (other.start_offset, other.delivery_complete_count)
    assert short == 32, "each fifth is a snapshot"
    node.close()


def test_what_is_wrong_with_a_short_change_is_left_to_a_request(node: InProcessNode) -> None:
    topic_id = node.create_topic("orders", 4)
    persister = node.node.services.share_persister
    key, change = SharePartitionKey("g", topic_id, 0), Change(1, 3, 5, 0, [Batch(5, 6, 2, 1)])
    assert persister.write_here(key, change) is None, "there is no topic of states"
    node.settle(persister.initialize(initialize(topic_id, 0)))
    assert persister.write_here(key, change) is True
    assert persister.write_here(key, change._replace(leader_epoch=2)) is None, "another leads it since"
    assert persister.write_here(key, change._replace(state_epoch=2)) is None
    assert persister.write_here(key, change._replace(batches=change.batches * 100)) is None
    assert persister.write_here(key._replace(partition=1), change) is None, "it was never initialized"
    assert len(records_of(node, 0)) == 2


class Later:
    """A clock that is ahead by as much as the test says."""

    def __init__(self, node: InProcessNode) -> None:
        self.ahead = 0.0
        self._clock = node.runtime.clock

    def monotonic(self) -> float:
        return self._clock.monotonic() + self.ahead

    def now_ms(self) -> int:
        return self._clock.now_ms()


class Remote(OtherBrokers):
    """Another broker, which is asked and answered by the test."""

    def __init__(self, clock: Later) -> None:
        self.clock = clock
        self.asked: list[Any] = []
        self.answers: list[Deferred[Any]] = []

    def address(self, broker_id: int) -> Address | None:
        raise NotImplementedError

    def ask(self, broker_id: int, request: Any, line: str) -> Deferred[Any]:
        self.asked.append(request)
        self.answers.append(Deferred())
        return self.answers[-1]


def answer_to(request: Any, code: ErrorCode = ErrorCode.NONE) -> Any:
    topics = [
        writes.WriteStateResult(
            topic_id=topic.topic_id,
            partitions=[writes.PartitionResult(partition=row.partition, error_code=code) for row in topic.partitions],
        )
        for topic in request.topics
    ]
    return writes.WriteShareGroupStateResponse(results=topics)


@pytest.fixture
def remote(node: InProcessNode) -> tuple[Remote, SharePersister]:
    """A persister whose node has the number 99: all states are kept elsewhere."""
    services, brokers = node.node.services, Remote(Later(node))
    node.settle(services.create_internal_topic("__share_group_state"))
    metadata = services.metadata
    node.turn_until(lambda: metadata.image.topics.get("__share_group_state") is not None)

    def image() -> MetadataImage:
        return metadata.image

    return brokers, SharePersister(
        99,
        services.share_states,
        image,
        lambda: services.create_internal_topic("__share_group_state"),
        node.runtime.loop,
        brokers.clock,
        brokers,
    )


def test_what_comes_while_a_request_is_under_way_goes_with_the_next(
    node: InProcessNode, remote: tuple[Remote, SharePersister]
) -> None:
    brokers, persister = remote
    first, again, other = (persister.write(write(b"t" * 16, index, 7, 9)) for index in (0, 0, 1))
    assert len(brokers.asked) == 1
    brokers.answers[0].resolve(answer_to(brokers.asked[0]))
    assert codes(node.settle(first)) == [0]
    # Those of one share partition keep their order, others go together.
    assert sorted(row.partition for topic in brokers.asked[1].topics for row in topic.partitions) == [0, 1]
    brokers.answers[1].resolve(answer_to(brokers.asked[1], ErrorCode.FENCED_STATE_EPOCH))
    assert codes(node.settle(again)) == codes(node.settle(other)) == [ErrorCode.FENCED_STATE_EPOCH]
    assert len(brokers.asked) == 2


def test_who_is_no_coordinator_any_more_is_asked_again_and_not_for_ever(
    node: InProcessNode, remote: tuple[Remote, SharePersister]
) -> None:
    brokers, persister = remote
    waiting = persister.write(write(b"t" * 16, 0, 7, 9))
    brokers.answers[0].resolve(answer_to(brokers.asked[0], ErrorCode.NOT_COORDINATOR))
    node.turn_until(lambda: len(brokers.asked) == 2)
    brokers.answers[1].fail(KafkaError(ErrorCode.NETWORK_EXCEPTION))
    node.turn_until(lambda: len(brokers.asked) == 3)
    brokers.clock.ahead = LIMIT_SECONDS
    brokers.answers[2].fail(KafkaError(ErrorCode.NETWORK_EXCEPTION))
    assert codes(node.settle(waiting)) == [ErrorCode.NETWORK_EXCEPTION]


def test_a_node_that_stops_keeps_nobody_waiting(node: InProcessNode, remote: tuple[Remote, SharePersister]) -> None:
    brokers, persister = remote
    waiting = persister.write(write(b"t" * 16, 0, 7, 9))
    persister.close()
    assert codes(node.settle(waiting)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    brokers.answers[0].resolve(answer_to(brokers.asked[0]))
