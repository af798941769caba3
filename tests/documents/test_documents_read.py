"""Each page of README.md and docs/, read from its first block to the last. Pages about the clients are read beside the
other tests of clients (`tests/compat/test_client_documents.py`), those about Spark where there is a session of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from documents.fences import ROOT, blocks, pages
from documents.reader import DEFAULT_ADDRESSES, Reader

ELSEWHERE = ("docs/clients", "docs/spark")
HERE = [
    pytest.param(page, id=str(page.relative_to(ROOT)))
    for page in pages()
    if not str(page.relative_to(ROOT)).startswith(ELSEWHERE) and any(block.is_run for block in blocks(page))
]


@pytest.mark.parametrize("page", HERE)
def test_a_reader_finds_what_the_page_says(page: Path, tmp_path: Path) -> None:
    found = blocks(page)
    reader = Reader(tmp_path, *(block.text for block in found))
    try:
        for block in found:
            reader.read(block)
        reader.finish()
    finally:
        reader.close()


@pytest.mark.parametrize(("command", "option"), DEFAULT_ADDRESSES.items())
def test_the_addresses_that_are_moved_are_the_defaults(command: str, option: str) -> None:
    usage = subprocess.run(
        [sys.executable, "-m", *command.split(), "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    flag, default = option.split()
    said = " ".join(usage.stdout.split())
    assert f"{flag} " in said
    assert f"(default {default}" in said
