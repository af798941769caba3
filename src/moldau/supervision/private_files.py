"""Files that only their owner may read, and properties as such files hold them: whole at any moment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def write_private(path: Path, content: str) -> None:
    _write(path, content, 0o600)


def write_public(path: Path, content: str) -> None:
    _write(path, content, 0o644)


def _write(path: Path, content: str, mode: int) -> None:
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    draft.replace(path)


def properties_text(comment: str, properties: Mapping[str, str]) -> str:
    """As Java and we read it, whatever the values are."""
    lines = [f"# {comment}", *(f"{name}={_escaped(value)}" for name, value in properties.items())]
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    # Java takes such files for Latin-1, others for UTF-8: what is in neither is right in both.
    text = "".join(letter if " " <= letter <= "~" or letter == "\t" else _unicode(letter) for letter in text)
    return f"\\{text}" if text[:1] in (" ", "\t") else text


def _unicode(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
