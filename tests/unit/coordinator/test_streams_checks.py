"""What a heartbeat of a streams group is refused for, one check at a time: the transcripts pass by most of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from moldau.coordinator.group.consumer_member import MemberState
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_member import NO_TASKS, StreamsMember, Tasks
from moldau.coordinator.group.streams_requests import check, check_epoch, check_owned, owned_tasks
from moldau.coordinator.group.streams_topics import Status, configure
from moldau.coordinator.group.streams_topology import (
    CopartitionGroup,
    InternalTopic,
    Subtopology,
    check_topology,
    topology,
)
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import streams_group_heartbeat as messages
from moldau.slicing import run_whole
from moldau.timeline import SnapshotRegistry

TASKS = [messages.RequestTaskIds(subtopology_id="0", partitions=[1])]
TOPOLOGY = messages.Topology(epoch=0, subtopologies=[messages.Subtopology(subtopology_id="0", source_topics=["t"])])
PATTERN = messages.Topology(
    epoch=0, subtopologies=[messages.Subtopology(subtopology_id="0", source_topics=["t"], source_topic_regex=["a"])]
)
JOINING: dict[str, Any] = {
    "group_id": "g",
    "member_id": "m",
    "rebalance_timeout_ms": 1000,
    "topology": TOPOLOGY,
    "active_tasks": [],
    "standby_tasks": [],
    "warmup_tasks": [],
}
STAYING: dict[str, Any] = {"group_id": "g", "member_id": "m", "member_epoch": 3}
OFFSETS = [messages.TaskOffset(subtopology_id="0", partition=0, offset=1)]


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        *((JOINING, {name: value}) for name in ("member_id", "group_id", "rack_id") for value in ("", " ")),
        (JOINING, {"rebalance_timeout_ms": -1}),
        *((JOINING, {name: value}) for name in ("active_tasks", "standby_tasks") for value in (None, TASKS)),
        (JOINING, {"warmup_tasks": None}),
        (JOINING, {"topology": None}),
        (JOINING, {"topology": PATTERN}),
        (JOINING, {"instance_id": "i"}),
        (JOINING, {"client_tags": [messages.KeyValue(key="k", value="v")] * 1001}),
        (STAYING, {"member_epoch": -2}),
        (STAYING, {"member_epoch": -3}),
        (STAYING, {"active_tasks": []}),
        (STAYING, {"standby_tasks": [], "warmup_tasks": []}),
        (STAYING, {"topology": TOPOLOGY}),
        (STAYING, {"task_offsets": OFFSETS}),
        (STAYING, {"task_end_offsets": OFFSETS}),
        (STAYING, {"active_tasks": [], "standby_tasks": [], "warmup_tasks": TASKS}),
    ],
    ids=lambda value: " ".join(f"{name}={str(each)[:12]}" for name, each in value.items()) if len(value) < 3 else "",
)
def test_what_is_no_proper_heartbeat(fields: dict[str, Any], more: dict[str, Any]) -> None:
    check(messages.StreamsGroupHeartbeatRequest(**fields))
    with pytest.raises(KafkaError) as refused:
        check(messages.StreamsGroupHeartbeatRequest(**{**fields, **more}))
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_whose_epoch_is_taken() -> None:
    """His own, or the one before it if he says no more than he was given then."""
    had = Tasks(active={"0": frozenset({0, 1})})
    member = StreamsMember("m", epoch=5, previous_epoch=4, assigned=had)
    within = Tasks(active={"0": frozenset({1})})
    other = Tasks(active={"0": frozenset({2})})
    for epoch, owned in ((5, None), (5, other), (4, NO_TASKS), (4, within), (4, had)):
        check_epoch(member, epoch, owned)
    for epoch, owned in ((4, None), (4, other), (3, within), (6, within), (0, within)):
        with pytest.raises(KafkaError) as refused:
            check_epoch(member, epoch, owned)
        assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert member.state is MemberState.STABLE


def test_tasks_there_are() -> None:
    check_owned(Tasks(active={"0": frozenset({0, 1})}, standby={"1": frozenset({2})}), {"0": 2, "1": 3})
    for owned in (
        Tasks(active={"0": frozenset({2})}),
        Tasks(standby={"0": frozenset({-1})}),
        Tasks(active={"2": frozenset({0})}),
    ):
        with pytest.raises(KafkaError):
            check_owned(owned, {"0": 2, "1": 3})


def test_who_does_not_say_all_of_his_tasks_says_none() -> None:
    kinds = ("active_tasks", "standby_tasks", "warmup_tasks")
    for missing in kinds:
        said: Any = {kind: TASKS for kind in kinds if kind != missing}
        assert run_whole(owned_tasks(messages.StreamsGroupHeartbeatRequest(**STAYING, **said))) is None
    said = dict.fromkeys(kinds, TASKS)
    ones = {"0": frozenset({1})}
    assert run_whole(owned_tasks(messages.StreamsGroupHeartbeatRequest(**STAYING, **said))) == Tasks(ones, ones, ones)


@pytest.mark.parametrize(
    "subtopology",
    [
        messages.Subtopology(subtopology_id="0"),
        messages.Subtopology(
            subtopology_id="0", source_topics=["t"], state_changelog_topics=[messages.TopicInfo(name="c", partitions=1)]
        ),
        messages.Subtopology(
            subtopology_id="0", repartition_source_topics=[messages.TopicInfo(name="r", partitions=-1)]
        ),
        *(
            messages.Subtopology(
                subtopology_id="0",
                source_topics=["t"],
                repartition_source_topics=[messages.TopicInfo(name="r")],
                copartition_groups=[messages.CopartitionGroup(**{field: [place]})],
            )
            for field in ("source_topics", "source_topic_regex", "repartition_source_topics")
            for place in (-1, 1)
        ),
    ],
    ids=str,
)
def test_what_is_no_topology(subtopology: messages.Subtopology) -> None:
    with pytest.raises(KafkaError) as refused:
        check_topology(messages.Topology(epoch=0, subtopologies=[subtopology]))
    assert refused.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_places_of_a_copartition_group_that_are_there() -> None:
    fine = messages.Subtopology(
        subtopology_id="0",
        source_topics=["t"],
        repartition_source_topics=[messages.TopicInfo(name="r")],
        copartition_groups=[messages.CopartitionGroup(source_topics=[0], repartition_source_topics=[0])],
    )
    check_topology(messages.Topology(epoch=0, subtopologies=[fine]))
    with pytest.raises(KafkaError):
        check_topology(messages.Topology(epoch=0, subtopologies=[fine, fine]))


@pytest.mark.parametrize(("size", "fits"), [(0, True), (7, True), (5, False)])
def test_what_leaves_its_partitions_open_is_made_equal_to_the_others(size: int, fits: bool) -> None:
    image: Any = SimpleNamespace(topics={"seven": SimpleNamespace(partitions=range(7))})
    together = CopartitionGroup(source_topics=(0,), patterns=(), repartition_sources=(0,))
    reader = Subtopology(
        "1",
        source_topics=("seven",),
        repartition_sources=(InternalTopic("r", size),),
        copartition_groups=(together,),
    )
    two = SimpleNamespace(partitions=range(2))
    writer = Subtopology("0", source_topics=("two",), repartition_sinks=("r",))
    image.topics["two"] = two
    configured = run_whole(configure(topology(0, [writer, reader]), image))
    assert configured.problem is not None
    if fits:
        assert configured.problem.status is Status.MISSING_INTERNAL_TOPICS
        assert configured.partitions["r"] == 7
    else:
        assert configured.problem.status is Status.INCORRECTLY_PARTITIONED_TOPICS


@pytest.mark.parametrize("committed", [None, 0])
@pytest.mark.parametrize(
    ("member_id", "epoch", "expected"),
    [
        ("m", 5, None),
        ("m", 4, ErrorCode.STALE_MEMBER_EPOCH),
        ("m", 6, ErrorCode.STALE_MEMBER_EPOCH),
        ("m", -1, ErrorCode.STALE_MEMBER_EPOCH),
        ("b", 5, ErrorCode.UNKNOWN_MEMBER_ID),
        ("b", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 5, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, -1, None),  # a tool
        ("", -1, None),
    ],
)
def test_who_may_fetch_the_offsets_of_a_streams_group(
    member_id: str | None, epoch: int, expected: ErrorCode | None, committed: int | None
) -> None:
    registry = SnapshotRegistry()
    group = StreamsGroup("g", registry)
    run_whole(group.put_member(StreamsMember("m", epoch=5)))
    registry.create(0)
    if expected is None:
        group.check_fetch(member_id, epoch, committed)
        return
    with pytest.raises(KafkaError) as refused:
        group.check_fetch(member_id, epoch, committed)
    assert refused.value.code is expected


def test_nobody_has_the_tasks_of_a_member_that_is_gone() -> None:
    group = StreamsGroup("g", SnapshotRegistry())
    ones, twos = {"0": frozenset({1})}, {"0": frozenset({2})}
    first = StreamsMember("first", process_id="p", assigned=Tasks(active=ones, standby=twos))
    second = StreamsMember("second", process_id="q", assigned=Tasks(active=twos, standby=twos))
    for member in (first, second):
        run_whole(group.put_member(member))
    assert (dict(group.owners.items()), dict(group.keepers.items())) == (
        {("0", 1): "p", ("0", 2): "q"},
        {("0", 2): frozenset({"p", "q"})},
    )
    run_whole(group.remove_member("first"))
    assert (dict(group.owners.items()), dict(group.keepers.items())) == ({("0", 2): "q"}, {("0", 2): frozenset({"q"})})
    run_whole(group.remove_member("second"))
    assert (dict(group.owners.items()), dict(group.keepers.items())) == ({}, {})
    assert group.is_empty


def test_topics_of_a_group_whose_topology_is_not_known() -> None:
    group = StreamsGroup("g", SnapshotRegistry())
    assert not group.is_subscribed_to_any({"t"})
    run_whole(group.put_member(StreamsMember("m")))
    assert not group.is_subscribed("t")
