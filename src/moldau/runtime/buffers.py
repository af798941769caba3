"""Memory for received frames.

Small frames are handled in place in one buffer that all connections share: nothing outlives the call that delivers it.
A frame too large for that gets a buffer of its own, from a pool, because a fresh megabyte per frame costs as much in
page faults as reading it (measured: half the throughput). Buffers are anonymous mappings: pages that nothing was
received into are never touched, so a peer that announces 100 MiB and sends four bytes costs four kilobytes.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Callable
from typing import Final

# What one read may take from one connection: the unit of fairness.
SHARED_SIZE: Final = 256 * 1024

# What TLS takes from a socket at once. OpenSSL keeps memory for the most it was ever given, for each connection.
CIPHERTEXT_SIZE: Final = 64 * 1024

# Frames above this are collected in a pooled buffer; below it, copying the begun frame is cheaper than switching.
LARGE_FRAME: Final = 128 * 1024

# Buffers above this size are not kept: they are rare, and one would fill the pool.
_LARGEST_POOLED: Final = 4 * 1024 * 1024
_POOL_BYTES: Final = 32 * 1024 * 1024


class ReceiveBuffers:
    """The shared buffer, the pool, and the bound on what large frames may hold at once (`queued.max.request.bytes`)."""

    def __init__(self) -> None:
        self.shared = memoryview(bytearray(SHARED_SIZE))
        self.limit: int | None = None
        self._free: dict[int, list[memoryview]] = {}
        self._free_bytes = 0
        self._used = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._ciphertext: memoryview | None = None

    @property
    def ciphertext(self) -> memoryview:
        """What was received and is not decrypted yet, for a moment; made for the first connection with TLS."""
        if self._ciphertext is None:
            self._ciphertext = memoryview(bytearray(CIPHERTEXT_SIZE))
        return self._ciphertext

    @property
    def used(self) -> int:
        """Bytes of the large buffers in use."""
        return self._used

    def acquire(self, size: int) -> memoryview | None:
        """A buffer of at least `size` bytes with any content, or None while the limit is used up.

        Like Kafka's memory pool the limit is soft by one frame: whoever finds any room gets all it needs, so a frame
        larger than the limit can still be received.
        """
        if self.limit is not None and self._used >= self.limit:
            return None
        rounded = 1 << (size - 1).bit_length()
        self._used += rounded
        free = self._free.get(rounded)
        if free:
            self._free_bytes -= rounded
            return free.pop()
        return memoryview(mmap.mmap(-1, rounded))

    def release(self, buffer: memoryview) -> None:
        size = len(buffer)
        self._used -= size
        if size <= _LARGEST_POOLED and self._free_bytes + size <= _POOL_BYTES:
            self._free.setdefault(size, []).append(buffer)
            self._free_bytes += size
        if self._waiting:
            waiting, self._waiting = self._waiting, deque()
            for wake in waiting:
                wake()

    def wait(self, wake: Callable[[], None]) -> None:
        """Calls `wake` once when memory has become free; it must ask again and may have to wait again."""
        self._waiting.append(wake)
