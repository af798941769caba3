"""The kit of a whole node in one process stands with the server's APIs."""

from __future__ import annotations

import sys
from pathlib import Path

for room in ("server_apis", "controller"):
    sys.path.append(str(Path(__file__).parent.parent / room))
