"""ShareFetch and ShareAcknowledge: sessions, waiting, and what becomes of records whose member is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from share_members import LONG, Member, World, acquired, codes, error

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from moldau.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.records import decode_batch


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "data")
    yield world
    world.node.close()


def test_records_are_acquired_and_done_with(world: World) -> None:
    world.produce(5)
    world.produce(5)
    first, second = Member(world, "first"), Member(world, "second")
    response = first.fetch(max_records=3)
    assert acquired(response) == [(0, 4, 1)]
    assert response.acquisition_lock_timeout_ms == 1000
    records = response.responses[0].partitions[0].records
    assert [record.offset for record in decode_batch(records, 0, len(records))] == [0, 1, 2, 3, 4]
    assert acquired(second.fetch()) == [(5, 9, 1)]
    # Said along with the next fetch, or by itself.
    response = first.fetch((0, 4, [1]))
    assert codes(response) == [(0, 0)]
    response = second.acknowledge((5, 9, [1, 1, 3, 1, 2]))
    assert response.responses[0].partitions[0].error_code == 0
    assert response.acquisition_lock_timeout_ms == 1000
    assert acquired(first.fetch()) == [(9, 9, 2)]
    assert world.stored() == (5, 4)


@pytest.mark.parametrize("size", [10, 9_000, 25_000, 90_000])
def test_records_of_any_size_come_whole(world: World, size: int) -> None:
    # However slow the machine is, nothing comes twice.
    world.setting("share.record.lock.duration.ms", "60000")
    for _ in range(4):
        world.produce(2, size=size)
    member, found = Member(world, "m"), dict[int, bytes]()
    while len(found) < 8:
        response = member.fetch(max_records=6)
        records = response.responses[0].partitions[0].records
        taken = {record.offset: record.value for record in decode_batch(records, 0, len(records))}
        ((first, last, _),) = acquired(response)
        assert first == min(taken)
        assert last == max(taken)
        found |= taken
    assert found == {offset: b"%d" % (offset % 2) + bytes(size) for offset in range(8)}


def test_the_epochs_of_a_session(world: World) -> None:
    member = Member(world, "m")
    assert error(member.fetch(epoch=3)) is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert error(member.fetch(epoch=-1)) is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert error(member.acknowledge(epoch=0)) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert error(member.fetch((0, 0, [1]))) is ErrorCode.INVALID_REQUEST
    assert error(member.fetch()) is ErrorCode.NONE
    assert error(member.fetch(epoch=7)) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert error(member.acknowledge(epoch=7)) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert error(member.fetch()) is ErrorCode.NONE
    assert error(member.acknowledge()) is ErrorCode.NONE
    assert error(member.acknowledge(epoch=-1)) is ErrorCode.NONE
    assert error(member.acknowledge()) is ErrorCode.SHARE_SESSION_NOT_FOUND
    for name in ("", "x" * 37):
        assert error(Member(world, name).fetch()) is ErrorCode.INVALID_REQUEST


def test_a_group_without_a_name_has_a_session_and_no_partitions(world: World) -> None:
    """As for Kafka, which says of each partition that it does not know why."""
    nobody = Member(world, "m", group="")
    for _ in range(2):
        answer = nobody.fetch()
        assert answer.error_code == ErrorCode.NONE
        assert codes(answer) == [(ErrorCode.INVALID_REQUEST, 0)]
        assert "has a group" in answer.responses[0].partitions[0].error_message
    assert nobody.acknowledge().error_code == ErrorCode.NONE
    missing = Member(world, "m", group=None)
    assert error(missing.fetch()) is ErrorCode.INVALID_REQUEST
    assert error(missing.acknowledge()) is ErrorCode.INVALID_REQUEST


def test_how_long_the_id_of_a_member_is(world: World) -> None:
    longest = Member(world, "m" * 36)
    assert longest.fetch().error_code == ErrorCode.NONE
    for name in ("m" * 37, "", None):
        refused = Member(world, name)
        assert error(refused.fetch()) is ErrorCode.INVALID_REQUEST
        assert error(refused.acknowledge()) is ErrorCode.INVALID_REQUEST


def test_what_is_said_of_a_topic_that_is_not_there(world: World) -> None:
    member = Member(world, "m")
    member.fetch()
    known, world.topic_id = world.topic_id, b"absent".ljust(16)
    answer = member.acknowledge((0, 0, [1]))
    world.topic_id = known
    (row,) = answer.responses[0].partitions
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_there_are_no_more_sessions_than_may_be(world: World) -> None:
    members = [Member(world, f"m{number}") for number in range(4)]
    assert [error(member.fetch()) for member in members] == [0, 0, 0, ErrorCode.SHARE_SESSION_LIMIT_REACHED]
    # A new one in the place of its own, and one where another has ended.
    assert error(members[0].fetch(epoch=0)) is ErrorCode.NONE
    members[1].connection.closed(None)
    assert error(members[3].fetch()) is ErrorCode.NONE


def test_who_waits_is_woken_by_records(world: World) -> None:
    member = Member(world, "m")
    member.begin_fetch(wait=LONG)
    world.node.turn()
    assert not member.has_answer
    world.produce(2)
    assert acquired(member.fetched()) == [(0, 1, 1)]


def test_who_waits_is_woken_by_what_others_give_back(world: World) -> None:
    world.produce(4)
    first, second = Member(world, "first"), Member(world, "second")
    assert acquired(first.fetch()) == [(0, 3, 1)]
    second.begin_fetch(wait=LONG)
    first.acknowledge((1, 2, [2]))
    assert acquired(second.fetched()) == [(1, 2, 2)]
    # The rest when the connection ends.
    second.begin_fetch(wait=LONG)
    first.connection.closed(None)
    assert acquired(second.fetched()) == [(0, 0, 2), (3, 3, 2)]
    assert error(first.fetch()) is ErrorCode.SHARE_SESSION_NOT_FOUND
    # Or when the lock does: of all four, unless it is renewed.
    third = Member(world, "third")
    third.begin_fetch(wait=LONG)
    assert second.acknowledge((0, 0, [4])).responses[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert second.acknowledge((0, 0, [1])).responses[0].partitions[0].error_code == 0
    assert acquired(third.fetched())[0] == (1, 2, 3)
    late = second.acknowledge((1, 2, [1]))
    assert late.responses[0].partitions[0].error_code == ErrorCode.INVALID_RECORD_STATE


def test_a_member_that_is_gone_gets_nothing(world: World) -> None:
    gone, there = Member(world, "gone"), Member(world, "there")
    gone.begin_fetch(wait=LONG)
    there.begin_fetch(wait=LONG)
    world.node.turn()
    gone.connection.closed(None)
    world.produce(3)
    assert acquired(there.fetched()) == [(0, 2, 1)]


def test_locks_are_renewed_by_a_request_that_says_so(world: World) -> None:
    world.produce(1)
    member = Member(world, "m")
    assert acquired(member.fetch()) == [(0, 0, 1)]
    for _ in range(3):
        world.wait(0.6)
        assert member.acknowledge((0, 0, [4]), renews=True).responses[0].partitions[0].error_code == 0
    none = dict.fromkeys(("max_bytes", "min_bytes", "max_records"), 0)
    assert error(member.fetch((0, 0, [4]), is_renew_ack=True)) is ErrorCode.INVALID_REQUEST
    assert codes(member.fetch((0, 0, [4]), is_renew_ack=True, **none)) == [(0, 0)]
    world.setting("share.renew.acknowledge.enable", "false")
    assert codes(member.fetch((0, 0, [4]), is_renew_ack=True, **none)) == [(0, ErrorCode.INVALID_RECORD_STATE)]
    assert codes(member.fetch((0, 0, [1]))) == [(0, 0)]


@pytest.mark.parametrize(
    "said",
    [
        [(3, 2, [1])],
        [(0, 1, [1, 1, 1])],
        [(0, 1, [])],
        [(0, 1, [5])],
        [(0, 1, [-1])],
        [(1, 2, [1]), (0, 0, [1])],
        [(0, 1, [1]), (1, 2, [1])],
        [(0, 2**62, [1])],
    ],
)
def test_what_cannot_be_meant(world: World, said: list[tuple[int, int, list[int]]]) -> None:
    world.produce(4)
    member = Member(world, "m")
    member.fetch()
    assert codes(member.fetch(*said)) == [(0, ErrorCode.INVALID_REQUEST)]
    # Nothing of it was taken.
    assert codes(member.fetch((0, 3, [1]))) == [(0, 0)]


def test_the_state_is_read_anew_when_the_group_is_back(world: World) -> None:
    world.produce(6)
    member = Member(world, "m")
    member.fetch()
    member.acknowledge((0, 1, [1]), (3, 3, [3]))
    member.acknowledge(epoch=-1)
    shares = world.node.node.services.share_partitions
    world.node.turn_until(lambda: not len(shares))
    again = Member(world, "m")
    assert acquired(again.fetch()) == [(2, 2, 2), (4, 5, 2)]


def test_a_deleted_topic(world: World) -> None:
    world.produce(1)
    member, waiting = Member(world, "m"), Member(world, "waiting")
    member.fetch()
    waiting.begin_fetch(wait=LONG)
    world.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=LONG), 6)
    ((code, _),) = codes(waiting.fetched())
    assert code == ErrorCode.UNKNOWN_TOPIC_ID
    assert codes(member.fetch((0, 0, [1]))) == [(ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert not len(world.node.node.services.share_partitions)


def test_records_that_were_deleted(world: World) -> None:
    world.produce(5)
    world.produce(5)
    member = Member(world, "m")
    assert acquired(member.fetch(max_records=2)) == [(0, 4, 1)]
    row = DeleteRecordsPartition(partition_index=0, offset=7)
    world.ask(DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="orders", partitions=[row])], timeout_ms=LONG), 2)
    assert acquired(member.fetch((0, 4, [1]))) == [(7, 9, 1)]
    assert codes(member.fetch((7, 9, [1]))) == [(0, 0)]
    world.produce(1)
    assert acquired(member.fetch()) == [(10, 10, 1)]


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_records_of_transactions(world: World, level: str) -> None:
    world.setting("share.isolation.level", level)
    given: list[Any] = []

    def taken() -> bool:
        given.append(world.ask(InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=LONG), 4))
        return not given[-1].error_code

    world.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 6)
    world.node.turn_until(taken)
    producer = given[-1]
    sequence = 0
    for committed in (False, True):
        who = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
        topics = [AddPartitionsToTxnTopic(name="orders", partitions=[0])]
        world.ask(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="t",
                v3_and_below_producer_id=producer.producer_id,
                v3_and_below_producer_epoch=producer.producer_epoch,
                v3_and_below_topics=topics,
            ),
            3,
        )
        world.produce(3, "t", base_sequence=sequence, is_transactional=True, **who)
        sequence += 3
        world.ask(EndTxnRequest(transactional_id="t", committed=committed, **who), 3)
    member = Member(world, "m")
    # Markers stand at 3 and 7; who gets them says that there is no record.
    offsets: list[int] = []
    while 7 not in offsets:
        for first, last, _ in acquired(member.fetch(wait=LONG)):
            offsets += range(first, last + 1)
    aborted = set() if level == "read_uncommitted" else {0, 1, 2}
    assert offsets == [offset for offset in range(8) if offset not in aborted]
    assert codes(member.fetch((offsets[0], 3, [0]), (4, 6, [1]), (7, 7, [0]))) == [(0, 0)]
    assert world.stored()[1] == len(offsets)


def test_a_new_group_begins_where_it_is_set_to(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    try:
        for reset, begins in (("latest", 3), ("earliest", 0), ("by_duration:PT1H", 3)):
            row = initializes.PartitionData(partition=0, state_epoch=1, start_offset=-1)
            topics = [initializes.InitializeStateData(topic_id=world.topic_id, partitions=[row])]
            request = initializes.InitializeShareGroupStateRequest(group_id="g", topics=topics)
            world.node.settle(world.node.node.services.share_persister.initialize(request))
            if reset == "latest":
                world.produce(3)
            world.setting("share.auto.offset.reset", reset)
            member = Member(world, "m")
            found = acquired(member.fetch(wait=50))
            assert found == ([(0, 2, 1)] if begins == 0 else [])
            # Written down before anybody was given anything.
            assert world.stored()[0] == begins
            member.acknowledge(epoch=-1)
            shares = world.node.node.services.share_partitions
            world.node.turn_until(lambda shares=shares: not len(shares))  # type: ignore[misc]
    finally:
        world.node.close()


@pytest.mark.parametrize("error", [None, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)])
def test_what_was_not_written_down_at_once_is_asked_for(
    world: World, monkeypatch: pytest.MonkeyPatch, error: KafkaError | None
) -> None:
    persister = world.node.node.services.share_persister
    later: list[Deferred[None]] = []
    asked: list[Any] = []
    write = persister.write

    def write_here(*_: Any) -> Deferred[None]:
        later.append(Deferred())
        return later[-1]

    def counted(request: Any) -> Any:
        asked.append(request)
        return write(request)

    monkeypatch.setattr(persister, "write_here", write_here)
    monkeypatch.setattr(persister, "write", counted)
    world.produce(5)
    member = Member(world, "m")
    assert acquired(member.fetch()) == [(0, 4, 1)]
    member.begin_fetch((0, 4, [1]))
    world.node.turn()
    assert not member.has_answer
    before = world.stored()
    assert (asked, before[0]) == ([], 0)
    if error is None:
        later[0].resolve(None)
    else:
        later[0].fail(error)
    assert codes(member.fetched()) == [(0, 0)]
    assert (len(asked), world.stored()) == ((0, before) if error is None else (1, (0, 5)))
