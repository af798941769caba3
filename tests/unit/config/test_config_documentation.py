from __future__ import annotations

from pathlib import Path

from moldau.config.broker import BROKER_SETTINGS, TABLES
from moldau.config.documentation import BROKER_SECTIONS, render
from moldau.config.topic import TOPIC_SETTINGS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "CONFIGURATION.md"


def test_the_page_in_docs_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == render(), "run python tools/generate_configuration.py"


def test_every_setting_is_on_the_page():
    page = render()
    for row in (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()):
        assert (f"| `{row.name}` |" in page) != row.internal, row.name
    assert {table for _, table in BROKER_SECTIONS} == set(TABLES)
