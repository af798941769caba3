"""When a group may be given a new target."""

from __future__ import annotations

import pytest

from moldau.coordinator.group.target_assignment import may_assign

NOW = 1_750_000_000_000


@pytest.mark.parametrize(
    ("assigned_ms", "may"),
    [
        (0, True),
        (NOW, False),
        (NOW - 999, False),
        (NOW - 1000, True),
        (NOW + 1, True),
        (NOW + 3_600_000, True),
    ],
    ids=["never", "now", "lately", "a while ago", "by a clock that was ahead", "by a clock that was far ahead"],
)
def test_a_target_is_a_while_old_before_there_is_another(assigned_ms: int, may: bool) -> None:
    assert may_assign(assigned_ms, 1000, NOW) is may
