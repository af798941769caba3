"""The fenced blocks of a page, with what is said about each in a comment above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What is run: commands, programs, and what they print. The rest is text for other programs.
RUN = ("sh", "python")
FLAGS = ("the node", "runs on", "again", "stopped", "fails", "any order")
VALUES = ("not run", "file", "given", "from")

_BLOCK = re.compile(
    r"(?P<remarks>(?:^[ ]*<!-- .*? -->\n\s*?)*)^(?P<indent> *)```(?P<language>[\w-]*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_REMARK = re.compile(r"<!-- (.*?) -->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    flags: frozenset[str]
    values: dict[str, str]
    # Whether nothing but blank lines stands between it and the block before it.
    follows: bool

    @property
    def reason(self) -> str | None:
        """Why nobody runs it."""
        return self.values.get("not run")

    @property
    def file(self) -> str | None:
        return self.values.get("file")

    @property
    def is_run(self) -> bool:
        return self.reason is None and "from" not in self.values and (self.file is not None or self.language in RUN)

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, text: str | None = None) -> list[Block]:
    return list(_blocks(page, page.read_text(encoding="utf-8") if text is None else text))


def prose(page: Path) -> str:
    """The page without its blocks, line for line."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    return _BLOCK.sub(blank, page.read_text(encoding="utf-8"))


def _blocks(page: Path, text: str) -> Iterator[Block]:
    end = 0
    for found in _BLOCK.finditer(text):
        indent = len(found["indent"])
        lines = [line[indent:] if line.strip() else "\n" for line in found["text"].splitlines(keepends=True)]
        flags: set[str] = set()
        values: dict[str, str] = {}
        for remark in _REMARK.findall(found["remarks"]):
            name, colon, value = remark.partition(":")
            if colon and name in VALUES:
                values[name] = re.sub(r"\s*\n\s*", " ", value.strip())
            elif remark in FLAGS:
                flags.add(remark)
            else:
                raise ValueError(f"{page.name}: nobody knows what <!-- {remark} --> means")
        line = text.count("\n", 0, found.start("indent")) + 1
        follows = end > 0 and not text[end : found.start()].strip()
        yield Block(page, line, found["language"], "".join(lines), frozenset(flags), values, follows)
        end = found.end()
