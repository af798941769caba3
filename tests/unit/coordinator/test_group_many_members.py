"""Classic groups of very many members: whatever is done with each of them is done for some in a slice.

On the clock of these tests a slice is over after one step, so what is counted is how many were dealt with in one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from coordinator_world import NO_REPLICAS
from group_world import OFFSETS, GroupWorld

from moldau.coordinator.group.classic_group import PIECE, ClassicGroup, ClassicState
from moldau.coordinator.group.classic_rebalance import session_key
from moldau.coordinator.group.classic_records import group_from_record, group_record
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import ConsumerMember
from moldau.coordinator.group.consumer_protocol import encode_subscription, subscribed_topics
from moldau.coordinator.loading import Loading
from moldau.deferred import Deferred
from moldau.errors import ErrorCode
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.group_metadata_value import MemberMetadata
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.slicing import run_whole
from moldau.timeline import SnapshotRegistry

MEMBERS = 10 * PIECE
SESSION_MS = 10_000
REBALANCE_MS = 30_000


class Crowd:
    """A group whose members ask for the same at once; what they hear, and in which slice."""

    def __init__(self) -> None:
        self.world = GroupWorld(hurry=True)
        self.heard: dict[int, Any] = {}
        self.slices: Counter[int] = Counter()
        self.ids = [""] * MEMBERS
        self.leader = 0
        self.generation = 0

    @property
    def group(self) -> ClassicGroup:
        group = self.world.shard.groups.classic("g")
        assert group is not None
        return group

    def hear(self, number: int, answer: Deferred[Any]) -> None:
        def settled(value: Any, error: BaseException | None) -> None:
            self.heard[number] = value if error is None else error
            self.slices[self.world.slicer.slices] += 1

        answer.then(settled)

    def ask_all(self, ask: Callable[[int], None], numbers: Sequence[int] = range(MEMBERS)) -> None:
        self.heard.clear()
        self.slices.clear()
        for number in numbers:
            ask(number)

    def settle(self) -> set[ErrorCode]:
        """What all of them were told, if no more than a few of them in one slice."""
        self.world.time.settle()
        assert max(self.slices.values()) <= PIECE
        return {answer.error_code for answer in self.heard.values()}

    def join(self, number: int, instance: str | None = None) -> None:
        metadata = encode_subscription(ConsumerProtocolSubscription(topics=["t", f"t{number}"]), 1)
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.ids[number],
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        # Version 3 is not told an id first.
        version = 3 if instance is None else 9
        self.hear(number, self.world.groups.join_group(self.world.info(version), request))

    def sync(self, number: int) -> None:
        rows = [SyncGroupRequestAssignment(member_id=each, assignment=each.encode()) for each in self.ids]
        request = SyncGroupRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.ids[number],
            assignments=rows if number == self.leader else [],
        )
        self.hear(number, self.world.groups.sync_group(self.world.info(3), request))

    def beat(self, number: int) -> ErrorCode:
        request = HeartbeatRequest(group_id="g", generation_id=self.generation, member_id=self.ids[number])
        answers: list[Any] = []
        self.world.groups.heartbeat(self.world.info(3), request).then(lambda value, _: answers.append(value))
        self.world.time.settle()
        return ErrorCode(answers[0].error_code)

    def pass_time(self, numbers: Sequence[int]) -> None:
        """Until shortly before the rebalance timeout, and nobody's session is over."""
        for _ in range(4):
            for number in numbers:
                self.beat(number)
            self.world.time.advance(7000)

    def leave(self, numbers: Sequence[int]) -> None:
        members = [MemberIdentity(member_id=self.ids[number]) for number in numbers]
        request = LeaveGroupRequest(group_id="g", members=members)
        self.hear(-1, self.world.groups.leave_group(self.world.info(4), request))

    def begin(self) -> None:
        """Everybody has joined, nobody has asked for its part."""
        # The first generation is that of the first member, which waits for nobody; the second waits for it.
        self.ask_all(self.join, [0])
        self.world.time.settle()
        self.ids[0] = self.heard[0].member_id
        self.ask_all(self.join, [*range(1, MEMBERS), 0])
        assert self.settle() == {ErrorCode.NONE}
        self.note()

    def note(self) -> None:
        self.ids = [self.heard[number].member_id for number in range(MEMBERS)]
        (self.leader,) = (number for number in range(MEMBERS) if self.heard[number].members)
        self.generation = self.heard[0].generation_id

    def settle_down(self) -> None:
        """Everybody has its part."""
        self.ask_all(self.sync)
        assert self.settle() == {ErrorCode.NONE}


