"""When a committed offset is no longer needed: from when on its retention counts, and what keeps it all the same."""

from __future__ import annotations

from typing import Any

import pytest
from group_world import GroupWorld

from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.consumer_group import ConsumerGroup, ResolvedPattern
from moldau.coordinator.group.consumer_member import ConsumerMember
from moldau.coordinator.group.offset_store import CommittedOffset
from moldau.protocol.messages.offset_commit_key import OffsetCommitKey
from moldau.slicing import run_whole
from moldau.timeline import SnapshotRegistry
from moldau.types import TopicPartition

RETENTION = 1000
COMMITTED = 5000
EMPTIED = 7000
PRODUCER = 9


class Expiry:
    """The offsets of one group `g`, and what is found among them at a time."""

    def __init__(self, group: Any, *offsets: CommittedOffset | tuple[str, CommittedOffset]) -> None:
        self.world = GroupWorld()
        self.group = group
        for index, offset in enumerate(offsets):
            topic, committed = offset if isinstance(offset[0], str) else ("t", offset)
            self.world.shard.offsets.put("g", TopicPartition(topic, index), committed)  # type: ignore[arg-type]

    def at(self, now_ms: int) -> tuple[list[tuple[str, int]], bool]:
        """What gets a tombstone, and whether nothing is left that must be kept."""
        found: list[tuple[str, int]] = []
        work = self.world.shard.commits.expired(self.group, now_ms, RETENTION)
        while True:
            try:
                record = next(work)
            except StopIteration as done:
                return found, done.value
            if record is not None:
                assert record.value is None
                assert isinstance(record.key, OffsetCommitKey)
                assert record.key.group == "g"
                found.append((record.key.topic, record.key.partition))


def committed_at(timestamp: int, expires: int | None = None) -> CommittedOffset:
    return CommittedOffset(1, 0, "", timestamp, expires)


def classic(
    state: ClassicState = ClassicState.EMPTY,
    kind: str | None = "consumer",
    since: int | None = EMPTIED,
    topics: frozenset[str] | None = frozenset(),
) -> ClassicGroup:
    group = ClassicGroup("g", state)
    group.protocol_type, group.state_timestamp, group.subscribed_topics = kind, since, topics
    return group


def consumer(*topics: str, pattern: str | None = None) -> ConsumerGroup:
    group = ConsumerGroup("g", SnapshotRegistry())
    if topics or pattern is not None:
        run_whole(group.put_member(ConsumerMember("a", topics=topics, pattern=pattern)))
    if pattern is not None:
        group.put_pattern(pattern, ResolvedPattern(frozenset({"t"}), 1, 1))
    return group


NEVER = None

GROUPS = {
    # A group that nobody ever joined, and one of the consumer protocol: from the commit on.
    "simple": (classic(kind=None, topics=None), COMMITTED),
    "simple, with a time": (classic(kind=None, since=EMPTIED), COMMITTED),
    "consumer protocol": (consumer(), COMMITTED),
    "consumer protocol, other topic": (consumer("other"), COMMITTED),
    # An empty one keeps everything until the retention after its last member left has passed.
    "empty": (classic(), EMPTIED),
    "empty, left before the commit": (classic(since=3000), 3000),
    "empty, not consumers": (classic(kind="connect", topics=None), EMPTIED),
    "empty, records too old to say since when": (classic(since=None), COMMITTED),
    # With members only what is known not to be subscribed to, and only while nothing moves.
    "stable, other topic": (classic(ClassicState.STABLE, topics=frozenset({"other"})), COMMITTED),
    "stable, this topic": (classic(ClassicState.STABLE, topics=frozenset({"t"})), NEVER),
    "stable, unknown topics": (classic(ClassicState.STABLE, topics=None), NEVER),
    "stable, not consumers": (classic(ClassicState.STABLE, kind="connect", topics=None), NEVER),
    "stable, not consumers, topics": (classic(ClassicState.STABLE, kind="connect"), NEVER),
    "preparing": (classic(ClassicState.PREPARING_REBALANCE, topics=frozenset({"other"})), NEVER),
    "completing": (classic(ClassicState.COMPLETING_REBALANCE, topics=frozenset({"other"})), NEVER),
    "dead": (classic(ClassicState.DEAD), NEVER),
    "empty, this topic": (classic(topics=frozenset({"t"})), NEVER),
    "consumer protocol, this topic": (consumer("other", "t"), NEVER),
    "consumer protocol, this topic by pattern": (consumer(pattern="t+"), NEVER),
}


@pytest.mark.parametrize("name", GROUPS)
def test_from_when_on_the_retention_counts(name: str) -> None:
    group, since = GROUPS[name]
    expiry = Expiry(group, committed_at(COMMITTED))
    if since is NEVER:
        assert expiry.at(10**12) == ([], False)
    else:
        assert expiry.at(since + RETENTION - 1) == ([], False)
        assert expiry.at(since + RETENTION) == ([("t", 0)], True)


