"""Workers whose jobs run when the test says so, on the thread of the loop: when a worker is done is chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class HeldWorkers:
    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []

    def submit(self, job: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        self.jobs.append((job, done))

    def run_one(self) -> None:
        job, done = self.jobs.pop(0)
        try:
            result = job()
        except Exception as error:
            done(None, error)
        else:
            done(result, None)

    def close(self) -> None: ...
