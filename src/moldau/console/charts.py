"""Curves as SVG, without a style or a script in them: colours come from the style sheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

Point = tuple[float, float]

_MOST_POINTS: Final = 240
_PLANE_WIDTH: Final = 1000
_PLANE_HEIGHT: Final = 200


def sparkline(points: Iterable[Point], label: str, width: int = 96, height: int = 24) -> Markup:
    """A small curve beside a number."""
    known = _thinned(list(points))
    if len(known) < 2:
        return Markup('<svg class="spark" viewBox="0 0 {} {}" aria-hidden="true"></svg>').format(width, height)
    top = max(value for _, value in known) or 1.0
    line = _line(known, top, 0.0, 2.0, float(width), height - 4.0)
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        '<path class="area" d="{line} L{w} {h} L0 {h} Z"/><path class="line" d="{line}"/></svg>'
    ).format(w=width, h=height, label=label, line=line)


def curve(points: Iterable[Point], label: str, unit: str) -> Markup:
    """A curve with its scale: values to the left, times below. Empty while there are less than two points.

    The plane is stretched to whatever room there is, so what is written beside it stays as large as other words.
    """
    known = _thinned(list(points))
    if len(known) < 2:
        return Markup("")
    highest = _round_up(max(value for _, value in known))
    first, last = known[0][0], known[-1][0]
    values = Markup("").join(Markup("<span>{}</span>").format(_short(highest * share)) for share in (1.0, 0.5, 0.0))
    times = Markup("").join(
        Markup("<span>{}</span>").format(_clock(first + share * (last - first))) for share in (0.0, 0.5, 1.0)
    )
    return Markup(
        '<div class="plot"><div class="values" aria-hidden="true">{values}</div>'
        '<svg class="curve" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        '<path class="rule" d="M0 0 H{w} M0 {half} H{w} M0 {h} H{w}"/>'
        '<path class="area" d="{line} L{w} {h} L0 {h} Z"/><path class="line" d="{line}"/></svg>'
        '<div class="times" aria-hidden="true">{times}</div></div>'
    ).format(
        values=values,
        times=times,
        label=f"{label}: {_spoken(known, unit)}",
        line=_line(known, highest, 0.0, 0.0, _PLANE_WIDTH, _PLANE_HEIGHT),
        w=_PLANE_WIDTH,
        h=_PLANE_HEIGHT,
        half=_PLANE_HEIGHT // 2,
    )


def bar(share: float, label: str) -> Markup:
    """How much of something is used."""
    width = round(max(0.0, min(share, 1.0)) * 100, 1)
    kind = "bad" if share > 0.9 else "warn" if share > 0.75 else "fine"
    return Markup(
        '<svg class="bar {}" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="track" width="100" height="6" rx="3"/><rect class="fill" width="{}" height="6" rx="3"/></svg>'
    ).format(kind, escape(label), width)


def _line(points: Sequence[Point], highest: float, left: float, top: float, width: float, height: float) -> str:
    first, last = points[0][0], points[-1][0]
    span = (last - first) or 1.0
    return "M" + " L".join(
        f"{_number(left + (at - first) / span * width)} {_number(top + height - value / highest * height)}"
        for at, value in points
    )


def _thinned(points: list[Point]) -> list[Point]:
    """The highest of each group of neighbours, so that no peak gets lost."""
    step = -(-len(points) // _MOST_POINTS)
    if step <= 1:
        return points
    return [max(points[begin : begin + step], key=lambda point: point[1]) for begin in range(0, len(points), step)]


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _round_up(value: float) -> float:
    if value <= 0:
        return 1.0
    power = 10 ** (len(str(int(value))) - 1) if value >= 1 else 0.1
    return next((power * step for step in (1, 2, 3, 4, 5, 6, 8, 10) if power * step >= value), value)


def _short(value: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (1000 if unit == 'k' else limit):.3g} {unit}"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"


def _spoken(points: Sequence[Point], unit: str) -> str:
    values = [value for _, value in points]
    minutes = (points[-1][0] - points[0][0]) / 60
    return f"now {values[-1]:,.0f} {unit}, at most {max(values):,.0f} in the last {minutes:.0f} minutes"
