"""What holds for all tests."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import settings

# No test depends on how fast the machine is today.
settings.register_profile("moldau", deadline=None)
settings.load_profile("moldau")


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Prints a line at once, past pytest's capturing: a test that runs for minutes says how far it is."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def tell(sentence: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{sentence}", file=sys.stderr, flush=True)

    return tell
