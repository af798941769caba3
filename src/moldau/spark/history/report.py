"""What a job says at its end, and how it tells on the way how far it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from moldau.errors import MoldauError

_OWN: Final = re.compile(r"^(?:Caused by: )?moldau\.[\w.]+: (.+)$", re.MULTILINE)

# Called with records and bytes done so far.
Told = Callable[[int, int], None]


class JobError(MoldauError):
    """The job cannot be done as asked; the text is a sentence for the user."""


@dataclass(slots=True)
class Report:
    """A table and what it comes to. Rows are flat, so that they are the same in a terminal and as JSON."""

    job: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    totals: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    dry_run: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "dry_run": self.dry_run,
            **self.totals,
            "partitions": self.rows,
            "notes": self.notes,
            "problems": self.problems,
        }


def own_sentence(error: Exception) -> str | None:
    """What our code said on another machine or in another process, out of the pages Spark wraps around it."""
    found = _OWN.findall(str(error))
    return str(found[-1]).strip() if found else None


def first_line(error: Exception) -> str:
    """What Spark has against an expression, without the plan that follows."""
    return str(error).strip().splitlines()[0].partition(" SQLSTATE")[0].rstrip(" .;") + "."


def nothing_told(records: int, size: int) -> None:
    """For callers who do not want to know."""
