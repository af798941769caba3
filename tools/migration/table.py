"""The table of docs/clients/migrating.md, between two marks in the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tools.migration.answers import Answers, ask, covers
from tools.migration.cases import outcomes
from tools.migration.names import Row, errors, imports, methods, settings
from tools.migration.reasons import REASONS
from tools.migration.trial import Outcome

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "clients" / "migrating.md"
BEGIN: Final = "<!-- The rest is written by `make generate`: do not edit. -->\n"


def chapters() -> dict[str, list[Row]]:
    """All that can be told by looking at the packages."""
    return {
        "What is imported": list(imports()),
        "Methods and their arguments": list(methods()),
        "Settings and their defaults": list(settings()),
        "Exceptions": list(errors()),
    }


def answer_rows(answers: Answers) -> list[Row]:
    return [
        Row(question, "", "yes" if covers(theirs, ours) else REASONS.get(f"answer: {question}", ""))
        for question, (theirs, ours) in answers.items()
    ]


def case_rows(outcomes: dict[str, Outcome]) -> list[Row]:
    return [
        Row(name, "", "yes" if outcome.alike else REASONS.get(f"case: {name}", ""))
        for name, outcome in outcomes.items()
    ]


def asked(bootstrap: str) -> dict[str, list[Row]]:
    """All that only a running node can tell."""
    return {
        "What the admin client answers": answer_rows(ask(bootstrap)),
        "What producers and consumers do": case_rows(outcomes(bootstrap, differs=_unexplained)),
    }


def _unexplained(name: str, outcome: Outcome) -> bool:
    return not outcome.alike and f"case: {name}" not in REASONS


def unexplained(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row.verdict]


def render(parts: dict[str, list[Row]]) -> str:
    return BEGIN + "".join(_chapter(title, rows) for title, rows in parts.items())


def _chapter(title: str, rows: list[Row]) -> str:
    same = sum(row.verdict == "yes" for row in rows)
    plain = not any(row.ours for row in rows)
    lines = [f"\n### {title}\n\n", f"{same} of {len(rows)} alike; the others with the reason.\n\n"]
    lines += ["| there | alike |\n|---|---|\n"] if plain else ["| there | here | alike |\n|---|---|---|\n"]
    lines += (_line(row, plain) for row in rows)
    return "".join(lines)


def _line(row: Row, plain: bool) -> str:
    cells = (row.theirs, row.verdict) if plain else (row.theirs, row.ours, row.verdict)
    return "| " + " | ".join(_cells(cells)) + " |\n"


def _cells(cells: tuple[Any, ...]) -> Iterator[str]:
    *names, verdict = (str(cell).replace("|", "\\|") for cell in cells)
    yield from (f"`{name}`" if name else "" for name in names)
    yield verdict


def written(page: str, table: str) -> str:
    """The page with its table replaced."""
    head, _, _ = page.partition(BEGIN)
    return head + table
