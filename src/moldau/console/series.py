"""Measurements over time, in bounded memory: the whole time since the console started, the older the coarser."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Final

_MOST: Final = 360


class Series:
    """When it is full, every second of the older half of its points goes."""

    __slots__ = ("times", "values")

    def __init__(self) -> None:
        self.times = array("d")
        self.values = array("d")

    def add(self, at: float, value: float) -> None:
        if len(self.times) >= _MOST:
            half = _MOST // 2
            del self.times[1:half:2]
            del self.values[1:half:2]
        self.times.append(at)
        self.values.append(value)

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        # Copied first: the watch adds from its own thread while a page draws.
        return iter(tuple(zip(self.times[:], self.values[:], strict=False)))


class Histories:
    """One series for each of at most so many names; those that are gone are forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._series: dict[str, Series] = {}

    def get(self, name: str) -> Series | None:
        return self._series.get(name)

    def add(self, at: float, values: Mapping[str, float]) -> None:
        for gone in [name for name in self._series if name not in values]:
            del self._series[gone]
        for name, value in values.items():
            series = self._series.get(name)
            if series is None:
                if len(self._series) >= self._most:
                    continue
                series = self._series[name] = Series()
            series.add(at, value)
