"""The places a write comes by where its end would matter: tests watch them, to end the process exactly there.

Nothing watches in production. A test hands `observe` a function to the process it wants to see, which calls it with
the name of each point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# In the order in which a write comes by. Those of tasks first, then those of the driver's commit.
POINTS: Final = (
    "task-claimed",
    "task-initialized",
    "task-half-written",
    "task-written",
    "commit-began",
    "fenced",
    "decision-sent",
    "decided",
    "half-ended",
    "ended",
    "cleaned",
    "finished",
)

_observer: Callable[[str], None] | None = None


def observe(observer: Callable[[str], None] | None) -> None:
    """Has `observer` called at every point this process reaches from now on."""
    global _observer
    _observer = observer


def reached(point: str) -> None:
    if _observer is not None:
        _observer(point)
