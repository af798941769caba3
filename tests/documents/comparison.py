"""What a page shows against what was printed."""

from __future__ import annotations

import re

LEFT_OUT = "..."
_ID = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|\+00:00)?")


def compare(shown: str, printed: str, *, any_order: bool = False) -> None:
    """Raises AssertionError, with both texts, where they differ."""
    expected = [line.rstrip() for line in shown.splitlines()]
    found = [_plain(line.rstrip()) for line in printed.splitlines()]
    same = _without_order(expected, found) if any_order else _in_order(expected, found)
    assert same, f"the page shows\n{shown}\nand what was printed is\n{printed}"


def _plain(line: str) -> str:
    """Without what is drawn anew each time."""
    return _TIME.sub("TIME", _ID.sub("ID", line))


def _pattern(line: str) -> str:
    return re.escape(_plain(line)).replace(re.escape(LEFT_OUT), ".*")


def _in_order(expected: list[str], found: list[str]) -> bool:
    pattern = "".join(r"(?:.*\n)*" if line == LEFT_OUT else _pattern(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None


def _without_order(expected: list[str], found: list[str]) -> bool:
    left = list(found)
    for line in expected:
        if line == LEFT_OUT:
            continue
        match = next((each for each in left if re.fullmatch(_pattern(line), each)), None)
        if match is None:
            return False
        left.remove(match)
    return not left or LEFT_OUT in expected
