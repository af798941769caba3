"""The thread that keeps a consumer in its group while the event loop does something else.

What `KafkaConsumer` does within `poll` is done here in rounds: joining and rebalancing, commits that are due, looking
for positions. Records are not taken here but on the event loop, out of what was fetched. Listeners are called from here
and run on the event loop; what they await (a commit, a position) is done by other threads, so they may wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from time import monotonic
from typing import Any, Final

from moldau.client.consumer.face import KafkaConsumer
from moldau.errors.named import IllegalStateError

logger = logging.getLogger("moldau.client")

# One round lasts at most this long: what is due by time, and what is asked of this thread, waits no longer.
_ROUND: Final = 0.2
# After something went wrong that goes wrong again at once.
_PAUSE: Final = 0.1


class Poller:
    """`wake` runs on the event loop after each round, if somebody waits there (`waiting`)."""

    def __init__(self, consumer: KafkaConsumer, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self.waiting = 0
        self.error: BaseException | None = None
        self.rounds = 0
        # When the event loop last took records, or wanted some and found none.
        self.asked_at = monotonic()
        self._consumer = consumer
        self._loop = loop
        self._wake = wake
        self._jobs: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="moldau-aio-poller", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def do(self, job: Callable[[], Any]) -> Future[Any]:
        """Runs `job` between two rounds: for what must not happen during one."""
        outcome: Future[Any] = Future()
        self._jobs.append((job, outcome))
        self._consumer._nudge()
        return outcome

    def stop(self, timeout: float) -> None:
        """Not from the event loop, which a listener may still need to come to its end."""
        self._stopping = True
        self._consumer._nudge()
        if self._thread.is_alive():
            self._thread.join(timeout)
        self._refuse_jobs()

    def _run(self) -> None:
        changed = self._consumer._fetcher.changed
        while not self._stopping:
            with changed:
                change = changed.ticket()  # before looking, so that nothing that happens meanwhile is missed
            self._do_jobs()
            pause = _ROUND
            try:
                self._round()
            except Exception as error:
                self.error = error
                pause = _PAUSE
            self.rounds += 1
            if self.waiting:
                self._call_loop()
            change.wait(pause)

    def _round(self) -> None:
        consumer = self._consumer
        now = monotonic()
        if self.waiting or not consumer._has_news():
            self.asked_at = now
        # Records that nobody takes for too long: the group is left to the others until somebody does.
        if now - self.asked_at <= consumer.config["max_poll_interval_ms"] / 1000:
            consumer._attend(now + _ROUND, polled_at=self.asked_at)

    def _call_loop(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            self._stopping = True  # the loop is closed, and nobody waits there any more

    def _do_jobs(self) -> None:
        for _ in range(len(self._jobs)):
            job, outcome = self._jobs.popleft()
            try:
                outcome.set_result(job())
            except BaseException as error:
                outcome.set_exception(error)

    def _refuse_jobs(self) -> None:
        while self._jobs:
            self._jobs.popleft()[1].set_exception(IllegalStateError("The consumer was stopped."))
