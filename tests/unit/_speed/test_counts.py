"""What is counted by topic is the same in both twins."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moldau import _speed
from moldau._speed import reference

FIELDS = reference.Traffic.__slots__
RESULTS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0, 0, 0, 3, 29]), st.binary(max_size=40)).map(
        lambda made: (made[0], ("topic", 0, made[1], 0, 0, 0, None, -1, b"" if made[1] else made[2]))
    ),
    max_size=8,
)


def counted(kernel: Any, results: list[Any], follower: bool, appended: list[tuple[int, int]]) -> list[int]:
    traffic = kernel.Traffic()
    for size, records in appended:
        traffic.took(size, records)
    traffic.refused()
    traffic.gave(7)
    kernel.count_reads([traffic if known else None for known, _ in results], [each for _, each in results], follower)
    return [getattr(traffic, field) for field in FIELDS]


@given(RESULTS, st.booleans(), st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**20)), max_size=4))
def test_twins_count_alike(results: list[Any], follower: bool, appended: list[tuple[int, int]]):
    assert counted(_speed, results, follower, appended) == counted(reference, results, follower, appended)


def test_what_is_counted():
    results = [(True, ("a", 0, 0, 0, 0, 0, None, -1, b"12345")), (True, ("a", 1, 3, 0, 0, 0, None, -1, b""))]
    found = dict(zip(FIELDS, counted(reference, results, False, [(100, 3), (50, 2)]), strict=True))
    assert found == {
        "produces": 3,
        "failed_produces": 1,
        "bytes_in": 150,
        "messages_in": 5,
        "fetches": 3,
        "failed_fetches": 1,
        "bytes_out": 12,
        "replica_bytes_out": 0,
    }
