"""Every transcript, line by line; see `group_transcript` for the language."""

from __future__ import annotations

from pathlib import Path

import pytest
from group_transcript import check_in_slices, check_transcript

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    check_transcript(path)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript_in_the_smallest_slices(path: Path) -> None:
    check_in_slices(path)
