"""What `moldau explain share-group` says of what it sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moldau.client.admin.groups import GroupDescription, MemberDescription
from moldau.diagnosis.share_groups import ShareGroupPosition, Tried, diagnose
from moldau.types import TopicPartition

RIVER, LAKE = TopicPartition("rivers", 0), TopicPartition("lakes", 0)


def member(name: str, *assigned: TopicPartition) -> MemberDescription:
    share = frozenset(assigned)
    return MemberDescription(name, None, "client", "/127.0.0.1", 3, ("rivers",), share, share)


def group(*members: MemberDescription) -> GroupDescription:
    state = "Stable" if members else "Empty"
    return GroupDescription("packers", "share", state, 1, "share", "simple", members, 3, 3)


def at(where: TopicPartition, start: int | None, end: int | None, lag: int | None, members: int) -> ShareGroupPosition:
    return ShareGroupPosition(where, start, end, lag, members)


def facts(
    described: GroupDescription,
    before: Sequence[ShareGroupPosition],
    after: Sequence[ShareGroupPosition],
    tried: Mapping[TopicPartition, Sequence[Tried]] | None = None,
) -> str:
    found = diagnose(described, before, after, {} if tried is None else tried, 5, 30.0, 1.0)
    return "\n".join(f"{each.fact} {each.advice or ''}" for each in found)


def test_nobody_is_there() -> None:
    rows = [at(RIVER, 3, 10, 7, 0)]
    said = facts(group(), rows, rows)
    assert "Nobody is in the group" in said
    assert "7 records are left to deliver, most of all in rivers-0 (7)." in said


def test_members_hold_what_is_left() -> None:
    rows = [at(RIVER, 3, 10, 7, 1)]
    assert "locked for up to 30 s" in facts(group(member("a", RIVER)), rows, rows)


def test_it_gets_on_or_falls_behind() -> None:
    before = [at(RIVER, 0, 10, 10, 1)]
    assert "6 were done with and 2 were written" in facts(group(member("a", RIVER)), before, [at(RIVER, 6, 12, 6, 1)])
    assert "falls further behind" in facts(group(member("a", RIVER)), before, [at(RIVER, 1, 30, 29, 1)])


def test_partitions_nobody_reads_from_and_members_without_any() -> None:
    rows = [at(RIVER, 3, 10, 7, 1), at(LAKE, 0, 5, 5, 0)]
    said = facts(group(member("a", RIVER), member("b")), rows, rows)
    assert "Nothing to read from have b." in said
    assert "Nobody reads from lakes-0, where records are left." in said


def test_what_has_not_begun_and_what_is_gone() -> None:
    rows = [at(RIVER, None, 10, None, 1), at(LAKE, 4, None, None, 0)]
    said = facts(group(member("a", RIVER)), rows, rows)
    assert "It has not begun in rivers-0." in said
    assert "lakes-0: no longer there" in said


def test_deliveries_in_vain_and_the_last_attempt() -> None:
    rows = [at(RIVER, 3, 10, 0, 1)]
    tried = {RIVER: [Tried(3, 4, 2)], LAKE: [Tried(7, 7, 4), Tried(8, 9, 1)]}
    said = facts(group(member("a", RIVER)), rows, rows, tried)
    assert "In rivers-0 2 records were delivered in vain, up to 2 times." in said
    assert "In lakes-0 one attempt is left for 1 record, from offset 7 on: 5 are allowed." in said
    assert "There is nothing left to deliver." in said


def test_what_cannot_be_seen_is_said() -> None:
    found = diagnose(group(member("a", RIVER)), [], [], None, 5, 30.0, 1.0)
    assert "__share_group_state is not readable" in found[-1].fact
