"""Charts as inline SVG: stacked areas, lines over time, bars. Colours are the page's, so they follow light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

_WIDTH: Final = 860
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 30


class _Frame:
    """Maps values to pixels and draws what all charts with axes have in common."""

    def __init__(self, height: int, x_end: float, y_end: float) -> None:
        self.height = height
        self.x_end = x_end or 1.0
        self.y_end = _round_up(y_end)

    def x(self, value: float) -> float:
        return _LEFT + value / self.x_end * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return self.height - _BOTTOM - value / self.y_end * (self.height - _TOP - _BOTTOM)

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        return " L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)

    def grid(self, unit: str) -> list[str]:
        parts = []
        for step in range(5):
            value = self.y_end * step / 4
            height = self.y(value)
            parts.append(
                f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>'
            )
            parts.append(
                f'<text class="tick" x="{_LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{_tick(value)}{unit}</text>'
            )
        return parts

    def ticks(self, labels: Sequence[tuple[float, str]]) -> list[str]:
        return [
            f'<text class="tick" x="{self.x(at):.1f}" y="{self.height - 9}" text-anchor="middle">{escape(label)}</text>'
            for at, label in labels
        ]

    def svg(self, parts: Sequence[str], title: str) -> str:
        return (
            f'<svg viewBox="0 0 {_WIDTH} {self.height}" role="img" aria-label="{escape(title)}">'
            + "".join(parts)
            + "</svg>"
        )


def stacked_areas(series: Mapping[str, Sequence[float]], labels: Sequence[str], title: str, unit: str = "") -> str:
    """One band per series; `labels` name the points, of which every few are shown."""
    count = len(labels)
    totals = [sum(values[index] for values in series.values()) for index in range(count)]
    frame = _Frame(300, count - 1, max(totals, default=1.0))
    parts = frame.grid(unit)
    below = [0.0] * count
    for number, (name, values) in enumerate(series.items()):
        above = [low + value for low, value in zip(below, values, strict=True)]
        up = frame.path(list(enumerate(above)))
        down = frame.path(list(reversed(list(enumerate(below)))))
        parts.append(f'<path class="area s{number}" d="M{up} L{down} Z"><title>{escape(name)}</title></path>')
        parts.append(f'<path class="edge e{number}" d="M{up}"/>')
        below = above
    parts += frame.ticks([(index, label) for index, label in enumerate(labels) if label.endswith(":00")])
    return frame.svg(parts, title) + _legend(list(series))


def lines_over_time(
    series: Mapping[str, Sequence[tuple[float, float]]], marks: Sequence[tuple[float, str]], title: str
) -> str:
    """Lines over seconds, with vertical marks at moments worth naming."""
    end = max((point[0] for points in series.values() for point in points), default=1.0)
    top = max((point[1] for points in series.values() for point in points), default=1.0)
    frame = _Frame(260, end, top)
    parts = frame.grid("")
    for number, (name, points) in enumerate(series.items()):
        parts.append(f'<path class="line e{number}" d="M{frame.path(points)}"><title>{escape(name)}</title></path>')
    for at, words in marks:
        parts.append(
            f'<line class="mark" x1="{frame.x(at):.1f}" x2="{frame.x(at):.1f}" y1="{_TOP}" y2="{frame.y(0):.1f}"/>'
        )
        parts.append(
            f'<text class="mark-text" x="{frame.x(at) + 7:.1f}" y="{frame.height / 2:.0f}">{escape(words)}</text>'
        )
    step = next(each for each in (5, 10, 20, 30, 60, 120, 300, 10_000) if end / each <= 12)
    parts += frame.ticks([(second, f"{second} s") for second in range(0, int(end) + 1, step)])
    return frame.svg(parts, title) + _legend(list(series))


def bars(values: Mapping[str, float], title: str, show: str = "{:,.0f}") -> str:
    """Horizontal bars, the longest first."""
    ordered = sorted(values.items(), key=lambda item: -item[1])
    top = ordered[0][1] if ordered else 1.0
    height = 8 + 40 * len(ordered)
    parts = []
    for row, (name, value) in enumerate(ordered):
        y = 4 + row * 40
        width = max(3.0, value / top * 460)
        parts.append(f'<text class="label" x="0" y="{y + 12}">{escape(name)}</text>')
        parts.append(f'<text class="tick" x="460" y="{y + 12}" text-anchor="end">{escape(show.format(value))}</text>')
        parts.append(f'<rect class="track" x="0" y="{y + 19}" width="460" height="9" rx="4.5"/>')
        parts.append(f'<rect class="bar s{row % 6}" x="0" y="{y + 19}" width="{width:.1f}" height="9" rx="4.5"/>')
    return f'<svg viewBox="0 0 460 {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'


def heat(rows: Mapping[str, Sequence[float]], labels: Sequence[str], title: str, unit: str) -> str:
    """A cell per row and label; the darker, the more."""
    top = max((value for values in rows.values() for value in values), default=1.0) or 1.0
    cell = (_WIDTH - 96) / max(1, len(labels))
    parts = []
    for number, (name, values) in enumerate(rows.items()):
        y = 6 + number * 34
        parts.append(f'<text class="label" x="0" y="{y + 19}">{escape(name)}</text>')
        for index, value in enumerate(values):
            parts.append(
                f'<rect class="cell" x="{92 + index * cell:.1f}" y="{y}" width="{cell - 3:.1f}" height="30" rx="4" '
                f'style="opacity:{0.08 + 0.92 * value / top:.3f}"><title>{escape(name)} {escape(labels[index])}: '
                f"{value:,.0f}{unit}</title></rect>"
            )
    height = 6 + 34 * len(rows) + 18
    for index, label in enumerate(labels):
        middle = 92 + (index + 0.5) * cell
        parts.append(
            f'<text class="tick" x="{middle:.1f}" y="{height - 4}" text-anchor="middle">{escape(label)}</text>'
        )
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'


def _legend(names: Sequence[str]) -> str:
    items = "".join(f'<li><i class="s{number}"></i>{escape(name)}</li>' for number, name in enumerate(names))
    return f'<ul class="legend">{items}</ul>'


def _round_up(value: float) -> float:
    """The end of an axis: the next number that divides well by four."""
    size = 1.0
    while size * 10 <= value:
        size *= 10
    for factor in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10):
        if size * factor >= value:
            return size * factor
    return size * 10


def _tick(value: float) -> str:
    if value >= 1000:
        return f"{value / 1000:,.1f}k".replace(".0k", "k")
    return f"{value:,.0f}"
