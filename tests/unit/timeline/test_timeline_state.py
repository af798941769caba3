"""Revertable state: what changed after a snapshot comes back, whatever happened in between."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.timeline import SnapshotRegistry, TimelineMap, TimelineSet, TimelineValue


def test_a_revert_brings_back_values_additions_and_removals() -> None:
    registry = SnapshotRegistry()
    map_: TimelineMap[str, int] = TimelineMap(registry)
    map_["kept"] = 1
    map_["removed"] = 2
    registry.create(10)
    map_["kept"] = 3
    map_["added"] = 4
    del map_["removed"]
    map_["kept"] = 5
    registry.revert_to(10)
    assert dict(map_.items()) == {"kept": 1, "removed": 2}


def test_a_snapshot_survives_its_own_revert() -> None:
    registry = SnapshotRegistry()
    value = TimelineValue(registry, "a")
    registry.create(0)
    value.value = "b"
    registry.revert_to(0)
    value.value = "c"
    registry.revert_to(0)
    assert value.value == "a"


def test_committed_changes_stay() -> None:
    registry = SnapshotRegistry()
    members: TimelineSet[str] = TimelineSet(registry)
    registry.create(0)
    members.add("first")
    registry.create(1)
    members.add("second")
    registry.delete_up_to(1)
    registry.revert_to(1)
    assert set(members) == {"first"}
    with pytest.raises(ValueError, match="no snapshot at 0"):
        registry.revert_to(0)


def test_without_a_snapshot_nothing_is_recorded() -> None:
    registry = SnapshotRegistry()
    map_: TimelineMap[int, int] = TimelineMap(registry)
    for key in range(1000):
        map_[key] = key
    assert registry.latest is None
    assert registry.offsets == ()


def test_snapshots_are_taken_in_order() -> None:
    registry = SnapshotRegistry()
    registry.create(5)
    registry.create(5)
    with pytest.raises(ValueError, match="cannot follow"):
        registry.create(4)


def test_reverting_several_maps_at_once() -> None:
    registry = SnapshotRegistry()
    maps: list[TimelineMap[int, int]] = [TimelineMap(registry) for _ in range(3)]
    registry.create(0)
    for index, map_ in enumerate(maps):
        map_[index] = index
    registry.create(1)
    maps[0].clear()
    nested: TimelineMap[int, int] = TimelineMap(registry)
    nested[7] = 7
    registry.revert_to(1)
    assert dict(maps[0].items()) == {0: 0}
    registry.revert_to(0)
    assert [len(map_) for map_ in maps] == [0, 0, 0]


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 4), st.integers(0, 9)),
        st.tuples(st.just("remove"), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("snapshot"), st.just(0), st.just(0)),
        st.tuples(st.just("revert"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("commit"), st.integers(0, 5), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(_steps)
def test_it_behaves_like_copies_of_a_dictionary(steps: list[tuple[str, int, int]]) -> None:
    registry = SnapshotRegistry()
    map_: TimelineMap[int, int] = TimelineMap(registry)
    model: dict[int, int] = {}
    copies: list[tuple[int, dict[int, int]]] = []
    offset = 0
    for action, key, value in steps:
        if action == "put":
            map_[key] = model[key] = value
        elif action == "remove":
            assert map_.pop(key) == model.pop(key, None)
        elif action == "snapshot":
            offset += 1
            registry.create(offset)
            copies.append((offset, dict(model)))
        elif copies and action == "revert":
            at, copy = copies[key % len(copies)]
            registry.revert_to(at)
            model = dict(copy)
            copies = [entry for entry in copies if entry[0] <= at]
            offset = at
        elif copies and action == "commit":
            at = copies[key % len(copies)][0]
            registry.delete_up_to(at)
            copies = [entry for entry in copies if entry[0] >= at]
        assert dict(map_.items()) == model
        assert registry.offsets == tuple(at for at, _ in copies)
        for at, copy in copies:
            assert map_.snapshot_at(at) == copy
            assert all(map_.get_at(k, at) == copy.get(k) for k in range(5))
