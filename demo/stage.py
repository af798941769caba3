"""What is seen on the terminal: one line per act, with a moving one at the bottom while something is under way."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Final

_WHEEL: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_COLOURS: Final = {"ok": "\x1b[32m", "bad": "\x1b[31m", "dim": "\x1b[2m", "bold": "\x1b[1m", "blue": "\x1b[36m"}
_END: Final = "\x1b[0m"
_NAME_WIDTH: Final = 12


class Stage:
    """Lines stay; `moving` is replaced until the next line comes. Without a terminal only what stays is written."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._colour = self._live and not os.environ.get("NO_COLOR")
        self._turn = 0
        self._began = time.monotonic()
        self._moving = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def title(self, text: str, more: str) -> None:
        self._write(f"\n{self._paint('bold', text)}  {self._paint('dim', more)}\n")

    def done(self, name: str, text: str) -> None:
        self._write(f"  {self._paint('ok', '✓')} {self._paint('bold', name.ljust(_NAME_WIDTH))} {text}")

    def struck(self, name: str, text: str) -> None:
        self._write(f"  {self._paint('bad', '✗')} {self._paint('bad', name.ljust(_NAME_WIDTH))} {text}")

    def line(self, text: str = "", style: str = "dim") -> None:
        self._write(f"    {self._paint(style, text)}" if text else "")

    def moving(self, name: str, text: str) -> None:
        if not self._live:
            return
        self._turn += 1
        wheel = self._paint("blue", _WHEEL[self._turn % len(_WHEEL)])
        width = shutil.get_terminal_size().columns - _NAME_WIDTH - 6
        sys.stdout.write(f"\r\x1b[K  {wheel} {name.ljust(_NAME_WIDTH)} {text[:width]}")
        sys.stdout.flush()
        self._moving = True

    def _write(self, text: str) -> None:
        if self._moving:
            sys.stdout.write("\r\x1b[K")
            self._moving = False
        print(text, flush=True)

    def _paint(self, style: str, text: str) -> str:
        return f"{_COLOURS[style]}{text}{_END}" if self._colour else text


def bar(part: float, width: int = 24) -> str:
    filled = round(max(0.0, min(1.0, part)) * width)
    return "█" * filled + "░" * (width - filled)