@pytest.mark.parametrize("name", [name for name, (_, since) in GROUPS.items() if since is not NEVER])
def test_a_time_that_an_old_client_asked_for_counts_alone(name: str) -> None:
    group, _ = GROUPS[name]
    for moment in (100, 10**9):
        expiry = Expiry(group, committed_at(COMMITTED, expires=moment))
        assert expiry.at(moment - 1) == ([], False)
        assert expiry.at(moment) == ([("t", 0)], True)


def test_a_time_that_an_old_client_asked_for_does_not_count_in_a_group_that_moves() -> None:
    group, _ = GROUPS["preparing"]
    assert Expiry(group, committed_at(COMMITTED, expires=1)).at(10**9) == ([], False)


@pytest.mark.parametrize("kept_first", [True, False])
def test_each_offset_for_itself(kept_first: bool) -> None:
    old, young = committed_at(COMMITTED), committed_at(COMMITTED + 1)
    offsets = (young, old) if kept_first else (old, young)
    expiry = Expiry(classic(kind=None), *offsets)
    assert expiry.at(COMMITTED + RETENTION) == ([("t", 1 if kept_first else 0)], False)
    assert expiry.at(COMMITTED + RETENTION + 1) == ([("t", 0), ("t", 1)], True)


@pytest.mark.parametrize("group", [consumer("t"), classic(ClassicState.STABLE, topics=frozenset({"t"}))])
def test_of_two_topics_the_one_that_is_subscribed_to_stays(group: Any) -> None:
    expiry = Expiry(group, ("t", committed_at(COMMITTED)), ("u", committed_at(COMMITTED)))
    assert expiry.at(10**12) == ([("u", 1)], False)


def test_what_an_open_transaction_has_committed_as_well_stays_until_it_ends() -> None:
    expiry = Expiry(classic(kind=None), committed_at(COMMITTED), committed_at(COMMITTED))
    offsets = expiry.world.shard.offsets
    offsets.put_pending(PRODUCER, "g", TopicPartition("t", 0), committed_at(COMMITTED))
    assert expiry.at(10**12) == ([("t", 1)], False)
    run_whole(offsets.end_transaction(PRODUCER, committed=False))
    assert expiry.at(10**12) == ([("t", 0), ("t", 1)], True)


def test_a_group_with_an_open_transaction_is_not_done_with() -> None:
    expiry = Expiry(classic(kind=None))
    assert expiry.at(1) == ([], True), "there is nothing at all"
    offsets = expiry.world.shard.offsets
    offsets.put_pending(PRODUCER, "g", TopicPartition("t", 0), committed_at(COMMITTED))
    assert expiry.at(10**12) == ([], False)
    other = Expiry(classic(kind=None), committed_at(COMMITTED))
    other.world.shard.offsets.put_pending(PRODUCER, "g", TopicPartition("u", 0), committed_at(COMMITTED))
    assert other.at(10**12) == ([("t", 0)], False), "its pending offset is of another partition"


def test_a_transaction_of_another_group_keeps_nothing() -> None:
    expiry = Expiry(classic(kind=None), committed_at(COMMITTED))
    expiry.world.shard.offsets.put_pending(PRODUCER, "h", TopicPartition("t", 0), committed_at(COMMITTED))
    assert expiry.at(10**12) == ([("t", 0)], True)


# ------------------------------------------------------------------------------------------------ and the group


@pytest.mark.parametrize(
    ("group", "goes"),
    [
        (classic(kind=None), True),
        (classic(), True),
        (classic(ClassicState.STABLE), False),
        (consumer(), True),
        (consumer("other"), False),
    ],
    ids=["simple", "empty", "stable", "consumer protocol", "consumer protocol with a member"],
)
@pytest.mark.parametrize("offsets", [0, 1])
def test_a_group_goes_with_its_last_offset_if_nobody_is_in_it(group: Any, goes: bool, offsets: int) -> None:
    world = GroupWorld()
    shard = world.shard
    shard.groups.put(group)
    for index in range(offsets):
        shard.offsets.put("g", TopicPartition("t", index), committed_at(COMMITTED))
    world.time.advance(world.config.offsets_retention_minutes * 60_000 + EMPTIED)
    assert len(shard.offsets) == 0
    assert ("g" not in shard.groups) is goes


def test_a_group_that_somebody_is_about_to_join_stays() -> None:
    world = GroupWorld()
    group = classic()
    group.pending_join.add("a")
    world.shard.groups.put(group)
    interval = world.config.offsets_retention_check_interval_ms
    world.time.advance(interval)
    assert "g" in world.shard.groups
    group.pending_join.clear()
    world.time.advance(interval)
    assert "g" not in world.shard.groups
