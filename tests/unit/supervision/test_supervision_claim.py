"""Two supervisors never have the same directory, not even for the moment in which one is cleared up after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.supervision import claim
from moldau.supervision.claim import claimed
from moldau.supervision.layout import LayoutError, remembered


def test_a_directory_belongs_to_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "_GUARD_SECONDS", 0.0)
    place = tmp_path / "made"
    with claimed(place), pytest.raises(LayoutError, match="is in use: another process runs its nodes"), claimed(place):
        pass
    with claimed(place):
        pass


def test_whoever_inherits_a_claim_has_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the guard of a supervisor that was killed."""
    monkeypatch.setattr(claim, "_GUARD_SECONDS", 0.0)
    with claimed(tmp_path) as held:
        heir = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(held,))
    with heir, pytest.raises(LayoutError, match="is in use"), claimed(tmp_path):
        pass
    with claimed(tmp_path) as held:
        assert not os.get_inheritable(held)


@pytest.mark.parametrize("file", ["meta.properties", "data/meta.properties"])
def test_the_directory_of_a_single_node_is_not_claimed(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(LayoutError, match="is that of a single node"), claimed(tmp_path):
        pass
    assert sorted(tmp_path.rglob("*")) == before


def test_that_of_several_nodes_is(tmp_path: Path) -> None:
    remembered(tmp_path, 1, 0)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").touch()
    with claimed(tmp_path):
        pass
