"""The in-memory log and clock live beside the tests of the shard runtime, the in-process node beside those of APIs."""

from __future__ import annotations

import sys
from pathlib import Path

for neighbour in ("coordinator", "server_apis"):
    sys.path.append(str(Path(__file__).parent.parent / neighbour))
