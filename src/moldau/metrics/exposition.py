"""Metrics as text: the exposition format of Prometheus (version 0.0.4), and OpenMetrics.

A family is a name with a sentence and a kind; its samples differ by labels. Samples may come from an iterator that asks
for each value when its turn comes, so that what is shown of six thousand partitions is put together a slice at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from moldau.slicing import Work

PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
SUMMARY: Final = "summary"

# What stands between the name and the value: a suffix of the name, and labels as `labels` writes them.
Sample: TypeAlias = tuple[str, str, float]

_LINES_AT_ONCE: Final = 128
_TOTAL: Final = "_total"


class Family(NamedTuple):
    """The name of a counter ends with `_total`. None among the samples is a place to pause."""

    name: str
    kind: str
    documentation: str
    samples: Iterable[Sample | None]


def counter(name: str, documentation: str, value: float) -> Family:
    return Family(name, COUNTER, documentation, (("", "", value),))


def gauge(name: str, documentation: str, value: float) -> Family:
    return Family(name, GAUGE, documentation, (("", "", value),))


def labels(**values: object) -> str:
    return ",".join(f'{name}="{_escaped(str(value))}"' for name, value in values.items())


def render(families: Iterable[Family | None], *, openmetrics: bool = False) -> Work[list[bytes]]:
    """All of them, in pieces. None among them is a place to pause."""
    pieces: list[bytes] = []
    lines: list[str] = []
    for line in _lines(families, openmetrics):
        if line is None:
            yield
            continue
        lines.append(line)
        if len(lines) == _LINES_AT_ONCE:
            pieces.append("".join(lines).encode())
            lines.clear()
            yield
    if openmetrics:
        lines.append("# EOF\n")
    pieces.append("".join(lines).encode())
    return pieces


def _lines(families: Iterable[Family | None], openmetrics: bool) -> Iterator[str | None]:
    for one in families:
        if one is None:
            yield None
            continue
        name, kind, documentation, samples = one
        # OpenMetrics names the family without what all its samples end with.
        family = name.removesuffix(_TOTAL) if openmetrics and kind is COUNTER else name
        begun = False
        for sample in samples:
            if sample is None:
                yield None
                continue
            if not begun:
                begun = True
                yield f"# HELP {family} {documentation}\n# TYPE {family} {kind}\n"
            suffix, labelled, value = sample
            between = f"{{{labelled}}} " if labelled else " "
            yield f"{name}{suffix}{between}{value if type(value) is int else _number(value)}\n"
        yield None


def _escaped(text: str) -> str:
    if text.isalnum():
        return text
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return f"{value:.15g}"
