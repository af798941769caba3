"""Metrics as text in the exposition format of Prometheus (version 0.0.4), which every monitoring tool reads.

A pure function: whoever has a registry and the time can show it, over whatever carries text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.metrics.histogram import Histogram
from moldau.metrics.instruments import Counter, Rate
from moldau.metrics.registry import Family, Instrument, Registry, Tags

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

# Bounds at every second power of two up to 2 ** 36 (19 hours in microseconds, 64 GiB): few enough lines, and always
# the same ones, as those who subtract one reading from the next expect.
_EXPONENTS: Final = range(4, 37, 2)


def render(registry: Registry, now_ms: int) -> str:
    """The whole registry. Rates are shown as they are at `now_ms`."""
    lines: list[str] = []
    for family in registry.families():
        lines.append(f"# HELP {family.name} {_escaped(family.documentation)}")
        lines.append(f"# TYPE {family.name} {_type(family)}")
        for tags, member in sorted(family.members.items(), key=lambda item: item[0]):
            lines.extend(_samples(family, tags, member, now_ms))
    return "".join(line + "\n" for line in lines)


def _type(family: Family) -> str:
    if family.kind is Counter:
        return "counter"
    return "histogram" if family.kind is Histogram else "gauge"


def _samples(family: Family, tags: Tags, member: Instrument, now_ms: int) -> Iterator[str]:
    if isinstance(member, Histogram):
        yield from _histogram(family, tags, member)
    elif isinstance(member, Rate):
        yield f"{family.name}{_tags(tags)} {_number(member.per_second(now_ms))}"
    else:
        yield f"{family.name}{_tags(tags)} {_number(member.value)}"


def _histogram(family: Family, tags: Tags, histogram: Histogram) -> Iterator[str]:
    for exponent in _EXPONENTS:
        # A bound includes itself, and the largest whole number below a power of two is one less.
        bound = _number(((1 << exponent) - 1) * family.scale)
        yield f"{family.name}_bucket{_tags((*tags, ('le', bound)))} {histogram.below_power(exponent)}"
    yield f"{family.name}_bucket{_tags((*tags, ('le', '+Inf')))} {histogram.count}"
    yield f"{family.name}_sum{_tags(tags)} {_number(histogram.total * family.scale)}"
    yield f"{family.name}_count{_tags(tags)} {histogram.count}"


def _tags(tags: Tags) -> str:
    if not tags:
        return ""
    pairs = (f'{name}="{_escaped(value).replace(chr(34), chr(92) + chr(34))}"' for name, value in tags)
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    if isinstance(value, int) or (value == value and abs(value) < 1e15 and value == int(value)):
        return str(int(value))
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.9g}"
