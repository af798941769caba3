"""Who is ahead in which row, and in which order a reader should see them: what was lost first.

A row is behind as soon as one of its numbers is: a rate that was bought with a tail is no victory. Within what was lost
and what was won, rows stand in the order of `rows.BY_IMPORTANCE`, and those that are not named there behind them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bench.results import Measurement, Results
from bench.rows import BY_IMPORTANCE, hostile

OURS = "moldau"
KAFKA, MOCK = "Kafka", "mock"
# Many rows that ask one question: one line of the table, the worst of them, and a table of their own further down.
BLOCKS = {hostile.CHAPTER: "longest wait"}

# What cannot be won, by row and number: the measured reason, told where the number is lost.
NOT_WON = {
    ("50 busy connections beside 2,000 idle ones", "more memory"): (
        "grows by 1.7 KB for each idle connection (400 bytes of methods, 336 of the transport, 176 and 120 "
        "of what is known of the client, the rest the socket, its address and its place in tables), from a tenth of "
        "Kafka's memory, whose connections lie in a heap that was counted when it started"
    ),
}


class RowStanding(NamedTuple):
    title: str
    numbers: list[Measurement]

    def worst(self, peer: str) -> Measurement:
        """The number in which we look worst, of those that can be compared."""
        known = [(value, each) for each in self.numbers if (value := each.advantage(OURS, peer)) is not None]
        return min(known, key=lambda pair: pair[0])[1]

    def is_behind(self, peer: str) -> bool:
        found = [each.advantage(OURS, peer) for each in self.numbers]
        return any(value is not None and value < 1 for value in found)


class Standing(NamedTuple):
    peer: str
    behind: list[RowStanding]
    ahead: list[RowStanding]

    @property
    def rows(self) -> list[RowStanding]:
        return [*self.behind, *self.ahead]

    @property
    def words(self) -> str:
        numbers = [each.advantage(OURS, self.peer) for row in self.rows for each in row.numbers]
        known = [value for value in numbers if value is not None]
        won = sum(value >= 1 for value in known)
        rows = f"better in every number of {len(self.ahead)} of {len(self.rows)} rows"
        return f"{rows}, and in {won} of {len(known)} numbers"


def main_peer(results: Results) -> str | None:
    """Beside whom the table stands: Apache Kafka, or where it did not take part the mock."""
    names = {name for each in results.measurements for name in each.values}
    return next((name for name in (KAFKA, MOCK) if name in names), None)


def standing(results: Results, peer: str) -> Standing:
    rows = results.rows(table_measurements(results))
    compared = [
        RowStanding(title, numbers)
        for title, numbers in sorted(rows.items(), key=lambda row: rank(row[0]))
        if any(each.advantage(OURS, peer) is not None for each in numbers)
    ]
    return Standing(
        peer,
        [row for row in compared if row.is_behind(peer)],
        [row for row in compared if not row.is_behind(peer)],
    )


def rank(title: str) -> int:
    return BY_IMPORTANCE.index(title) if title in BY_IMPORTANCE else len(BY_IMPORTANCE)


def beside_others(results: Results, found: Standing | None) -> list[tuple[str, list[Measurement]]]:
    """By chapter, the rows that are not in the table: those with other peers, with none, and those of blocks."""
    shown = {row.title for row in found.rows} if found is not None else set()
    chapters = [
        (chapter, [each for each in results.of_chapter(chapter) if each.row not in shown])
        for chapter in results.chapters()
    ]
    return [(chapter, measurements) for chapter, measurements in chapters if measurements]


def table_measurements(results: Results) -> list[Measurement]:
    """All of them, each block as one row in the place of its first."""
    found: list[Measurement] = []
    for chapter in results.chapters():
        measurements = results.of_chapter(chapter)
        found += block(chapter, measurements) if chapter in BLOCKS else measurements
    return found


def block(chapter: str, measurements: list[Measurement]) -> Iterator[Measurement]:
    """Of each contender and repetition the worst of all its rows."""
    rows = [each for each in measurements if each.metric.name == BLOCKS[chapter]]
    if not rows:
        return
    summary = Measurement(chapter, f"{chapter.lower()}: the worst of {len(rows)}", rows[0].metric)
    for name in dict.fromkeys(name for each in rows for name in each.values):
        repetitions = zip(*(each.values[name] for each in rows if name in each.values), strict=False)
        summary.values[name] = [max(values) for values in repetitions]
    yield summary


def remarks(results: Results, titles: set[str]) -> list[str]:
    """What a reader has to know of single numbers, each sentence once with the rows it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for known in (results.reasons, results.remarks):
        for (title, name), what in known.items():
            if title in titles:
                found.setdefault((name, what), []).append(title)
    peer = main_peer(results)
    for each in results.measurements:
        why = NOT_WON.get((each.row, each.metric.name))
        if why is not None and each.row in titles and peer is not None and (each.advantage(OURS, peer) or 1) < 1:
            found.setdefault((OURS, why), []).append(each.row)
    return [f"{name} {what} ({'; '.join(rows)})" for (name, what), rows in found.items()]
