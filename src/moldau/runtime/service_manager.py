"""Who started the node and wants to hear of it: systemd, for a service of `Type=notify`.

It gives the name of a datagram socket in NOTIFY_SOCKET, and in WATCHDOG_USEC the microseconds of silence after which it
takes the process for hung. Where the variables are missing nobody is told anything.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from typing import Final

from moldau.runtime.ports import Loop

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"
ALIVE: Final = "WATCHDOG=1"
_AGAIN_SECONDS: Final = 0.1


class ServiceManager:
    def __init__(self, environment: MutableMapping[str, str]) -> None:
        """Takes the variables away: they are meant for this process and not for those that it starts."""
        name = environment.pop("NOTIFY_SOCKET", "")
        # A leading @ stands for the zero byte of a name that is no file.
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        own = str(os.getpid())
        watched = environment.pop("WATCHDOG_PID", own) == own
        patience = environment.pop("WATCHDOG_USEC", "")
        # How often it wants to hear from us, in seconds; None if it does not.
        self.interval = int(patience) / 2_000_000 if self._address and watched and patience.isdecimal() else None

    def tell(self, *words: str) -> bool:
        """Whether it may be taken for told; False if it was too busy to listen. Nothing is raised: a node does not
        depend on who watches it."""
        if not self._address:
            return True
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
                line.setblocking(False)
                line.sendto("\n".join(words).encode(), self._address)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def ready(self, loop: Loop, *words: str) -> None:
        """Says so, and from then on that the loop turns."""
        if not self.tell(READY, *words):
            loop.call_later(_AGAIN_SECONDS, lambda: self.ready(loop, *words))
        elif self.interval is not None:
            self._say_alive(loop, self.interval)

    def _say_alive(self, loop: Loop, interval: float) -> None:
        # One that gets lost is followed by another in time.
        self.tell(ALIVE)
        loop.call_later(interval, lambda: self._say_alive(loop, interval))
