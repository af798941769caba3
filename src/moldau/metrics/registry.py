"""The names of what is measured.

A family is a name with a sentence and a kind; its members differ by tags. Instruments are asked for once, when the
thing that is measured is created, and kept by whoever writes to them; the registry is only walked to show them.
Names follow Prometheus: a unit at the end, `_total` for counters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, TypeVar

from moldau.metrics.histogram import Histogram
from moldau.metrics.instruments import Counter, Gauge, Rate

Tags: TypeAlias = tuple[tuple[str, str], ...]
Instrument: TypeAlias = Counter | Gauge | Rate | Histogram

M = TypeVar("M", Counter, Gauge, Rate, Histogram)

_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_TAG: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class Family:
    """All instruments of one name. `scale` converts recorded whole numbers into the unit of the name."""

    __slots__ = ("documentation", "kind", "members", "name", "scale")

    def __init__(self, name: str, documentation: str, kind: type[Instrument], scale: float) -> None:
        self.name = name
        self.documentation = documentation
        self.kind = kind
        self.scale = scale
        self.members: dict[Tags, Instrument] = {}


class Registry:
    """One per node, passed to those who measure; there is no global one, because one process may hold several nodes."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}

    def counter(self, name: str, documentation: str, **tags: str) -> Counter:
        return self._member(name, documentation, Counter, 1, tags, Counter)

    def gauge(self, name: str, documentation: str, read: Callable[[], float] | None = None, **tags: str) -> Gauge:
        """With `read`, the value is asked for whenever it is shown; it replaces an earlier gauge of the same tags."""
        if read is not None:
            self.remove(name, **tags)
        return self._member(name, documentation, Gauge, 1, tags, lambda: Gauge(read))

    def rate(self, name: str, documentation: str, window_ms: int = 1000, samples: int = 11, **tags: str) -> Rate:
        return self._member(name, documentation, Rate, 1, tags, lambda: Rate(window_ms, samples))

    def histogram(self, name: str, documentation: str, scale: float = 1, **tags: str) -> Histogram:
        """Shown in recorded values times `scale`: microseconds with 1e-6 are shown as seconds."""
        return self._member(name, documentation, Histogram, scale, tags, Histogram)

    def remove(self, name: str, **tags: str) -> None:
        """Forgets one instrument, for what no longer exists; unknown ones are ignored."""
        family = self._families.get(name)
        if family is not None:
            family.members.pop(_key(tags), None)

    def families(self) -> Iterator[Family]:
        """Those with instruments, by name."""
        return (family for _, family in sorted(self._families.items()) if family.members)

    def _member(
        self,
        name: str,
        documentation: str,
        kind: type[M],
        scale: float,
        tags: dict[str, str],
        make: Callable[[], M],
    ) -> M:
        family = self._families.get(name)
        if family is None:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not a name for a metric")
            family = self._families[name] = Family(name, documentation, kind, scale)
        elif family.kind is not kind:
            raise ValueError(f"{name} is a {family.kind.__name__.lower()}, not a {kind.__name__.lower()}")
        key = _key(tags)
        member = family.members.get(key)
        if member is None:
            member = family.members[key] = make()
        assert isinstance(member, kind)
        return member


def _key(tags: dict[str, str]) -> Tags:
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise ValueError(f"{tag!r} is not a name for a tag")
    return tuple(sorted(tags.items()))
