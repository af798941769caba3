"""What was measured, and the arithmetic on it: medians, spreads and ratios. Everything a report shows comes from here.

A measurement is one number per contender and repetition. A contender that cannot do a row has a reason instead of
numbers, so that nothing is quietly left out.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

# Where the page says which rows are older than it is.
EARLIER = "rows measured earlier"


class Metric(NamedTuple):
    name: str
    unit: str
    more_is_better: bool = True
    goal: str = ""


class Measurement:
    """One metric of one row: every repetition of every contender, in the order they were measured."""

    def __init__(self, chapter: str, row: str, metric: Metric) -> None:
        self.chapter = chapter
        self.row = row
        self.metric = metric
        self.values: dict[str, list[float]] = {}

    def median(self, contender: str) -> float | None:
        values = self.values.get(contender)
        return statistics.median(values) if values else None

    def spread(self, contender: str) -> tuple[float, float] | None:
        values = self.values.get(contender)
        return (min(values), max(values)) if values else None

    def ratio(self, ours: str, theirs: str) -> float | None:
        """How many times the other's median ours is; None where one of them has no number."""
        mine, other = self.median(ours), self.median(theirs)
        return None if mine is None or not other else mine / other

    def advantage(self, ours: str, theirs: str) -> float | None:
        """The ratio, turned so that more than 1 is good for us whatever the metric."""
        value = self.ratio(ours, theirs)
        if value is None or self.metric.more_is_better:
            return value
        return 1 / value if value else None

    def overlaps(self, ours: str, theirs: str) -> bool:
        """Whether the repetitions of both reach into each other, so that neither is surely the better one."""
        mine, other = self.spread(ours), self.spread(theirs)
        return mine is not None and other is not None and mine[0] <= other[1] and other[0] <= mine[1]


class Results:
    def __init__(self, about: dict[str, Any] | None = None) -> None:
        self.about = about or {}
        self.measurements: list[Measurement] = []
        self.reasons: dict[tuple[str, str], str] = {}  # by row and contender: why there is no number
        self.remarks: dict[tuple[str, str], str] = {}  # by row and contender: what to know of its numbers
        self.earlier: dict[str, str] = {}  # by row, if it comes from another run than the rest: its day and commit
        self.unanswered: set[tuple[str, str]] = set()  # by row and contender: asked once, and once is enough
        self._index: dict[tuple[str, str], Measurement] = {}

    def add(self, chapter: str, row: str, metric: Metric, contender: str, *values: float) -> None:
        found = self._index.get((row, metric.name))
        if found is None:
            found = self._index[row, metric.name] = Measurement(chapter, row, metric)
            self.measurements.append(found)
        found.values.setdefault(contender, []).extend(values)

    def get(self, row: str, metric: str) -> Measurement | None:
        return self._index.get((row, metric))

    def chapters(self) -> list[str]:
        return list(dict.fromkeys(found.chapter for found in self.measurements))

    def of_chapter(self, chapter: str) -> list[Measurement]:
        return [found for found in self.measurements if found.chapter == chapter]

    def contenders(self, measurements: Iterable[Measurement]) -> list[str]:
        """In the order they first appear, those that have only reasons last."""
        chosen = list(measurements)
        names = dict.fromkeys(name for found in chosen for name in found.values)
        rows = {found.row for found in chosen}
        names.update(dict.fromkeys(name for row, name in self.reasons if row in rows))
        return list(names)

    # ---------------------------------------------------------------------------------------------------- files

    def to_json(self) -> dict[str, Any]:
        found = [
            {
                "chapter": each.chapter,
                "row": each.row,
                "metric": each.metric.name,
                "unit": each.metric.unit,
                "more_is_better": each.metric.more_is_better,
                "goal": each.metric.goal or None,
                "values": {name: [_rounded(value) for value in values] for name, values in each.values.items()},
            }
            for each in self.measurements
        ]
        failures = [{"row": row, "contender": name, "why": why} for (row, name), why in self.reasons.items()]
        remarks = [{"row": row, "contender": name, "what": what} for (row, name), what in self.remarks.items()]
        more = {"earlier": self.earlier} if self.earlier else {}
        return {"machine": self.about, "measurements": found, "failures": failures, "remarks": remarks, **more}

    def merge_json(self, data: dict[str, Any], chapter: str = "") -> None:
        """Takes over what another program measured, in the same form; `chapter` for those that name none."""
        for each in data.get("measurements", []):
            metric = Metric(each["metric"], each["unit"], each.get("more_is_better", True), each.get("goal") or "")
            for name, values in each["values"].items():
                values = values if isinstance(values, list) else [values]
                self.add(each.get("chapter") or chapter, each["row"], metric, name, *map(float, values))
        for each in data.get("failures", []):
            self.reasons[each["row"], each["contender"]] = each["why"]
        for each in data.get("remarks", []):
            self.remarks[each["row"], each["contender"]] = each["what"]
        self.earlier.update(data.get("earlier", {}))

    def rows(self, measurements: Iterable[Measurement]) -> dict[str, list[Measurement]]:
        """Their metrics by row, in the order the rows were measured."""
        found: dict[str, list[Measurement]] = {}
        for each in measurements:
            found.setdefault(each.row, []).append(each)
        return found

    def measured_again(self, newer: Results) -> None:
        """Takes over the rows of a later run in the place of its own, and notes from which day the others are."""
        titles = {each.row for each in newer.measurements} | {row for row, _ in newer.reasons}
        self.measurements = [each for each in self.measurements if each.row not in titles]
        self._index = {key: each for key, each in self._index.items() if key[0] not in titles}
        for known in (self.reasons, self.remarks):
            for key in [key for key in known if key[0] in titles]:
                del known[key]
        left = dict.fromkeys(each.row for each in self.measurements)
        told = {row: self.earlier.get(row, self._when) for row in left} | newer.earlier
        self.earlier = {row: when for row, when in told.items() if when != newer._when}
        self.about = {name: value for name, value in self.about.items() if name.endswith("warmed for")} | newer.about
        if self.earlier:
            self.about[EARLIER] = "; ".join(
                f"{when}: {' / '.join(row for row, each in self.earlier.items() if each == when)}"
                for when in dict.fromkeys(self.earlier.values())
            )
        self.merge_json(newer.to_json())

    @property
    def _when(self) -> str:
        """Of one day and one commit is one run, in however many parts."""
        return f"{str(self.about.get('date', '?'))[:10]}, commit {self.about.get('commit', '?')}"

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Results:
        results = cls(data["machine"])
        results.merge_json(data)
        return results

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.to_json(), indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Results:
        return cls.from_json(json.loads(path.read_text()))


def _rounded(value: float) -> float:
    """Five digits say more than any of these measurements is certain of."""
    return float(f"{value:.5g}")


def number(value: float) -> str:
    """For people: three digits that mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
