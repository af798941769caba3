"""The reference names every kind with all its fields, and the tutorial shows what the commands really print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from moldau.spark.pipeline import load
from moldau.spark.pipeline.kinds import KINDS, PIPELINE, RESTART
from moldau.spark.pipeline.plan import draw
from moldau.spark.pipeline.template import template

_DOCUMENTS = Path(__file__).parents[3] / "docs" / "spark"
_COMMON = {
    "source": {"description"},
    "step": {"description", "from"},
    "sink": {"description", "from", "mode", "trigger"},
}


def test_every_kind_and_every_field_is_in_the_reference() -> None:
    text = (_DOCUMENTS / "pipelines.md").read_text()
    for section, kinds in KINDS.items():
        chapter = re.split(r"^## ", text.split(f"## {section.capitalize()}s\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
        for kind in kinds.values():
            heading = f"### `{kind.name}`: {kind.meaning}\n"
            assert heading in chapter, heading
            table = chapter.split(heading)[1].split("\n### ")[0]
            for field in kind.fields.values():
                if field.name not in _COMMON[section]:
                    takes = field.type.takes.replace("|", "\\|")
                    assert f"| `{field.name}` | {takes} | {field.meaning}" in table, (kind.name, field.name)
    for field in [*PIPELINE.values(), *RESTART.values()]:
        assert f"| `{field.name}` |" in text


def test_the_tutorial_shows_the_plan_of_the_template(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "orders.yaml"
    path.write_text(template("orders.yaml", "orders"))
    assert "\n".join(draw(load(str(path)))) in (_DOCUMENTS / "README.md").read_text()
