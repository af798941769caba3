"""Plans for replicas: as little as possible moves, racks are kept apart, and nobody gets much more than another."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.cli.failure import Failure
from moldau.cli.placement import Placement, changed, spread, without
from moldau.types import TopicPartition

NO_RACKS = {1: None, 2: None, 3: None}


def topic(*replicas: tuple[int, ...], name: str = "t") -> Placement:
    return {TopicPartition(name, index): has for index, has in enumerate(replicas)}


def load(placement: Placement) -> Counter[int]:
    return Counter(broker for has in placement.values() for broker in has)


def test_more_replicas_are_added_behind_those_that_are_there() -> None:
    before = topic((1, 2), (2, 3), (3, 1))
    after = spread(before, NO_RACKS, 3)
    assert after == topic((1, 2, 3), (2, 3, 1), (3, 1, 2))


def test_fewer_replicas_keep_the_first() -> None:
    assert spread(topic((1, 2, 3), (2, 3, 1), (3, 1, 2)), NO_RACKS, 1) == topic((1,), (2,), (3,))


def test_nothing_moves_without_a_reason() -> None:
    before = topic((1, 2), (2, 3), (3, 1))
    assert changed(before, spread(before, NO_RACKS)) == {}


def test_a_new_broker_gets_its_share() -> None:
    before = topic(*[(1, 2), (2, 3), (3, 1)] * 4)
    after = spread(before, {**NO_RACKS, 4: None})
    assert set(load(after).values()) == {6}
    assert sum(len(set(after[where]) - set(before[where])) for where in before) == 6


def test_a_second_replica_goes_to_another_rack() -> None:
    racks = {1: "prague", 2: "prague", 3: "brno"}
    after = spread(topic((1,), (2,), (1,)), racks, 2)
    assert all(3 in has for has in after.values())


def test_evening_out_does_not_bring_replicas_into_one_rack() -> None:
    racks = {1: "prague", 2: "prague", 3: "brno"}
    after = spread(topic(*[(1, 3)] * 6), racks)
    assert all(len({racks[broker] for broker in has}) == 2 for has in after.values())
    assert load(after) == {1: 3, 2: 3, 3: 6}


def test_a_broker_is_emptied_and_the_others_share_what_it_had() -> None:
    before = topic((1, 2), (2, 3), (3, 1), (1, 3))
    after = without(before, NO_RACKS, 1)
    assert set(after) == {where for where, has in before.items() if 1 in has}
    assert all(1 not in has and len(has) == 2 for has in after.values())
    leaders = Counter(has[0] for has in {**before, **after}.values())
    assert leaders == {2: 2, 3: 2}


def test_a_broker_that_is_down_keeps_its_replicas_but_gets_no_more() -> None:
    before = topic((1, 2), (2, 1))
    after = without(before, {1: None, 3: None}, 1)  # 2 is fenced
    assert {frozenset(has) for has in after.values()} == {frozenset({2, 3})}


def test_too_few_brokers_are_named() -> None:
    with pytest.raises(Failure, match="t-0 needs 3 replicas, and there is no broker left"):
        without(topic((1, 2, 3)), NO_RACKS, 3)


@given(
    st.lists(st.permutations([1, 2, 3, 4]).map(lambda brokers: tuple(brokers[:2])), min_size=1, max_size=20),
    st.sampled_from([{1: None, 2: None, 3: None, 4: None}, {1: "a", 2: "a", 3: "b", 4: "b"}, {2: "a", 5: "b", 6: "b"}]),
    st.sampled_from([None, 1, 3]),
)
def test_every_plan_is_one_that_a_cluster_takes(
    replicas: list[tuple[int, ...]], racks: dict[int, str | None], wanted: int | None
) -> None:
    before = topic(*replicas)
    after = spread(before, racks, wanted)
    assert after.keys() == before.keys()
    for has in after.values():
        assert len(has) == len(set(has)) == (wanted or 2)
        assert set(has) <= racks.keys()
    counts = [load(after)[broker] for broker in racks]
    if set(racks.values()) == {None}:
        assert max(counts) - min(counts) <= 1