@pytest.fixture
def crowd() -> Crowd:
    crowd = Crowd()
    crowd.begin()
    return crowd


def test_a_generation_of_many_begins_in_slices(crowd: Crowd) -> None:
    assert len(crowd.heard) == MEMBERS
    assert {row.member_id for row in crowd.heard[crowd.leader].members} == set(crowd.ids)
    assert len({answer.generation_id for answer in crowd.heard.values()}) == 1
    assert crowd.group.is_in(ClassicState.COMPLETING_REBALANCE)
    assert crowd.group.subscribed_topics == {"t", *(f"t{number}" for number in range(MEMBERS))}
    # Who came before the last one was told waits for its turn, and is part of the next generation.
    assert crowd.beat(5) == ErrorCode.NONE


@pytest.mark.parametrize("leader_first", [True, False])
def test_each_of_many_gets_its_part_in_slices(crowd: Crowd, leader_first: bool) -> None:
    others = [number for number in range(MEMBERS) if number != crowd.leader]
    crowd.ask_all(crowd.sync, [crowd.leader, *others] if leader_first else [*others, crowd.leader])
    assert crowd.settle() == {ErrorCode.NONE}
    assert [crowd.heard[number].assignment.decode() for number in range(MEMBERS)] == crowd.ids
    assert crowd.group.is_in(ClassicState.STABLE)


def test_a_member_that_comes_while_the_parts_are_handed_out_begins_the_next_generation(crowd: Crowd) -> None:
    others = [number for number in range(MEMBERS) if number != crowd.leader]
    crowd.ask_all(crowd.sync, [*others, crowd.leader])
    while len(crowd.heard) < PIECE:
        crowd.world.time.turn()
    crowd.ids.append("")
    crowd.join(MEMBERS)
    assert MEMBERS not in crowd.heard
    assert crowd.settle() == {ErrorCode.NONE}
    assert len(crowd.heard) == MEMBERS, "all have their part, and the new one waits for them to join again"
    assert crowd.beat(0) == ErrorCode.REBALANCE_IN_PROGRESS
    assert crowd.group.is_in(ClassicState.PREPARING_REBALANCE)


def test_parts_that_cannot_be_stored_are_refused_in_slices(crowd: Crowd) -> None:
    crowd.world.log.refuse = NO_REPLICAS
    others = [number for number in range(MEMBERS) if number != crowd.leader]
    crowd.ask_all(crowd.sync, [*others, crowd.leader])
    assert crowd.settle() == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert len(crowd.heard) == MEMBERS
    assert crowd.group.is_in(ClassicState.PREPARING_REBALANCE)
    crowd.world.log.refuse = None
    crowd.ask_all(crowd.join)
    assert crowd.settle() == {ErrorCode.NONE}


def test_parts_whose_commit_comes_late_are_handed_out_in_slices(crowd: Crowd) -> None:
    crowd.world.log.automatic = False
    crowd.ask_all(crowd.sync)
    crowd.world.time.settle()
    assert crowd.heard == {}
    crowd.world.log.commit(OFFSETS)
    assert crowd.settle() == {ErrorCode.NONE}
    assert len(crowd.heard) == MEMBERS


def test_many_that_wait_for_their_parts_hear_of_the_next_generation_in_slices(crowd: Crowd) -> None:
    others = [number for number in range(MEMBERS) if number != crowd.leader]
    crowd.ask_all(crowd.sync, others)
    crowd.world.time.settle()
    assert crowd.heard == {}
    crowd.leave([crowd.leader])
    crowd.settle()
    assert crowd.heard.pop(-1).error_code == ErrorCode.NONE
    assert {answer.error_code for answer in crowd.heard.values()} == {ErrorCode.REBALANCE_IN_PROGRESS}
    assert len(crowd.heard) == MEMBERS - 1


def test_many_that_do_not_ask_for_their_parts_are_removed_in_slices(
    crowd: Crowd, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "moldau.coordinator.group")
    crowd.pass_time(range(MEMBERS))
    before = crowd.world.slicer.slices
    crowd.world.time.advance(2500)
    assert crowd.group.is_empty
    assert crowd.world.slicer.slices - before >= MEMBERS / PIECE
    assert max(len(record.getMessage()) for record in caplog.records) < 1000


