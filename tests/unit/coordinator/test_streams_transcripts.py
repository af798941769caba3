"""Streams groups, as plays with answers: `streams_transcript` says how to read and rewrite them."""

from __future__ import annotations

from pathlib import Path

import pytest
from group_transcript import check_in_slices, check_transcript
from streams_transcript import StreamsStage

PLAYS = sorted((Path(__file__).parent / "streams_transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", PLAYS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    check_transcript(path, StreamsStage)


@pytest.mark.parametrize("path", PLAYS, ids=lambda path: path.stem)
def test_transcript_in_slices(path: Path) -> None:
    check_in_slices(path, StreamsStage)
