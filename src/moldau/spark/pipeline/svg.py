"""The graph of a pipeline as SVG: columns from sources to sinks, one box per part, light and dark.

A part stands one column to the right of the furthest part it reads; inside a column parts are ordered by where their
inputs stand, which leaves few crossings in graphs of this size.
"""

from __future__ import annotations

from html import escape
from typing import Final, NamedTuple

from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.plan import describe

_WIDTH: Final = 210
_HEIGHT: Final = 58
_PASSAGE: Final = 12
_ACROSS: Final = 70
_DOWN: Final = 26
_MARGIN: Final = 28
_HEAD: Final = 40

_STYLE: Final = """
  .page { fill: #ffffff } .name { fill: #17202b } .what { fill: #566273 } .edge { stroke: #9aa7b5; fill: none }
  .box { fill: #f4f6f9; stroke: #c5ced8 } .source { stroke: #2f7fc1 } .step { stroke: #7b8794 }
  .sink { stroke: #2f9e6e }
  .dead { stroke: #c2502f } .edge.dead { stroke: #c2502f; stroke-dasharray: 4 4 }
  text { font: 12px system-ui, sans-serif } .name { font-weight: 600; font-size: 14px } .title { font-size: 17px }
  @media (prefers-color-scheme: dark) {
    .page { fill: #12171e } .name { fill: #e8edf3 } .what { fill: #9fb0c1 } .edge { stroke: #55657a }
    .box { fill: #1b232d; stroke: #39475a } .source { stroke: #5aa9e6 } .step { stroke: #8b9bb0 }
    .sink { stroke: #4cc38a } .dead, .edge.dead { stroke: #e8835f }
  }
"""


class _Box(NamedTuple):
    part: Part
    x: float
    y: float


class _Edge(NamedTuple):
    """From a part to one that reads it, by way of a free place in every column between."""

    start: Part
    end: Part
    through: tuple[str, ...]


def draw_svg(pipeline: Pipeline) -> str:
    columns, edges = _layout(pipeline)
    height = _HEAD + 2 * _MARGIN + max(_column_height(column) for column in columns)
    width = 2 * _MARGIN + len(columns) * (_WIDTH + _ACROSS) - _ACROSS
    boxes: dict[int, _Box] = {}
    passages: dict[str, tuple[float, float]] = {}
    for index, column in enumerate(columns):
        x = _MARGIN + index * (_WIDTH + _ACROSS)
        y = _HEAD + (height - _HEAD - _column_height(column)) / 2
        for item in column:
            if isinstance(item, str):
                passages[item] = x, y + _PASSAGE / 2
                y += _PASSAGE + _DOWN
            else:
                boxes[id(item)] = _Box(item, x, y)
                y += _HEIGHT + _DOWN
    drawn = [
        _line(boxes[id(edge.start)], boxes[id(edge.end)], [passages[name] for name in edge.through]) for edge in edges
    ]
    drawn += [_box(box) for box in boxes.values()]
    title = escape(pipeline.name + (f" · {pipeline.description}" if pipeline.description else ""))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" '
        f'height="{height:.0f}" role="img" aria-label="pipeline {escape(pipeline.name)}">\n<style>{_STYLE}</style>\n'
        f'<rect class="page" width="100%" height="100%"/>\n'
        f'<text class="name title" x="{_MARGIN}" y="{_MARGIN + 8}">{title}</text>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def _layout(pipeline: Pipeline) -> tuple[list[list[Part | str]], list[_Edge]]:
    """The columns, with a name in every place that an edge only passes, and the edges."""
    depth = _depths(pipeline)
    columns: list[list[Part | str]] = [[] for _ in range(max(depth.values()) + 1)]
    parts = [*pipeline.sources.values(), *pipeline.steps.values(), *pipeline.outputs]
    for part in parts:
        columns[depth[id(part)]].append(part)
    edges: list[_Edge] = []
    feeds: dict[int | str, list[int | str]] = {}
    for end in parts:
        for name in end.inputs:
            start = pipeline.part(name)
            before: int | str = id(start)
            through = []
            for column in range(depth[id(start)] + 1, depth[id(end)]):
                passage = f"{name} {id(end)} {column}"
                columns[column].append(passage)
                feeds[passage] = [before]
                through.append(passage)
                before = passage
            feeds.setdefault(id(end), []).append(before)
            edges.append(_Edge(start, end, tuple(through)))
    rank: dict[int | str, float] = {}
    for items in columns:
        # What goes to the dead letters passes below the rest.
        items.sort(
            key=lambda item: (_goes_down(item, pipeline), _middle([rank[each] for each in feeds.get(_key(item), ())]))
        )
        for row, item in enumerate(items):
            rank[_key(item)] = row - len(items) / 2
    return columns, edges


def _depths(pipeline: Pipeline) -> dict[int, int]:
    depth: dict[int, int] = {id(part): 0 for part in pipeline.sources.values()}
    for step in pipeline.steps.values():
        depth[id(step)] = max((depth[id(pipeline.part(name))] + 1 for name in step.inputs), default=0)
    # A table that is only joined later stands right before the step that joins it, not far to the left.
    for source in pipeline.sources.values():
        readers = [depth[id(step)] for step in pipeline.steps.values() if source.name in step.inputs]
        depth[id(source)] = max(0, min(readers, default=1) - 1)
    for sink in pipeline.outputs:
        depth[id(sink)] = max((depth[id(pipeline.part(name))] + 1 for name in sink.inputs), default=1)
    return depth


def _key(item: Part | str) -> int | str:
    return item if isinstance(item, str) else id(item)


def _goes_down(item: Part | str, pipeline: Pipeline) -> bool:
    dead = pipeline.dead_letters
    return item is dead or (isinstance(item, str) and dead is not None and f" {id(dead)} " in item)


def _column_height(column: list[Part | str]) -> int:
    return sum((_PASSAGE if isinstance(item, str) else _HEIGHT) + _DOWN for item in column) - _DOWN


def _middle(ranks: list[float]) -> float:
    return sum(ranks) / len(ranks) if ranks else 0.0


def _line(start: _Box, end: _Box, through: list[tuple[float, float]]) -> str:
    x, y = start.x + _WIDTH, start.y + _HEIGHT / 2
    path = f"M{x:.0f} {y:.0f}"
    for next_x, next_y in [*through, (end.x, end.y + _HEIGHT / 2)]:
        middle = (x + next_x) / 2
        path += f" C{middle:.0f} {y:.0f} {middle:.0f} {next_y:.0f} {next_x:.0f} {next_y:.0f}"
        x, y = next_x, next_y
        if (next_x, next_y) in through:
            path += f" H{x + _WIDTH:.0f}"
            x += _WIDTH
    return f'<path class="{"edge dead" if _is_dead(end.part) else "edge"}" stroke-width="1.6" d="{path}"/>'


def _box(box: _Box) -> str:
    part = box.part
    style = "dead" if _is_dead(part) else part.section
    words = describe(part)
    return (
        f"<g><title>{escape(words)}</title>"
        f'<rect class="box {style}" x="{box.x:.0f}" y="{box.y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="9" '
        'stroke-width="1.8"/>'
        f'<text class="name" x="{box.x + 13:.0f}" y="{box.y + 24:.0f}">{escape(_cut(part.name, 24))}</text>'
        f'<text class="what" x="{box.x + 13:.0f}" y="{box.y + 43:.0f}">'
        f"{escape(_cut(f'{part.kind}: {words}', 30))}</text></g>"
    )


def _is_dead(part: Part) -> bool:
    return part.name == "dead_letters" and part.section == "sink"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
