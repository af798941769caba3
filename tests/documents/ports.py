"""Ports for a page: the ones it names, all moved by the same amount, so that they stay as far apart as it says."""

from __future__ import annotations

import contextlib
import re
import socket

# Kafka's, the console's and those that monitoring asks.
LOWEST, HIGHEST = 8000, 9999
_NAMED = re.compile(r"(?:(?<=127\.0\.0\.1:)|(?<=localhost:)|(?<=//:)|(?<=--port )|(?<=--port=))([89]\d{3})(?!\d)")
# Beyond the ones a page names: a cluster of three takes the two that follow.
FOLLOWERS = 3


class Ports:
    def __init__(self, *texts: str) -> None:
        named = {9092, 9080} | {int(port) for text in texts for port in _NAMED.findall(text)}
        wanted = {port + more for port in named for more in range(FOLLOWERS)}
        # Below what systems give to those who ask for any port.
        for shift in range(HIGHEST + 1 - LOWEST, 24_000, HIGHEST + 1 - LOWEST):
            with contextlib.suppress(OSError):
                # Whoever holds the first one has the others; nobody names it.
                self._held = socket.create_server(("127.0.0.1", LOWEST + shift))
                try:
                    for port in wanted:
                        socket.create_server(("127.0.0.1", port + shift)).close()
                except OSError:
                    self._held.close()
                    raise
                self._shift = shift
                return
        raise OSError("no ports are free")

    def moved(self, text: str) -> str:
        """For a command or a program."""
        return _NAMED.sub(lambda found: str(int(found[1]) + self._shift), text)

    def shown(self, text: str) -> str:
        """As the page has it."""
        return re.sub(r"(?<=:)(\d{5})(?!\d)", self._back, text)

    def _back(self, found: re.Match[str]) -> str:
        port = int(found[1]) - self._shift
        return str(port) if LOWEST <= port <= HIGHEST else found[1]

    def close(self) -> None:
        self._held.close()
