"""A log's life under a whole node: the kits of the log and of the server APIs in one place."""

from __future__ import annotations

import sys
from pathlib import Path

for room in ("storage", "server_apis", "controller"):
    sys.path.insert(0, str(Path(__file__).parent.parent / room))
