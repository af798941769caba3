"""The controller's kit makes logs and images; it lives beside the tests of the controller."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "controller"))
