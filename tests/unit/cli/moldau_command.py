"""The command as its users run it: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

RunMoldau = Callable[..., "subprocess.CompletedProcess[bytes]"]


def run_moldau(*arguments: str, given: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs `moldau` with arguments; `given` is its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "moldau", *arguments],
        input=given,
        capture_output=True,
        timeout=60,
        env={**os.environ, **environment},
    )
