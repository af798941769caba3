"""Charts as inline SVG: bars of ratios, bars of values, and lines over a growing number. Colours come from the page.

Text is ordinary SVG text and colours are CSS variables, so that one picture serves light and dark, and a screen reader.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from bench.results import number

WIDTH = 760
LABEL = 330  # pixels for the names of rows
VALUE = 46  # and for a number on either side
BAR = 18
GAP = 8


class Bar(NamedTuple):
    label: str
    value: float
    colour: str  # a CSS variable
    note: str = ""


class Point(NamedTuple):
    x: float
    y: float
    low: float
    high: float


class Line(NamedTuple):
    name: str
    colour: str
    points: Sequence[Point]


def ratio_bars(bars: Sequence[Bar], caption: str) -> str:
    """Bars to the right of 1 are good for us, bars to the left are not; each step of the axis doubles."""
    if not bars:
        return ""
    reach = max(1.0, *(abs(math.log2(bar.value)) for bar in bars if bar.value > 0))
    reach = min(6.0, math.ceil(reach))
    space = WIDTH - LABEL - 2 * VALUE
    middle = LABEL + VALUE + space / 2
    height = len(bars) * (BAR + GAP) + 34
    parts = [_open(WIDTH, height, caption)]
    steps = range(-int(reach), int(reach) + 1, max(1, int(reach) // 3))
    for step in steps:
        x = middle + step / reach * space / 2
        text = f"{2**step}x" if step >= 0 else f"1/{2**-step}"
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="8" x2="{x:.1f}" y2="{height - 24}"/>')
        parts.append(f'<text class="axis" x="{x:.1f}" y="{height - 8}" text-anchor="middle">{text}</text>')
    for index, bar in enumerate(bars):
        y = 8 + index * (BAR + GAP)
        size = max(-reach, min(reach, math.log2(bar.value) if bar.value > 0 else -reach)) / reach * space / 2
        left, width = (middle, size) if size >= 0 else (middle + size, -size)
        parts.append(f'<text class="label" x="{LABEL - 12}" y="{y + 13}" text-anchor="end">{escape(bar.label)}</text>')
        parts.append(
            f'<rect x="{left:.1f}" y="{y}" width="{max(1.5, width):.1f}" height="{BAR}" rx="3" '
            f'fill="var({bar.colour})">'
            f"<title>{escape(bar.note)}</title></rect>"
        )
        at, anchor = (left + width + 6, "start") if size >= 0 else (left - 6, "end")
        parts.append(
            f'<text class="value" x="{at:.1f}" y="{y + 13}" text-anchor="{anchor}">{ratio_text(bar.value)}</text>'
        )
    parts.append(f'<line class="one" x1="{middle:.1f}" y1="4" x2="{middle:.1f}" y2="{height - 24}"/></svg>')
    return "".join(parts)


def ratio_text(value: float) -> str:
    return f"{value:.2f}x" if value < 10 else f"{value:.0f}x"


def value_bars(bars: Sequence[Bar], caption: str) -> str:
    """Plain bars from zero; the longest fills the width."""
    if not bars:
        return ""
    most = max(bar.value for bar in bars) or 1.0
    label = 150
    space = 420 - label - 90
    height = len(bars) * (BAR + GAP) + 8
    parts = [_open(420, height, caption)]
    for index, bar in enumerate(bars):
        y = 4 + index * (BAR + GAP)
        width = max(1.5, bar.value / most * space)
        parts.append(f'<text class="label" x="{label - 10}" y="{y + 13}" text-anchor="end">{escape(bar.label)}</text>')
        parts.append(
            f'<rect x="{label}" y="{y}" width="{width:.1f}" height="{BAR}" rx="3" fill="var({bar.colour})">'
            f"<title>{escape(bar.note)}</title></rect>"
        )
        parts.append(f'<text class="value" x="{label + width + 6:.1f}" y="{y + 13}">{compact(bar.value)}</text>')
    return "".join([*parts, "</svg>"])


def line_chart(lines: Sequence[Line], caption: str, x_name: str, unit: str) -> str:
    """Both axes grow by factors: a cost that does not depend on the number is a flat line, one that does rises."""
    points = [point for line in lines for point in line.points if point.y > 0]
    if not points:
        return ""
    width, height, left, right, top, bottom = 420, 270, 62, 16, 14, 44
    xs = sorted({point.x for point in points})
    low = math.floor(math.log10(min(point.low if point.low > 0 else point.y for point in points)))
    high = math.ceil(math.log10(max(point.high for point in points)) + 1e-9)
    high = max(high, low + 1)

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log10(x / xs[0]) / math.log10(xs[-1] / xs[0]) if len(xs) > 1 else 0.5
        up = (math.log10(max(y, 10.0**low)) - low) / (high - low)
        return left + across * (width - left - right), height - bottom - up * (height - top - bottom)

    parts = [_open(width, height, caption)]
    for power in range(low, high + 1):
        _, y = place(xs[0], 10.0**power)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{width - right}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="axis" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{compact(10.0**power)}</text>'
        )
    for x in xs:
        at, _ = place(x, 10.0**low)
        parts.append(
            f'<text class="axis" x="{at:.1f}" y="{height - bottom + 18}" text-anchor="middle">{compact(x)}</text>'
        )
    middle = (left + width - right) / 2
    parts.append(f'<text class="axis" x="{middle:.1f}" y="{height - 8}" text-anchor="middle">{escape(x_name)}</text>')
    for line in lines:
        places = [place(point.x, point.y) for point in line.points if point.y > 0]
        path = " ".join(f"{'M' if not index else 'L'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(places))
        parts.append(f'<path d="{path}" fill="none" stroke="var({line.colour})" stroke-width="2.2"/>')
        for point in line.points:
            if point.y <= 0:
                continue
            (x, y), (_, y_low), (_, y_high) = (place(point.x, value) for value in (point.y, point.low, point.high))
            parts.append(
                f'<line x1="{x:.1f}" y1="{y_low:.1f}" x2="{x:.1f}" y2="{y_high:.1f}" stroke="var({line.colour})" '
                f'stroke-opacity=".45"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="var({line.colour})">'
                f"<title>{escape(line.name)}: {number(point.y)} {escape(unit)} at {compact(point.x)}</title></circle>"
            )
    return "".join([*parts, "</svg>"])


def compact(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def _open(width: int, height: int, caption: str) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg {size} role="img" aria-label="{escape(caption)}">'
