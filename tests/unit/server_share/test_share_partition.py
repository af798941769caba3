"""Every transcript of a share partition; see `share_stage` for the language."""

from __future__ import annotations

from pathlib import Path

import pytest
from share_stage import check_transcript

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    check_transcript(path)
