"""Where replicas go: never two on a broker, leaders only on living ones, spread over racks and brokers."""

from __future__ import annotations

from collections import Counter

import pytest
from controller_kit import SeededRandom
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.controller.placement import UsableBroker, place_replicas
from moldau.errors import ErrorCode, KafkaError


def _brokers(*specs: tuple[int, str | None, bool]) -> list[UsableBroker]:
    return [UsableBroker(*spec) for spec in specs]


def test_leaders_are_spread_evenly() -> None:
    brokers = _brokers(*((number, None, False) for number in range(5)))
    placed = list(place_replicas(brokers, 100, 3, SeededRandom()))
    leaders = Counter(replicas[0] for replicas in placed)
    assert set(leaders.values()) == {20}
    everyone = Counter(broker for replicas in placed for broker in replicas)
    assert max(everyone.values()) - min(everyone.values()) <= 20


def test_the_same_group_of_brokers_does_not_repeat_for_ever() -> None:
    brokers = _brokers(*((number, None, False) for number in range(6)))
    placed = list(place_replicas(brokers, 60, 2, SeededRandom()))
    assert len({frozenset(replicas) for replicas in placed}) > 6


def test_each_rack_gets_a_replica() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    brokers = _brokers(*((number, rack, False) for number, rack in racks.items()))
    for replicas in place_replicas(brokers, 30, 3, SeededRandom()):
        assert {racks[broker] for broker in replicas} == {"a", "b", "c"}


def test_fenced_brokers_are_the_last_resort_and_never_lead() -> None:
    brokers = _brokers((1, None, False), (2, None, False), (3, None, True))
    assert all(3 not in replicas for replicas in place_replicas(brokers, 20, 2, SeededRandom()))
    for replicas in place_replicas(brokers, 20, 3, SeededRandom()):
        assert replicas[0] != 3


@pytest.mark.parametrize(
    ("brokers", "factor"),
    [
        ([(1, None, False)], 2),
        ([(1, None, True)], 1),
        ([], 1),
        ([(1, None, False)], 0),
    ],
)
def test_what_cannot_be_placed(brokers: list[tuple[int, str | None, bool]], factor: int) -> None:
    with pytest.raises(KafkaError) as caught:
        place_replicas(_brokers(*brokers), 1, factor, SeededRandom())
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.booleans()), min_size=1, max_size=9),
    st.integers(1, 25),
    st.data(),
)
def test_the_rules_hold_for_any_cluster(
    specs: list[tuple[str | None, bool]], partitions: int, data: st.DataObject
) -> None:
    brokers = [UsableBroker(number, rack, fenced) for number, (rack, fenced) in enumerate(specs)]
    factor = data.draw(st.integers(1, len(brokers)))
    if all(broker.fenced for broker in brokers):
        with pytest.raises(KafkaError):
            place_replicas(brokers, partitions, factor, SeededRandom())
        return
    fenced = {broker.id for broker in brokers if broker.fenced}
    placed = list(place_replicas(brokers, partitions, factor, SeededRandom(data.draw(st.integers(0, 99)))))
    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert replicas[0] not in fenced
