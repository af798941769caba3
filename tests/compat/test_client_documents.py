"""Every Python example in docs/clients, run as it stands there, each page against a node as its reader starts one. What
an example prints stands behind it in the page; `...` there is whatever differs from run to run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import NodeProcess

from conftest import ELSEWHERE, ON_KAFKA

DOCUMENTS = Path(__file__).parents[2] / "docs" / "clients"
PAGES = sorted(DOCUMENTS.glob("*.md"))
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.fixture
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """No settings: what the pages promise holds for `moldau start` alone."""
    if ON_KAFKA or ELSEWHERE:
        yield request.getfixturevalue("bootstrap")
        return
    started = NodeProcess(tmp_path / "data")
    yield started.bootstrap
    started.kill()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if EXAMPLE.search(page.read_text())], ids=lambda page: page.stem
)
def test_examples_do_what_the_page_says(node: str, page: Path, tmp_path: Path) -> None:
    for number, (example, printed) in enumerate(EXAMPLE.findall(page.read_text()), 1):
        code = example.replace("127.0.0.1:9092", node)
        command = [sys.executable, "-W", "error", "-c", code]
        if "\ndef test_" in code:
            # Tests are run as their reader would run them: by pytest, with the fixtures of the installed package.
            (tmp_path / "test_example.py").write_text(code)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=tmp_path)
        where = f"example {number} of {page.name}"
        assert (done.returncode, done.stderr) == (0, ""), f"{where}\n{done.stdout}{done.stderr}"
        if "pytest" not in command:
            expected = re.escape(printed.replace("127.0.0.1:9092", node)).replace(re.escape("..."), ".*")
            assert re.fullmatch(expected, done.stdout), f"{where} prints\n{done.stdout}and the page says\n{printed}"


def test_every_page_is_named_on_the_first() -> None:
    first = (DOCUMENTS / "README.md").read_text()
    assert [page.name for page in PAGES if f"({page.name})" not in first] == ["README.md"]
