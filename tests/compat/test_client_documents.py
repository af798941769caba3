"""Every Python example in docs/clients, run as it stands there (with the address of the node under test)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[2] / "docs" / "clients"
EXAMPLES = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted(DOCUMENTS.glob("*.md"))
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL), 1)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_runs(bootstrap: str, example: str, tmp_path: Path) -> None:
    code = example.replace("127.0.0.1:9092", bootstrap)
    command = [sys.executable, "-W", "error", "-c", code]
    if "\ndef test_" in code:
        # Tests are run as their reader would run them: by pytest, with the fixtures of the installed package.
        (tmp_path / "test_example.py").write_text(code)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""


def test_every_page_is_named_on_the_first() -> None:
    first = (DOCUMENTS / "README.md").read_text()
    assert [page.name for page in sorted(DOCUMENTS.glob("*.md")) if f"({page.name})" not in first] == ["README.md"]
