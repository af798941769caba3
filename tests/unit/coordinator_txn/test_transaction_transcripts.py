"""Every transcript, line by line; see `txn_transcript` for the language."""

from __future__ import annotations

from pathlib import Path

import pytest
from txn_transcript import check_transcript

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    check_transcript(path)
