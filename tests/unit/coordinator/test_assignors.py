"""What every assignment must be, whoever subscribes to what."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.coordinator.group.assignors import ASSIGNORS, Problem, Subscriber, assign_range, assign_uniform
from moldau.coordinator.group.consumer_member import Assignment, partitions_of
from moldau.slicing import run_whole

TOPICS = [bytes([number]) * 16 for number in range(1, 5)]


@st.composite
def problems(draw: st.DrawFn, same: bool = False) -> Problem:
    partitions = {topic: draw(st.integers(1, 7)) for topic in TOPICS}
    subscriptions = st.frozensets(st.sampled_from(TOPICS), min_size=1)
    shared = draw(subscriptions)
    members = [
        Subscriber(f"m{number}", None, shared if same else draw(subscriptions), {})
        for number in range(draw(st.integers(1, 6)))
    ]
    wanted = frozenset().union(*(member.topics for member in members))
    return Problem(members, {topic: count for topic, count in partitions.items() if topic in wanted})


def check(problem: Problem, assigned: dict[str, Assignment]) -> None:
    given_out = [partition for mine in assigned.values() for partition in partitions_of(mine)]
    assert sorted(given_out) == sorted(
        (topic, number) for topic, count in problem.partitions.items() for number in range(count)
    ), "every partition once"
    for member in problem.members:
        assert assigned[member.member_id].keys() <= member.topics


def moved_on(problem: Problem, assigned: dict[str, Assignment]) -> Problem:
    members = [member._replace(current=assigned[member.member_id]) for member in problem.members]
    return Problem(members, problem.partitions)


@settings(max_examples=150)
@given(problems())
def test_every_partition_goes_to_one_subscriber(problem: Problem) -> None:
    for assign in ASSIGNORS.values():
        assigned = run_whole(assign(problem))
        check(problem, assigned)
        assert run_whole(assign(moved_on(problem, assigned))) == assigned, "nothing changed, so nothing moves"


@settings(max_examples=150)
@given(problems(same=True), st.data())
def test_uniform_is_even_and_moves_little(problem: Problem, data: st.DataObject) -> None:
    first = run_whole(assign_uniform(problem))
    counts = [sum(map(len, mine.values())) for mine in first.values()]
    assert max(counts) - min(counts) <= 1
    # A member leaves: nobody else loses anything.
    if len(problem.members) > 1:
        gone = data.draw(st.sampled_from(problem.members))
        left = moved_on(problem, first)
        left = left._replace(members=[each for each in left.members if each.member_id != gone.member_id])
        second = run_whole(assign_uniform(left))
        check(left, second)
        for member_id, mine in second.items():
            assert set(partitions_of(first[member_id])) <= set(partitions_of(mine))


@settings(max_examples=100)
@given(problems())
def test_uniform_cannot_be_made_more_even_by_a_move(problem: Problem) -> None:
    assigned = run_whole(assign_uniform(problem))
    loads = {member_id: sum(map(len, mine.values())) for member_id, mine in assigned.items()}
    for member in problem.members:
        for other in problem.members:
            if any(topic in other.topics for topic in assigned[member.member_id]):
                assert loads[member.member_id] - loads[other.member_id] <= 1


def test_range_keeps_the_place_of_static_members() -> None:
    topic = TOPICS[0]
    before = [Subscriber("z-1", "one", frozenset([topic]), {}), Subscriber("a-1", "two", frozenset([topic]), {})]
    after = [before[0]._replace(member_id="q-2"), before[1]]
    assert run_whole(assign_range(Problem(before, {topic: 4})))["z-1"] == {topic: frozenset({0, 1})}
    assert run_whole(assign_range(Problem(after, {topic: 4})))["q-2"] == {topic: frozenset({0, 1})}
