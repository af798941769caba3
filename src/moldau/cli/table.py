"""Output for people (aligned columns) and for machines (JSON)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from moldau.cli.style import printable

if TYPE_CHECKING:
    from moldau.diagnosis.findings import Finding


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, indent: str = "") -> None:
    """Columns as wide as their content; numbers to the right, nothing after the last column."""
    rows = [list(row) for row in rows]
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max(len(name), *(len(row[index]) for row in cells), 0) for index, name in enumerate(columns)]
    right = [
        all(row[index] is None or type(row[index]) is int for row in rows) and bool(rows)
        for index in range(len(columns))
    ]
    for line in [list(columns), *cells]:
        padded = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        print((indent + "  ".join(padded)).rstrip())


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    print()


def print_json_line(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def note(sentence: str) -> None:
    """A remark beside the output: standard error, so that pipes carry only the data."""
    print(sentence, file=sys.stderr)


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value) or "-"
    return printable(str(value).replace("\n", " "))


def print_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        print(f"- {printable(finding.fact)}")
        if finding.advice is not None:
            print(f"  -> {printable(finding.advice)}")
