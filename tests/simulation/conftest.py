"""The simulated world of the coordinators is the one of their unit tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "unit" / "coordinator"))
sys.path.append(str(Path(__file__).parent.parent / "unit" / "coordinator_txn"))
