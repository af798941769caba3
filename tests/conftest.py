"""What holds for all tests."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background deaf to Ctrl-C, and children inherit it. Commands under test must hear.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # So does nohup with the end of a terminal, which a node then passes over on purpose.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

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
