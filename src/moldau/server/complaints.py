"""What is told of those who never got as far as a request: once in a while for each address.

Anybody can connect and send nonsense, a thousand times a second. The log says so, and goes on being of use.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

logger = logging.getLogger("moldau.server")

# After one line about an address, so long nothing more about it; those in between are counted.
QUIET_SECONDS: Final = 10.0
# Addresses that are remembered. Whoever has more of them to come from is told about as one.
_MOST: Final = 1000
_MANY: Final = "many addresses"


class Complaints:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        # Since when it is quiet about an address, and how many were passed over since then.
        self._quiet: dict[str, tuple[float, int]] = {}

    def tell(self, address: str, sentence: str, *words: object, about: Mapping[str, object] | None = None) -> None:
        """`sentence` for the log, with its words, and what is known beside them."""
        now = self._now()
        if address not in self._quiet and len(self._quiet) >= _MOST:
            self._quiet = {known: entry for known, entry in self._quiet.items() if now - entry[0] < QUIET_SECONDS}
            if len(self._quiet) >= _MOST:
                address = _MANY
        since, untold = self._quiet.get(address, (now - QUIET_SECONDS, 0))
        if now - since < QUIET_SECONDS:
            self._quiet[address] = since, untold + 1
            return
        self._quiet[address] = now, 0
        if untold:
            sentence += " (and %d like it from %s before)"
            words = (*words, untold, address)
        logger.warning(sentence, *words, extra=about)
