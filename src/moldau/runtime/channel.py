"""What lies between a socket and the frames on it: the one place where bytes may be wrapped.

A plain channel hands the socket's own functions to the transport, so it costs nothing per call. TLS takes this place
with an object of the same shape over the `ssl` module's memory BIOs: `receive` decrypts, `send` encrypts
and reports what it took, `send_file` is None (the transport then reads and sends).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Protocol

from moldau.types import Buffer


class Channel(Protocol):
    """Non-blocking: `receive` and the senders raise BlockingIOError when the operating system makes them wait."""

    @property
    def receive(self) -> Callable[[memoryview], int]:
        """Fills the start of a buffer and returns how far; 0 is the end of the stream."""
        ...

    @property
    def send(self) -> Callable[[Buffer, int], int]:
        """Takes (data, flags) and returns how many bytes it took."""
        ...

    @property
    def send_file(self) -> Callable[[int, int, int], int] | None:
        """Takes (descriptor, position, count); None where bytes must pass through memory."""
        ...

    def peek(self) -> bytes | None:
        """A first unread byte, left where it is; empty at the end of the stream, None if there is nothing yet."""
        ...

    def end(self) -> None:
        """Tells the peer that nothing more will be sent."""
        ...

    def close(self) -> None: ...


class PlainChannel:
    __slots__ = ("_socket", "receive", "send")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.receive: Callable[[memoryview], int] = connected.recv_into
        self.send: Callable[[Buffer, int], int] = connected.send

    def send_file(self, source: int, position: int, count: int) -> int:
        return os.sendfile(self._socket.fileno(), source, position, count)

    def peek(self) -> bytes | None:
        try:
            return self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def end(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()
