"""The drawings: every part and every edge is in them, and the SVG is a document by itself."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from moldau.spark.pipeline import Pipeline, load
from moldau.spark.pipeline.plan import draw
from moldau.spark.pipeline.sharing import candidates
from moldau.spark.pipeline.sources import topic_options
from moldau.spark.pipeline.svg import draw_svg
from moldau.spark.pipeline.template import template

pytest.importorskip("yaml")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    path = tmp_path / "orders.yaml"
    path.write_text(template("orders.yaml", "orders"))
    return load(str(path))


def test_the_drawing_for_a_terminal(pipeline: Pipeline) -> None:
    assert draw(pipeline) == [
        "orders: orders read from a topic, cleaned, summed up per minute and region",
        "● orders                     topic orders from earliest",
        "└─ parsed                    parse json requires id, at  ✕ bad records",
        "   └─ sane                   expect the amount is positive  ✕ bad records",
        "      └─ unique              deduplicate id within 10 min",
        "         └─ enriched         join regions using region",
        "            ├─ revenue       aggregate revenue, orders by region, manager per 1 min (up to 10 min late)",
        "            │  └─ ▶ revenue  topic revenue exactly once (update)",
        "            └─ ▶ archive     parquet archive/orders",
        "● regions                    rows 2 rows (read once)",
        "└─ → enriched",
        "",
        "✕ dead_letters               topic orders-dead exactly once, from parsed, sane",
    ]


def test_the_svg_has_a_box_per_part_and_a_line_per_edge(pipeline: Pipeline) -> None:
    root = ElementTree.fromstring(draw_svg(pipeline))
    space = "{http://www.w3.org/2000/svg}"
    names = [text.text for text in root.iter(f"{space}text") if text.get("class") == "name"]
    parts = [*pipeline.sources, *pipeline.steps, *pipeline.sinks, "dead_letters"]
    assert sorted(names) == sorted(parts)
    edges = [path for path in root.iter(f"{space}path") if "edge" in (path.get("class") or "")]
    assert len(edges) == 6 + 2 + 2  # of the steps, the sinks, the dead letters


def test_boxes_do_not_overlap_and_fit_the_page(pipeline: Pipeline) -> None:
    root = ElementTree.fromstring(draw_svg(pipeline))
    space = "{http://www.w3.org/2000/svg}"
    page = float(root.get("width") or 0), float(root.get("height") or 0)
    boxes = [
        tuple(float(rect.get(name) or 0) for name in ("x", "y", "width", "height"))
        for rect in root.iter(f"{space}rect")
        if "box" in (rect.get("class") or "")
    ]
    for x, y, width, height in boxes:
        assert x >= 0
        assert y >= 0
        assert x + width <= page[0]
        assert y + height <= page[1]
    for index, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, *_ in boxes[index + 1 :]:
            assert abs(x - other_x) >= width or abs(y - other_y) >= height


def test_the_svg_names_no_foreign_address(pipeline: Pipeline) -> None:
    drawing = draw_svg(pipeline).replace("http://www.w3.org/2000/svg", "")
    assert "http" not in drawing


@pytest.mark.parametrize(
    ("given", "isolation"),
    [
        ("", "read_committed"),
        (", isolation: read_uncommitted", "read_uncommitted"),
        (", options: {kafka.isolation.level: read_uncommitted}", "read_uncommitted"),
    ],
)
def test_topics_are_read_committed_unless_told_otherwise(tmp_path: Path, given: str, isolation: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"pipeline: p\nsources: {{s: {{topic: a{given}}}}}\nsinks: {{out: {{from: s, memory: m}}}}\n")
    pipeline = load(str(path))
    assert topic_options(pipeline, pipeline.sources["s"])["kafka.isolation.level"] == isolation


SINKS = """
  topic: {from: parsed, topic: a}
  files: {from: few, parquet: files}
  shown: {from: parsed, console: 5}
  often: {from: parsed, topic: b, delivery: at-least-once}
  base: {from: parsed, jdbc: 'jdbc:x', table: t}
  slow: {from: parsed, topic: c, trigger: 1 minute}
  sums: {from: counted, topic: d, mode: update}
  other: {from: t, topic: e}
  kept: {from: parsed, memory: kept}
"""


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ("", {"s": ["topic", "files", "shown", "dead_letters"], "t": ["other"]}),
        ("share: true\n", {"s": ["topic", "files", "shown", "often", "base", "dead_letters"], "t": ["other"]}),
        ("share: false\n", {}),
    ],
)
def test_who_shares_a_query(tmp_path: Path, share: str, expected: dict[str, list[str]]) -> None:
    path = tmp_path / "shared.yaml"
    path.write_text(
        f"pipeline: shared\n{share}sources: {{s: {{topic: s}}, t: {{topic: t}}}}\nsteps:\n"
        "  parsed: {from: s, parse: json, schema: 'id INT'}\n  few: {from: parsed, filter: id > 1}\n"
        f"  counted: {{from: parsed, aggregate: {{n: count(*)}}, by: id}}\nsinks:{SINKS}dead_letters: {{topic: dead}}\n"
    )
    found = candidates(load(str(path)))
    assert {source: [part.name for part in parts] for source, parts in found.items()} == expected
