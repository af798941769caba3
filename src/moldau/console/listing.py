"""Long lists by the page: filtered by a word, sorted by a column, a page of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

T = TypeVar("T")

PAGE: Final = 50


class Asked(Protocol):
    """What the address of a page says."""

    def query(self, name: str, default: str = "") -> str: ...
    def number(self, name: str, default: int, least: int = 0, most: int = ...) -> int: ...


@dataclass(slots=True, frozen=True)
class Listing(Generic[T]):
    rows: Sequence[T]
    # Of all that there are, so many fit the filter.
    total: int
    found: int
    page: int
    pages: int
    word: str
    sort: str
    descending: bool

    @property
    def first(self) -> int:
        return (self.page - 1) * PAGE + 1 if self.found else 0

    @property
    def last(self) -> int:
        return min(self.page * PAGE, self.found)


def listing(
    asked: Asked, rows: Sequence[T], text: Callable[[T], str], columns: Mapping[str, Callable[[T], Any]], sort: str
) -> Listing[T]:
    """`sort` is the column to begin with, with a `-` before it for downwards. What a row does not know sorts last."""
    word = asked.query("q").strip()[:200]
    found = [row for row in rows if word.lower() in text(row).lower()] if word else list(rows)
    chosen = asked.query("sort", sort)
    if chosen.removeprefix("-") not in columns:
        chosen = sort
    key, descending = columns[chosen.removeprefix("-")], chosen.startswith("-")
    known = [row for row in found if key(row) is not None]
    known.sort(key=key, reverse=descending)
    ordered = known + [row for row in found if key(row) is None]
    pages = max(1, -(-len(ordered) // PAGE))
    page = min(asked.number("page", 1, 1), pages)
    shown = ordered[(page - 1) * PAGE : page * PAGE]
    return Listing(shown, len(rows), len(ordered), page, pages, word, chosen.removeprefix("-"), descending)
