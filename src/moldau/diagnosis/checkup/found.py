"""What a check found: how bad it is, what holds, what that means, and what to do."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple


class Severity(IntEnum):
    """A problem does harm now, or will soon; a warning will if something else goes wrong; a note is to be known."""

    PROBLEM = 0
    WARNING = 1
    NOTE = 2

    @property
    def text(self) -> str:
        return self.name.lower()


class Found(NamedTuple):
    """`check` is a name that scripts may rely on."""

    severity: Severity
    check: str
    fact: str
    meaning: str
    advice: str

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "severity": self.severity.text}


def problem(check: str, fact: str, meaning: str, advice: str) -> Found:
    return Found(Severity.PROBLEM, check, fact, meaning, advice)


def warning(check: str, fact: str, meaning: str, advice: str) -> Found:
    return Found(Severity.WARNING, check, fact, meaning, advice)


def note(check: str, fact: str, meaning: str, advice: str) -> Found:
    return Found(Severity.NOTE, check, fact, meaning, advice)
