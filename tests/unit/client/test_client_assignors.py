"""Who reads what: everything once, as equally as wanted, moving as little as possible."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as some

from moldau.client.consumer.assignors import (
    ASSIGNORS,
    CooperativeStickyAssignor,
    Member,
    PartitionAssignor,
    RangePartitionAssignor,
    RoundRobinPartitionAssignor,
    Shares,
    StickyPartitionAssignor,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from moldau.types import TopicPartition

TOPICS = ["elbe", "moldau", "oder"]
COUNTS = some.dictionaries(some.sampled_from(TOPICS), some.integers(1, 9), min_size=1)
GROUPS = some.lists(some.lists(some.sampled_from(TOPICS), min_size=1, unique=True), min_size=1, max_size=5)


def group(subscriptions: list[list[str]]) -> dict[str, Member]:
    return {f"member-{number}": Member(topics) for number, topics in enumerate(subscriptions)}


def check(shares: Shares, counts: Mapping[str, int], members: Mapping[str, Member]) -> None:
    dealt = [where for share in shares.values() for where in share]
    wanted = {topic for member in members.values() for topic in member.topics}
    expected = {TopicPartition(topic, number) for topic in counts if topic in wanted for number in range(counts[topic])}
    assert len(dealt) == len(set(dealt)), "nothing twice"
    assert set(dealt) == expected, "everything once"
    for member, share in shares.items():
        assert {where.topic for where in share} <= set(members[member].topics), "only what was asked for"


@pytest.mark.parametrize("name", list(ASSIGNORS))
@given(counts=COUNTS, subscriptions=GROUPS)
def test_everything_once_and_only_to_those_who_want_it(
    name: str, counts: dict[str, int], subscriptions: list[list[str]]
) -> None:
    members = group(subscriptions)
    check(ASSIGNORS[name]().assign(counts, members), counts, members)


def test_range_and_round_robin_as_kafka_deals_them() -> None:
    members = group([["elbe", "moldau"], ["elbe", "moldau"]])
    counts = {"elbe": 3, "moldau": 3}
    ranged = RangePartitionAssignor().assign(counts, members)
    assert [str(where) for where in ranged["member-0"]] == ["elbe-0", "elbe-1", "moldau-0", "moldau-1"]
    dealt = RoundRobinPartitionAssignor().assign(counts, members)
    assert [str(where) for where in dealt["member-0"]] == ["elbe-0", "elbe-2", "moldau-1"]


@given(some.integers(1, 12), some.integers(1, 5), some.integers(1, 5))
def test_sticky_is_level_and_moves_no_more_than_it_must(partitions: int, before: int, after: int) -> None:
    counts = {"moldau": partitions}
    assignor = StickyPartitionAssignor()
    old = assignor.assign(counts, group([["moldau"]] * before))
    members = group([["moldau"]] * after)
    for name, member in members.items():
        member.user_data = assignor.user_data(old.get(name, []), 1) or b""
    new = assignor.assign(counts, members)
    check(new, counts, members)
    sizes = [len(share) for share in new.values()]
    assert max(sizes) - min(sizes) <= 1
    if after >= before:
        # Only those who have too much give something up, and only to newcomers.
        for name in old:
            assert set(new[name]) <= set(old[name])


def test_cooperative_takes_nothing_from_who_still_reads_it() -> None:
    counts = {"moldau": 4}
    everything = [TopicPartition("moldau", number) for number in range(4)]
    members = {"old": Member(["moldau"], everything, 3), "new": Member(["moldau"])}
    shares = CooperativeStickyAssignor().assign(counts, members)
    assert len(shares["old"]) == 2
    assert shares["new"] == []
    members["old"].owned = shares["old"]
    again = CooperativeStickyAssignor().assign(counts, members)
    assert again["old"] == shares["old"]
    assert sorted([*again["old"], *again["new"]]) == everything


@pytest.mark.parametrize("name", list(ASSIGNORS))
def test_what_members_say_survives_the_wire(name: str) -> None:
    assignor = ASSIGNORS[name]()
    owned = [TopicPartition("elbe", 2), TopicPartition("moldau", 0)]
    read = decode_subscription(encode_subscription(assignor, Member(["moldau", "elbe"], owned, 4)), "one")
    assert (list(read.topics), read.generation, read.instance_id) == (["elbe", "moldau"], 4, "one")
    assert list(read.owned) == (owned if assignor.cooperative else [])
    assert decode_assignment(encode_assignment(owned)) == owned
    assert decode_assignment(b"") == []


def test_another_clients_user_data_is_no_reason_to_fail() -> None:
    members = {"a": Member(["moldau"], user_data=b"\x00\x00\x00\x09nonsense"), "b": Member(["moldau"])}
    check(StickyPartitionAssignor().assign({"moldau": 3}, members), {"moldau": 3}, members)


class Unsearchable(list[str]):
    """A pattern may match ten thousand topics: to look for each of them in a list took seconds."""

    def __contains__(self, name: object) -> bool:
        raise AssertionError("looked for in a list")


@pytest.mark.parametrize("kind", ASSIGNORS.values(), ids=ASSIGNORS)
def test_topics_are_not_looked_for_one_by_one(kind: type[PartitionAssignor]) -> None:
    shares = kind().assign({"a": 1, "b": 1}, {"m": Member(Unsearchable(["a", "b"]))})
    assert sorted(shares["m"]) == [("a", 0), ("b", 0)]
