"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# No test depends on how fast the machine is today.
settings.register_profile("moldau", deadline=None)
settings.load_profile("moldau")
