"""Every command against a node that knows nothing of what it is asked about: a status that says so, and a sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from node_process import MOLDAU
from patience import PATIENCE

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "cli"))

from grammar import asking, example


@pytest.fixture(scope="module")
def password(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("password") / "password"
    file.write_text("secret\n")
    return file


@pytest.mark.ours_only("what the node is allowed to refuse is its own")
@pytest.mark.parametrize("words", asking())
def test_nothing_is_known_of_it(words: str, bootstrap: str, password: Path) -> None:
    command = [str(MOLDAU), *example(words, asking()[words], password), "-b", bootstrap, "--timeout", "20s"]
    ended = subprocess.run(command, capture_output=True, text=True, input="", timeout=PATIENCE, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    assert "Unexpected" not in ended.stderr
    assert "Traceback" not in ended.stderr
    if ended.returncode:
        assert ended.stderr.strip() or ended.stdout.strip()
        assert all(line.startswith("moldau: ") for line in ended.stderr.splitlines()), ended.stderr
