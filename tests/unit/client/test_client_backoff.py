"""Waiting longer and longer, but not for ever, and never in step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moldau.client.backoff import Backoff


def test_doubles_up_to_the_limit() -> None:
    backoff = Backoff(first=0.1, limit=1.0, chance=lambda: 0.5)
    assert [round(backoff.delay(attempt), 3) for attempt in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


@given(attempt=st.integers(0, 100_000), chance=st.floats(0, 1))
def test_jitter_stays_within_a_fifth(attempt: int, chance: float) -> None:
    middle = Backoff(chance=lambda: 0.5).delay(attempt)
    assert 0.8 * middle - 1e-9 <= Backoff(chance=lambda: chance).delay(attempt) <= 1.2 * middle + 1e-9
