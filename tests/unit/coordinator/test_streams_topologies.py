"""Topologies far larger than any application's: what they come to is found in time, or they are not taken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from moldau.coordinator.group.streams_topics import MOST_TASKS, Status, configure
from moldau.coordinator.group.streams_topology import (
    MOST_PARTS,
    InternalTopic,
    Subtopology,
    check_size,
    topology,
)
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import streams_group_heartbeat as messages
from moldau.slicing import run_whole

IMAGE: Any = SimpleNamespace(
    topics={"source": SimpleNamespace(partitions=range(7)), "r-known": SimpleNamespace(partitions=range(5))}
)


def chain(length: int) -> list[Subtopology]:
    """Each reads what the one before it writes; in an order in which each comes before the one it waits for."""
    ids = [f"{length - place:05d}" for place in range(length)]
    return [
        Subtopology(
            id,
            source_topics=() if place else ("source",),
            repartition_sources=(InternalTopic(f"r-{place}"),) if place else (),
            repartition_sinks=(f"r-{place + 1}",),
        )
        for place, id in enumerate(ids)
    ]


def steps(subtopologies: list[Subtopology]) -> int:
    return sum(1 for _ in configure(topology(0, subtopologies), IMAGE))


def test_a_long_way_is_as_long_as_it_is():
    """Not as long as its square: that would keep the coordinator's partition busy for minutes."""
    configured = run_whole(configure(topology(0, chain(40)), IMAGE))
    assert set(configured.tasks.values()) == {7}
    assert configured.problem is not None
    assert configured.problem.status is Status.MISSING_INTERNAL_TOPICS
    assert steps(chain(800)) < 3 * steps(chain(400))


def test_what_two_write_is_decided_when_both_are():
    """As large as the larger one, and what comes after it waits for it."""
    ways = [
        Subtopology("a", source_topics=("source",), repartition_sinks=("r-both", "r-first")),
        Subtopology("b", repartition_sources=(InternalTopic("r-first"),), repartition_sinks=("r-both", "r-both")),
        Subtopology("c", repartition_sources=(InternalTopic("r-both"), InternalTopic("r-set", 9))),
        Subtopology("d", repartition_sources=(InternalTopic("r-set", 9),), repartition_sinks=("r-both",)),
    ]
    configured = run_whole(configure(topology(0, ways), IMAGE))
    assert configured.partitions == {"r-both": 9, "r-first": 7, "r-set": 9}
    assert configured.tasks == {"a": 7, "b": 7, "c": 9, "d": 9}


def test_a_circle_is_told_with_all_that_waits_for_it():
    ways = [
        Subtopology(
            "a", source_topics=("source",), repartition_sources=(InternalTopic("x"),), repartition_sinks=("y",)
        ),
        Subtopology("b", repartition_sources=(InternalTopic("y"),), repartition_sinks=("x", "z")),
        Subtopology("c", repartition_sources=(InternalTopic("z"),)),
    ]
    with pytest.raises(KafkaError, match=r"Nothing decides how many partitions these topics have: x, y, z\."):
        run_whole(configure(topology(0, ways), IMAGE))


def test_a_topic_that_nobody_writes_is_as_large_as_it_is():
    known = [Subtopology("a", source_topics=("source",), repartition_sources=(InternalTopic("r-known"),))]
    assert run_whole(configure(topology(0, known), IMAGE)).partitions == {"r-known": 5}
    unknown = [Subtopology("a", source_topics=("source",), repartition_sources=(InternalTopic("r-new"),))]
    with pytest.raises(KafkaError, match="r-new"):
        run_whole(configure(topology(0, unknown), IMAGE))


def given(**fields: Any) -> messages.Topology:
    return messages.Topology(epoch=0, subtopologies=[messages.Subtopology(subtopology_id="0", **fields)])


def topics(count: int, settings: int = 0) -> list[messages.TopicInfo]:
    rows = [messages.KeyValue(key="k", value="v")] * settings
    return [messages.TopicInfo(name="t", topic_configs=rows)] * count


@pytest.mark.parametrize(
    "fields",
    [
        {"source_topics": ["t"] * (MOST_PARTS - 1)},
        {"source_topic_regex": ["t"] * (MOST_PARTS - 1)},
        {"repartition_sink_topics": ["t"] * (MOST_PARTS - 1)},
        {"state_changelog_topics": topics(MOST_PARTS - 1)},
        {"repartition_source_topics": topics(1, MOST_PARTS - 2)},
        {"copartition_groups": [messages.CopartitionGroup(source_topics=[0] * (MOST_PARTS - 2))]},
        {"copartition_groups": [messages.CopartitionGroup(source_topic_regex=[0] * (MOST_PARTS - 2))]},
        {"copartition_groups": [messages.CopartitionGroup(repartition_source_topics=[0] * (MOST_PARTS - 2))]},
        {"copartition_groups": [messages.CopartitionGroup()] * (MOST_PARTS - 1)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_every_part_of_a_topology_counts(fields):
    check_size(given(**fields))
    one_more = given(**fields)
    one_more.subtopologies.append(messages.Subtopology(subtopology_id="1"))
    with pytest.raises(KafkaError, match="A topology of 10001 parts is not taken") as refused:
        check_size(one_more)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("count", "taken"), [(20, True), (21, False)])
def test_more_tasks_than_can_be_assigned_are_refused(count: int, taken: bool) -> None:
    """The topology itself is small: what it comes to depends on its topics."""
    image: Any = SimpleNamespace(topics={"wide": SimpleNamespace(partitions=range(MOST_TASKS // 20))})
    small = topology(0, [Subtopology(f"{number:02d}", source_topics=("wide",)) for number in range(count)])
    if taken:
        assert sum(run_whole(configure(small, image)).tasks.values()) == MOST_TASKS
        return
    with pytest.raises(KafkaError) as refused:
        run_whole(configure(small, image))
    assert refused.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY
