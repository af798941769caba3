"""Where in a pipeline's file something stands, and what is wrong there.

Whoever wrote the file should never have to search: every problem carries file and line, says what was found and what
would be allowed, and names the closest known word if the one found looks like a slip.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from moldau.errors import MoldauError


class Place(NamedTuple):
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Problem(NamedTuple):
    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class PipelineError(MoldauError):
    """A pipeline that cannot run; its text stands on its own."""


class InvalidPipeline(PipelineError):
    """The file says something that cannot be meant; `problems` has every finding, in the order of the lines."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.place)
        more = len(self.problems) - 1
        others = f" (and {more} more: `moldau pipeline validate` lists them)" if more else ""
        super().__init__(f"{self.problems[0]}{others}")


class Problems:
    """Collects what is wrong, so that one run of `validate` shows all of it."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, place: Place, text: str) -> None:
        self.found.append(Problem(place, text))

    def check(self) -> None:
        if self.found:
            raise InvalidPipeline(self.found)


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def allowed(found: str, names: Iterable[str]) -> str:
    """`did you mean ...? Allowed: ...`, the end of every sentence about an unknown word."""
    known = list(names)
    close = difflib.get_close_matches(found, known, n=1, cutoff=0.6)
    slip = f"did you mean `{close[0]}`? " if close else ""
    return f"{slip}Allowed: {listed(known) or 'nothing'}."
