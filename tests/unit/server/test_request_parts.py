"""Large requests cut into parts, and their answers put together again."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from moldau.protocol.messages.leave_group import LeaveGroupResponse, MemberResponse
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from moldau.server.parts import Parts
from moldau.slicing import run_whole

GROUPS = Parts(("groups", "topics", "partition_indexes"), ("groups", "topics", "partitions"), size=7)


def groups(random: Random) -> OffsetFetchRequest:
    """Groups of topics of partitions, some of them larger than a part, some empty, some asking for everything."""
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=f"g{group}",
                topics=random.choice(
                    [
                        None,
                        [],
                        *[
                            [
                                OffsetFetchRequestTopics(
                                    name=f"t{topic}", partition_indexes=list(range(random.randint(0, 20)))
                                )
                                for topic in range(random.randint(1, 6))
                            ]
                            for _ in range(3)
                        ],
                    ]
                ),
            )
            for group in range(random.randint(1, 9))
        ]
    )


def answer(request: OffsetFetchRequest) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(
                group_id=group.group_id,
                topics=[
                    OffsetFetchResponseTopics(
                        name=topic.name,
                        partitions=[
                            OffsetFetchResponsePartitions(partition_index=index, committed_offset=index)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in group.topics or ()
                ],
            )
            for group in request.groups
        ]
    )


def leaves(parts: Parts, request: Any) -> int:
    return sum(1 + len(topic.partition_indexes) for group in request.groups for topic in group.topics or ())


@pytest.mark.parametrize("seed", range(60))
def test_the_answers_to_the_parts_are_the_answer_to_the_whole(seed: int) -> None:
    request = groups(Random(seed))
    parts: list[Any] = [part for part in GROUPS.cut(request) if part is not None]
    assert run_whole(GROUPS.together([answer(part) for part in parts])) == answer(request)
    assert all(leaves(GROUPS, part) <= GROUPS.size + 1 for part in parts)
    assert GROUPS.is_large(request) or len(parts) == 1


def test_what_is_named_twice_stays_together_and_twice_is_enough() -> None:
    parts = Parts(("topics",), ("topics",), size=4, unique=("name",))
    names = ["a", "b", "c", "d", "e", "a", "a", "a", "f"]
    request = CreateTopicsRequest(topics=[CreatableTopic(name=name) for name in names])
    cut: list[Any] = [[topic.name for topic in part.topics] for part in parts.cut(request) if part is not None]  # type: ignore[attr-defined]
    assert cut == [["a", "a", "b", "c"], ["d", "e", "f"]]


def test_names_alone_are_cut_as_well() -> None:
    parts = Parts(("groups_names",), ("results",), size=2)
    request = DeleteGroupsRequest(groups_names=["a", "b", "c"])
    assert [part.groups_names for part in parts.cut(request) if part is not None] == [["a", "b"], ["c"]]  # type: ignore[attr-defined]
    answers = [DeleteGroupsResponse(results=[DeletableGroupResult(group_id=name)]) for name in "abc"]
    whole: Any = run_whole(parts.together(answers))
    assert [row.group_id for row in whole.results] == ["a", "b", "c"]


def test_a_part_that_refuses_everything_stands_for_all() -> None:
    parts = Parts(("members",), ("members",))
    answers = [LeaveGroupResponse(members=[MemberResponse(member_id="a")]), LeaveGroupResponse(error_code=25)]
    assert run_whole(parts.together(answers)) == answers[1]


def test_equal_rows_of_neighbours_are_not_lost() -> None:
    parts = Parts(("topics",), ("topics",))
    rows = [CreatableTopicResult(name="t")]
    whole: Any = run_whole(parts.together([CreateTopicsResponse(topics=rows), CreateTopicsResponse(topics=rows)]))
    assert len(whole.topics) == 2


def test_answers_are_let_go_as_they_are_put_together() -> None:
    """Very many of them must not be freed all at once, by whoever held them last."""
    request = groups(Random(1))
    answers: list[Any] = [answer(part) for part in GROUPS.cut(request) if part is not None]
    left = [len(answers) for _ in GROUPS.together(answers)]
    assert left == list(reversed(range(len(left))))
    assert len(left) > 3


def test_arrays_of_answers_are_not_changed_where_they_are() -> None:
    """Whoever answered may have them elsewhere, too."""
    many = OffsetFetchRequestGroup(
        group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=list(range(50)))]
    )
    parts: list[Any] = [part for part in GROUPS.cut(OffsetFetchRequest(groups=[many])) if part is not None]
    answers = [answer(part) for part in parts]
    kept = [one.groups[0].topics[0].partitions for one in answers]
    before = [list(rows) for rows in kept]
    run_whole(GROUPS.together(list(answers)))
    assert kept == before


def test_what_is_much_is_told_once() -> None:
    once = Parts(("groups",), ("groups",), size=7, once=lambda group: group.group_id if group.topics is None else None)
    everything = [OffsetFetchRequestGroup(group_id=f"g{number % 3}", topics=None) for number in range(60)]
    some = [OffsetFetchRequestGroup(group_id="g1", topics=[])] * 20
    parts: list[Any] = [part for part in once.cut(OffsetFetchRequest(groups=everything + some)) if part is not None]
    asked = [(group.group_id, group.topics) for part in parts for group in part.groups]
    assert asked == [("g0", None), ("g1", None), ("g2", None), *[("g1", [])] * 20]
