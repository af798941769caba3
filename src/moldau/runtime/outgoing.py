"""What leaves a connection: small chunks joined, files by sendfile, in order and as far as the peer takes them.

Nothing is sent when it is queued: all that a turn of the loop queued for a connection leaves in one go at its end, so
that ten pipelined answers cost one system call. Interest in writing is asked for only when the peer takes no more.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Sequence
from typing import Final

from moldau.runtime.channel import Channel
from moldau.runtime.ports import Chunk, FileSlice
from moldau.runtime.reactor import Reactor
from moldau.runtime.readiness import WRITABLE
from moldau.types import Buffer

# More follows at once: Linux then fills the packet. Elsewhere there is no such word.
MSG_MORE: Final = getattr(socket, "MSG_MORE", 0)

# What one connection may send in one turn, so that a fast reader of a huge answer does not hold up the rest.
SEND_PER_TURN: Final = 2 * 1024 * 1024

# Chunks are joined up to about this size: below it a copy is cheaper than a further system call.
JOIN_BYTES: Final = 64 * 1024


class SendingSide:
    """The queue of one connection and its interest in the socket; the other half is `FramedTransport`."""

    __slots__ = ("_channel", "_fd", "_flush_queued", "_interest", "_loop", "_queue", "_send", "_stalled", "unsent")

    def __init__(self, loop: Reactor) -> None:
        self.unsent = 0
        self._loop = loop
        self._channel: Channel
        self._send: Callable[[Buffer, int], int]
        self._fd = -1
        self._interest = 0
        self._queue: list[Chunk] = []
        # The queue is going to be flushed in this turn anyway.
        self._flush_queued = False
        # The last flush left something behind: the socket tells when it takes more.
        self._stalled = False

    def _connected(self, fd: int, channel: Channel, interest: int) -> None:
        self._fd = fd
        self._channel = channel
        self._send = channel.send
        self._interest = interest
        if self._queue:
            self._flush_queued = True
            self._loop.flush_later(self)

    def _add(self, chunks: Sequence[Chunk]) -> int:
        """Queues and returns how many bytes are unsent now."""
        self._queue += chunks
        unsent = self.unsent
        for chunk in chunks:
            unsent += len(chunk)
        self.unsent = unsent
        if not self._flush_queued:
            self._flush_queued = True
            self._loop.flush_later(self)
        return unsent

    def flush(self) -> None:
        """Lets leave what the peer takes now."""
        self._flush_queued = False
        if self._fd < 0:
            return
        queue = self._queue
        try:
            if len(queue) == 1 and type(queue[0]) is bytes:
                data = queue[0]
                sent = self._send(data, 0)
                if sent == len(data):
                    queue.clear()
                    self.unsent = 0
                else:
                    queue[0] = memoryview(data)[sent:]
                    self.unsent -= sent
            else:
                self.unsent -= send_front(queue, self._channel)
        except BlockingIOError:
            pass
        except OSError as error:
            self._broken(error)
            return
        if not queue:
            self._all_sent()
        elif not self._stalled:
            self._stalled = True
            self._want(self._interest | WRITABLE)

    def _want(self, interest: int) -> None:
        if interest != self._interest and self._fd >= 0:
            self._interest = interest
            self._loop.modify(self._fd, interest)

    def _all_sent(self) -> None:
        raise NotImplementedError

    def _broken(self, error: OSError | None) -> None:
        raise NotImplementedError


def send_front(queue: list[Chunk], channel: Channel) -> int:
    """Sends and drops from the front of `queue` until the peer takes no more or the turn's share is used.

    Returns the bytes that left. What remains of a chunk stays in front. OSError means that the connection is of no
    more use; that the peer has no room is not an error.
    """
    total = 0
    try:
        while queue and total < SEND_PER_TURN:
            head = queue[0]
            if isinstance(head, FileSlice):
                size = head.length
                sent = _send_slice(head, channel, len(queue) > 1) if size else 0
                queue[:1] = () if sent == size else (FileSlice(head.file, head.position + sent, size - sent),)
            else:
                data, count = _join(queue)
                size = len(data)
                sent = channel.send(data, MSG_MORE if count < len(queue) else 0)
                queue[:count] = () if sent == size else (memoryview(data)[sent:],)
            total += sent
            if sent < size and not isinstance(head, FileSlice):
                break
    except BlockingIOError:
        pass
    return total


def _join(queue: list[Chunk]) -> tuple[bytes | bytearray | memoryview, int]:
    """The first chunks of the queue as one, and how many: small ones joined, a large one as it is."""
    size = 0
    parts: list[bytes | bytearray | memoryview] = []
    for chunk in queue:
        if isinstance(chunk, FileSlice) or (parts and size + len(chunk) > JOIN_BYTES):
            break
        parts.append(chunk)
        size += len(chunk)
    return (parts[0] if len(parts) == 1 else b"".join(parts)), len(parts)


def _send_slice(part: FileSlice, channel: Channel, more: bool) -> int:
    source = part.file.fileno()
    if channel.send_file is not None and source >= 0:
        sent = channel.send_file(source, part.position, min(part.length, SEND_PER_TURN))
    else:
        data = part.file.read(part.position, min(part.length, JOIN_BYTES))
        last = len(data) == part.length and not more
        sent = channel.send(data, 0 if last else MSG_MORE) if data else 0
    if sent == 0:
        # The frame's length has been promised already; nothing can be sent in place of the missing bytes.
        raise OSError(errno.EIO, "a file is shorter than the part of it to be sent", part.file.path)
    return sent
