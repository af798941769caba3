"""What was found: a fact, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# So many partitions or members are named; the rest is counted.
_NAMED = 5


class Finding(NamedTuple):
    """Something that holds, and what to do about it if something is to be done."""

    fact: str
    advice: str | None = None


def some(texts: Sequence[str]) -> str:
    """The first of them, and how many more."""
    shown = ", ".join(texts[:_NAMED])
    return shown if len(texts) <= _NAMED else f"{shown} and {len(texts) - _NAMED} more"
