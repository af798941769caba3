"""Writes docs/CONFIGURATION.md from the tables of settings; with --check only says whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from moldau.config.documentation import render

PAGE = Path(__file__).resolve().parent.parent / "docs" / "CONFIGURATION.md"


def main(arguments: list[str]) -> int:
    page = render()
    if "--check" in arguments:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
            return 0
        print(f"{PAGE.name} is not up to date: run python tools/{Path(__file__).name}", file=sys.stderr)
        return 1
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE.name}: {page.count(chr(10))} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
