"""Batches that take long to look at: unpacked, walked and perhaps packed anew on a worker, appended on the loop.

How long is for the sender to say: a few kilobytes may unpack to gigabytes. So whatever is more than `AT_ONCE` (in
`storage/validator`) is judged elsewhere, a window at a time and without the GIL, while the loop serves others.

The order of things stays. A request that waits holds its connection, so what the same producer sends next is not even
read. Leadership, sequence numbers and transactions are looked at when the batch comes back and is appended, never when
it is prepared, so a retry on another connection, a new leader or a fence meanwhile are seen as if it had just come.

Bounds. Few batches are worked on at a time: fsyncs need workers too, and what unpacking has to remember (a window; for
zstd up to 128 MiB, if the sender asked for that) counts once for each. The batches that wait are held as they came, up
to `HELD_BYTES` of them together; who comes after that is asked to send again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.ports import Clock, Workers
from moldau.storage.origin import Origin
from moldau.storage.validator import ValidBatch, validate

AT_A_TIME: Final = 2
HELD_BYTES: Final = 256 << 20

# Called on the loop, with the batch or with why it may not be appended.
Prepared: TypeAlias = Callable[[ValidBatch | None, BaseException | None], None]


class _Job(NamedTuple):
    batch: memoryview
    config: LogConfig
    now_ms: int
    done: Prepared

    def run(self) -> ValidBatch:
        return validate(self.batch, 0, len(self.batch), self.config, Origin.CLIENT, self.now_ms)


class Preparation:
    def __init__(
        self, workers: Workers, clock: Clock, at_a_time: int = AT_A_TIME, held_bytes: int = HELD_BYTES
    ) -> None:
        self._workers = workers
        self._clock = clock
        self._at_a_time = at_a_time
        self._room = held_bytes
        self._running = 0
        self._waiting: deque[_Job] = deque()
        self._closed = False

    def prepare(self, batch: memoryview, config: LogConfig, done: Prepared) -> None:
        """Judges a batch off the loop. It is copied: whoever calls may use its memory again."""
        # One is always taken, however large: it came through the limits of a request.
        if len(batch) > self._room and (self._running or self._waiting):
            done(None, KafkaError(ErrorCode.REQUEST_TIMED_OUT, "Too many large batches wait to be unpacked."))
            return
        self._room -= len(batch)
        self._waiting.append(_Job(memoryview(bytearray(batch)), config, self._clock.now_ms(), done))
        self._start()

    def close(self) -> None:
        """The logs are about to be closed: nothing that still runs will be appended."""
        self._closed = True
        self._waiting.clear()

    def _start(self) -> None:
        while self._waiting and self._running < self._at_a_time:
            self._running += 1
            self._submit(self._waiting.popleft())

    def _submit(self, job: _Job) -> None:
        def judged(valid: ValidBatch | None, error: BaseException | None) -> None:
            self._running -= 1
            self._room += len(job.batch)
            if self._closed:
                return
            try:
                job.done(valid, error)
            finally:
                self._start()

        self._workers.submit(job.run, judged)
