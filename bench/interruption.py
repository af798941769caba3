"""What a program feels when nodes go: a producer writes to every partition all the time, and the longest that any of
its records waits for its acknowledgement is how long it was interrupted.

The producer is confluent-kafka with its defaults but for acks=all and idempotence, which is what a program has that
must not lose or double anything. A record that fails fails the measurement.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from confluent_kafka import Producer

TURN_SECONDS = 0.005  # between one record to each partition and the next
PATIENCE_SECONDS = 60.0


class Interruption:
    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._partitions = partitions
        self._lock = threading.Condition()
        self._since = 0.0
        self.longest = 0.0
        self._resumed: set[int] = set()
        self._failure = ""
        self._ended = False
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 0,
                "message.timeout.ms": int(PATIENCE_SECONDS * 1000),
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._write, name="interruption", daemon=True)
        self._thread.start()

    def watch(self) -> None:
        """What was before is forgotten."""
        with self._lock:
            self._since = time.monotonic()
            self.longest = 0.0
            self._resumed.clear()

    def wait_resumed(self) -> None:
        """Until something that was sent after `watch` is acknowledged in every partition."""
        with self._lock:
            done = self._lock.wait_for(lambda: self._failure or self.resumed, PATIENCE_SECONDS)
            if self._failure or not done:
                raise RuntimeError(self._failure or f"nothing was acknowledged for {PATIENCE_SECONDS:.0f} s")

    @property
    def resumed(self) -> bool:
        return len(self._resumed) == self._partitions

    def end(self) -> float:
        """Milliseconds that a record waited at most since `watch`, those that are still on their way included."""
        self.close()
        left = self._producer.flush(PATIENCE_SECONDS)
        if left or self._failure:
            raise RuntimeError(self._failure or f"{left} records were never acknowledged")
        return self.longest * 1000

    def close(self) -> None:
        self._ended = True
        self._thread.join()

    def _write(self) -> None:
        while not self._ended:
            for partition in range(self._partitions):
                acknowledged = partial(self.acknowledged, time.monotonic())
                self._producer.produce(self._topic, b"x" * 100, partition=partition, on_delivery=acknowledged)
            due = time.monotonic() + TURN_SECONDS
            while (left := due - time.monotonic()) > 0:
                self._producer.poll(left)

    def acknowledged(self, sent: float, error: Any, message: Any) -> None:
        now = time.monotonic()
        with self._lock:
            if error is not None:
                self._failure = f"a record was not taken: {error}"
            elif now >= self._since:
                self.longest = max(self.longest, now - max(sent, self._since))
                if sent >= self._since:
                    self._resumed.add(message.partition())
            self._lock.notify_all()


@contextmanager
def writing(bootstrap: str, topic: str, partitions: int) -> Iterator[Interruption]:
    writer = Interruption(bootstrap, topic, partitions)
    try:
        writer.watch()
        writer.wait_resumed()
        yield writer
    finally:
        writer.close()
