"""Writes src/moldau/protocol/messages/ from the definitions in src/moldau/protocol/schema/.

python tools/generate_messages.py            write what changed
python tools/generate_messages.py --check    only tell whether something would change; exit status 1 if so
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from message_generator.generator import generate
from message_generator.language import DefinitionError, load

PROTOCOL = Path(__file__).resolve().parent.parent / "src" / "moldau" / "protocol"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Generate the message classes from their definitions.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a file is out of date")
    options = parser.parse_args(arguments)
    try:
        files = generate(load(PROTOCOL / "schema"))
    except DefinitionError as error:
        print(error, file=sys.stderr)
        return 2
    return bring_up_to_date(PROTOCOL / "messages", files, check=options.check)


def bring_up_to_date(directory: Path, files: dict[str, str], *, check: bool) -> int:
    """Makes `directory` hold exactly `files`, or with `check` tells what is different."""
    stale = [path for path in sorted(directory.glob("*.py")) if path.name not in files]
    changed = [name for name, text in sorted(files.items()) if _read(directory / name) != text]
    for path in stale:
        print(f"{path.name}: no definition leads to it")
        if not check:
            path.unlink()
    for name in changed:
        print(f"{name}: out of date" if check else f"{name}: written")
        if not check:
            (directory / name).write_text(files[name])
    return 1 if check and (stale or changed) else 0


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
