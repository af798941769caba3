"""Colours, for people at a terminal: never in a pipe or a file, and not for who says that he wants none (NO_COLOR)."""

from __future__ import annotations

import os
import sys
from typing import Final

_CODES: Final = {"bold": 1, "dim": 2, "reverse": 7, "red": 31, "green": 32, "yellow": 33, "blue": 34}


class Style:
    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured

    @classmethod
    def of_output(cls) -> Style:
        """As https://no-color.org wants it: any NO_COLOR that is not empty, and terminals that know no colours."""
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(coloured=wanted and sys.stdout.isatty())

    def paint(self, text: str, name: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self._coloured else text


def printable(text: str) -> str:
    """Names of groups and clients are anybody's to choose: none of them moves the cursor or breaks a table."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)