def test_many_leave_in_one_request_in_slices(crowd: Crowd, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "moldau.coordinator.group")
    crowd.settle_down()
    before = crowd.world.slicer.slices
    gone = [number for number in range(MEMBERS) if number % 4]
    crowd.leave(gone)
    crowd.world.time.settle()
    assert crowd.world.slicer.slices - before >= len(gone) / PIECE
    assert [row.member_id for row in crowd.heard[-1].members] == [crowd.ids[number] for number in gone]
    assert {row.error_code for row in crowd.heard[-1].members} == {ErrorCode.NONE}
    assert len(crowd.group.members) == MEMBERS - len(gone)
    assert crowd.group.is_in(ClassicState.PREPARING_REBALANCE)
    assert max(len(record.getMessage()) for record in caplog.records) < 1000


def test_many_that_do_not_join_again_are_removed_in_slices(crowd: Crowd) -> None:
    crowd.settle_down()
    for number in range(MEMBERS):
        assert crowd.beat(number) == ErrorCode.NONE
    # The leader's second join begins a generation, and nobody follows.
    crowd.ask_all(crowd.join, [crowd.leader])
    crowd.pass_time([number for number in range(MEMBERS) if number != crowd.leader])
    before = crowd.world.slicer.slices
    crowd.world.time.advance(2500)
    assert crowd.world.slicer.slices - before >= (MEMBERS - 1) / PIECE
    assert list(crowd.group.members) == [crowd.ids[crowd.leader]]
    assert crowd.heard[crowd.leader].error_code == ErrorCode.NONE


def test_a_shard_that_goes_tells_many_in_slices(crowd: Crowd) -> None:
    others = [number for number in range(MEMBERS) if number != crowd.leader]
    crowd.ask_all(crowd.sync, others)
    crowd.world.groups.unload(0, crowd.world.epoch + 1)
    assert crowd.settle() == {ErrorCode.NOT_COORDINATOR}
    assert len(crowd.heard) == MEMBERS - 1


def test_a_shard_that_goes_while_a_generation_begins_tells_the_rest(crowd: Crowd) -> None:
    crowd.settle_down()
    crowd.ask_all(crowd.join)
    while len(crowd.heard) < 3 * PIECE:
        crowd.world.time.turn()
    crowd.world.groups.unload(0, crowd.world.epoch + 1)
    assert crowd.settle() == {ErrorCode.NONE, ErrorCode.NOT_COORDINATOR}
    assert len(crowd.heard) == MEMBERS


def test_a_shard_that_goes_while_parts_are_handed_out_tells_the_rest(crowd: Crowd) -> None:
    others = [number for number in range(MEMBERS) if number != crowd.leader]
    crowd.ask_all(crowd.sync, [*others, crowd.leader])
    while len(crowd.heard) < 3 * PIECE:
        crowd.world.time.turn()
    crowd.world.groups.unload(0, crowd.world.epoch + 1)
    assert crowd.settle() == {ErrorCode.NONE, ErrorCode.NOT_COORDINATOR}
    assert len(crowd.heard) == MEMBERS


def test_a_group_of_many_is_loaded_in_slices_and_watched_again(crowd: Crowd) -> None:
    crowd.settle_down()
    before = crowd.world.slicer.slices
    crowd.world.reload()
    assert crowd.world.slicer.slices - before > MEMBERS / PIECE, "their sessions begin anew in slices"
    assert [member.assignment.decode() for member in crowd.group.members.values()] == list(crowd.group.members)
    crowd.world.time.advance(SESSION_MS - 1)
    assert len(crowd.group.members) == MEMBERS
    crowd.world.time.advance(1)
    assert crowd.group.is_empty


