"""What `moldau explain group` says, from what can be seen."""

from __future__ import annotations

from dataclasses import replace

from moldau.client.admin.groups import GroupDescription, MemberDescription
from moldau.diagnosis.groups import diagnose
from moldau.diagnosis.positions import Position
from moldau.types import TopicPartition

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


def member(name: str, epoch: int, has: set[TopicPartition], wants: set[TopicPartition]) -> MemberDescription:
    return MemberDescription(name, None, "client", "/127.0.0.9", epoch, ("t",), frozenset(has), frozenset(wants), True)


def group(state: str, *members: MemberDescription, kind: str = "consumer", epoch: int = 2) -> GroupDescription:
    return GroupDescription("g", kind, state, 1, "consumer", "uniform", members, epoch, epoch)


def said(description: GroupDescription, before: list[Position], after: list[Position] | None = None) -> str:
    findings = diagnose(description, before, before if after is None else after, 1.0)
    return "\n".join(f"{finding.fact} {finding.advice or ''}" for finding in findings)


def position(where: TopicPartition, committed: int | None, end: int | None, **fields: object) -> Position:
    return Position(where, committed, fields.pop("start", 0), end, None, **fields)  # type: ignore[arg-type]


def test_who_holds_what_another_waits_for() -> None:
    holder = member("A", 1, {ZERO, ONE}, {ZERO})
    waiting = member("B", 2, set(), {ONE})
    assert "B waits for t-1, held by A at epoch 1." in said(group("Reconciling", holder, waiting), [])


def test_a_partition_that_was_to_be_given_up_and_is_not_yet() -> None:
    holder = member("A", 1, {ZERO}, {ZERO})
    waiting = member("B", 2, set(), {ONE})
    text = said(group("Reconciling", holder, waiting), [])
    assert "B is still to get t-1. They are free once A (127.0.0.9) said that it gave them up" in text


def test_whether_it_keeps_up() -> None:
    stable = group("Stable", member("A", 2, {ZERO}, {ZERO}))
    now = [position(ZERO, 100, 1100)]
    assert "In 1 s it committed 0 and 0 were written." in said(stable, now)
    assert "catches up in about 9 s" in said(stable, now, [position(ZERO, 200, 1100)])
    assert "It falls further behind." in said(stable, now, [position(ZERO, 110, 1200)])
    assert "It has read everything there is." in said(stable, [position(ZERO, 5, 5)])


def test_positions_that_lead_nowhere() -> None:
    empty = group("Empty")
    assert "10 records were deleted before they were read" in said(empty, [position(ZERO, 5, 50, start=15)])
    assert "beyond the end of the log (3)" in said(empty, [position(ZERO, 5, 3)])
    assert "t-0: no longer there" in said(empty, [position(ZERO, 5, None)])
    assert "Nothing is committed for t-0" in said(empty, [position(ZERO, None, 3)])
    assert "An open transaction has committed offsets for t-0" in said(empty, [position(ZERO, None, 3, pending=True)])


def test_more_members_than_partitions() -> None:
    stable = group("Stable", member("A", 2, {ZERO}, {ZERO}), member("B", 2, set(), set()))
    assert "1 member of 2 have nothing to do: B (127.0.0.9)" in said(stable, [position(ZERO, 5, 5)])


def test_every_state_says_what_it_waits_for() -> None:
    assert "waits for a member" in said(group("Empty"), [])
    assert "until its 1 member have joined again" in said(
        group("PreparingRebalance", member("A", -1, set(), set()), kind="classic"), []
    )
    assert "wait for the assignment of their leader" in said(group("CompletingRebalance", kind="classic"), [])
    assert "the next heartbeat of a member makes a new assignment" in said(group("Assigning"), [])


def test_an_application_of_kafka_streams() -> None:
    assert "Start one with application.id=g" in said(group("Empty", kind="streams"), [])
    idle = member("A", 2, set(), set())
    not_ready = replace(group("NotReady", idle, kind="streams"), missing_topics=("lines", "store"))
    assert "Nothing runs, since topics of the application are missing: lines, store." in said(not_ready, [])
    assert "do not have the numbers of partitions" in said(replace(not_ready, missing_topics=()), [])
    holder, waiting = member("A", 1, {ZERO, ONE}, {ZERO}), member("B", 2, set(), {ONE})
    assert "B waits for t-1, held by A at epoch 1." in said(group("Reconciling", holder, waiting, kind="streams"), [])
    runs, keeps = member("A", 2, {ZERO}, {ZERO}), replace(idle, member_id="B", copies=("1_0",))
    assert "nothing to do" not in said(group("Stable", runs, keeps, kind="streams"), [position(ZERO, 5, 5)])
    more = said(group("Stable", runs, idle, kind="streams"), [position(ZERO, 5, 5)])
    assert "There are more members than tasks." in more
