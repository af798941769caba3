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
def test_runs(bootstrap: str, example: str) -> None:
    code = example.replace("127.0.0.1:9092", bootstrap)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