def test_the_record_of_a_group_of_many_is_read_in_slices(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd.settle_down()
    read: Counter[int] = Counter()
    turns = 0
    turn, read_all = Loading._turn, MemberMetadata.read_all

    def count_turn(loading: Loading) -> None:
        nonlocal turns
        turns += 1
        turn(loading)

    def count_members(data: bytes, pos: int, version: int, count: int) -> tuple[list[MemberMetadata], int]:
        read[turns] += count
        return read_all(data, pos, version, count)

    monkeypatch.setattr(Loading, "_turn", count_turn)
    monkeypatch.setattr("moldau.coordinator.loading._TURN", 0.0)
    monkeypatch.setattr(MemberMetadata, "read_all", staticmethod(count_members))
    crowd.world.reload()
    assert list(crowd.group.members) == crowd.ids
    assert sum(read.values()) == MEMBERS
    assert max(read.values()) <= 2 * PIECE


def test_a_group_of_many_is_described_in_slices_while_it_changes(crowd: Crowd) -> None:
    crowd.settle_down()
    assert sum(1 for _ in crowd.world.groups.describe_group("g", 5)) > MEMBERS / 256
    work = crowd.world.groups.describe_group("g", 5)
    next(work)
    # One that is still to be described joins again without the protocol it was given its part for.
    last = list(crowd.group.members.values())[-1]
    crowd.group.update(last, [], REBALANCE_MS, SESSION_MS, None)
    described = run_whole(work)
    assert [row.member_id for row in described.members] == crowd.ids
    assert described.members[-1].member_metadata == b""


def test_each_walk_over_many_members_pauses(crowd: Crowd) -> None:
    group = crowd.group
    record = run_whole(group_record(group, {}))
    works = [
        group.select_protocol(),
        group.note_subscriptions("range"),
        group.roster(crowd.ids[crowd.leader]),
        group.next_generation(1),
        group_record(group, {}),
        group_from_record("g", record.value),  # type: ignore[arg-type]
        group.answer_all(ErrorCode.NOT_COORDINATOR),
        crowd.world.shard._rebalance.restart_sessions(group),
    ]
    group.state = ClassicState.PREPARING_REBALANCE
    for work in works:
        assert sum(1 for _ in work) >= MEMBERS / PIECE, work.__qualname__
    # Its members, and what they subscribe to.
    assert sum(1 for _ in group_from_record("g", record.value)) >= 2 * MEMBERS / PIECE  # type: ignore[arg-type]


def test_sessions_of_many_consumers_begin_anew_in_slices() -> None:
    world = GroupWorld()
    group = ConsumerGroup("g", SnapshotRegistry())
    for number in range(1000):
        run_whole(group.put_member(ConsumerMember(f"m{number}")))
    work = world.shard._sessions.restart(group)
    next(work)
    run_whole(group.remove_member("m999"))
    assert sum(1 for _ in work) > 3
    timers = world.shard._timers
    assert timers.is_scheduled(session_key("g", "m998"))
    assert not timers.is_scheduled(session_key("g", "m999")), "it has left meanwhile"


def test_a_subscription_to_very_many_topics_is_read_in_slices() -> None:
    topics = [f"t{number}" for number in range(10_000)]
    data = encode_subscription(ConsumerProtocolSubscription(topics=topics), 1)
    assert sum(1 for _ in subscribed_topics(data)) > len(topics) / 300
    assert run_whole(subscribed_topics(data)) == topics


def test_protocols_nobody_supports_any_more_are_forgotten() -> None:
    crowd = Crowd()
    crowd.begin()
    group = crowd.group
    for member in list(group.members.values()):
        group.remove(member.member_id)
    assert not group._support


def test_a_static_leader_of_many_comes_back_in_slices() -> None:
    crowd = Crowd()
    crowd.ask_all(lambda number: crowd.join(number, "one"), [0])
    crowd.world.time.settle()
    crowd.ids[0] = crowd.heard[0].member_id
    crowd.ask_all(lambda number: crowd.join(number, None if number else "one"), [*range(1, MEMBERS), 0])
    assert crowd.settle() == {ErrorCode.NONE}
    crowd.note()
    crowd.settle_down()
    old = crowd.ids[0]
    assert crowd.leader == 0
    crowd.ids[0] = ""
    before = crowd.world.slicer.slices
    crowd.ask_all(lambda number: crowd.join(number, "one"), [0])
    crowd.world.time.settle()
    # The vote, the record and the roster.
    assert crowd.world.slicer.slices - before > 3 * MEMBERS / PIECE
    answer = crowd.heard[0]
    assert (answer.error_code, answer.skip_assignment, len(answer.members)) == (ErrorCode.NONE, True, MEMBERS)
    assert answer.member_id != old
    assert old not in crowd.group.members
