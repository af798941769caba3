"""Who clears up after nodes keeps others from their directory until that is done."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from moldau.supervision.guard import Guard


def claim(path: Path) -> int:
    """BlockingIOError while somebody else has it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise
    return file


def test_a_directory_is_claimed_until_its_guard_has_ended(tmp_path: Path) -> None:
    place = tmp_path / "claim"
    mine = claim(place)
    guard = Guard(tmp_path, keep=True, claim=mine)
    os.close(mine)
    with pytest.raises(BlockingIOError):
        claim(place)
    guard.close()
    os.close(claim(place))


def test_a_guard_without_a_claim_holds_nothing(tmp_path: Path) -> None:
    place = tmp_path / "claim"
    mine = claim(place)
    guard = Guard(tmp_path, keep=True)
    os.close(mine)
    os.close(claim(place))
    guard.close()
