"""How many large batches are worked on at a time, and what becomes of those that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from malformed_batches import TIME, batch_of, record, sized
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import Compression
from moldau.replica.preparation import Preparation

BATCH = batch_of(record(0, value=sized(bytes(2 << 20))), 1, codec=Compression.ZSTD)


class Clock:
    def now_ms(self) -> int:
        return TIME

    def monotonic(self) -> float:
        return 0.0


class HeldWorkers:
    """Nothing runs before the test says so."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []

    def submit(self, job: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        self.jobs.append((job, done))

    def run_one(self) -> None:
        job, done = self.jobs.pop(0)
        done(job(), None)

    def close(self) -> None:
        pass


class Asked:
    """Hands in batches and keeps what came of them, in order."""

    def __init__(self, **bounds: int) -> None:
        self.workers = HeldWorkers()
        self.preparation = Preparation(self.workers, Clock(), **bounds)
        self.outcomes: list[tuple[int, Any]] = []

    def hand_in(self, number: int, batch: bytes = BATCH) -> None:
        def done(valid: Any, error: BaseException | None) -> None:
            self.outcomes.append((number, error or valid))

        self.preparation.prepare(memoryview(bytearray(batch)), LogConfig(), done)

    @property
    def numbers(self) -> list[int]:
        return [number for number, _ in self.outcomes]


def test_so_many_at_a_time_and_the_others_in_their_order() -> None:
    asked = Asked(at_a_time=2)
    for number in range(5):
        asked.hand_in(number)
    assert len(asked.workers.jobs) == 2
    for left in (2, 2, 2, 1, 0):
        asked.workers.run_one()
        assert len(asked.workers.jobs) == left
    assert asked.numbers == [0, 1, 2, 3, 4]
    assert all(valid[4] == TIME for _, valid in asked.outcomes)


def test_more_bytes_than_are_held_are_to_be_sent_again() -> None:
    asked = Asked(at_a_time=1, held_bytes=2 * len(BATCH))
    for number in range(3):
        asked.hand_in(number)
    ((number, error),) = asked.outcomes
    assert (number, error.code) == (2, ErrorCode.REQUEST_TIMED_OUT)
    assert error.code.retriable
    asked.workers.run_one()
    asked.hand_in(3)
    asked.workers.run_one()
    asked.workers.run_one()
    assert asked.numbers == [2, 0, 1, 3]


def test_one_is_taken_however_large_it_is() -> None:
    asked = Asked(held_bytes=1)
    for number in range(2):
        asked.hand_in(number)
        asked.workers.run_one()
    assert asked.numbers == [0, 1]


def test_room_is_given_back_by_those_that_are_refused() -> None:
    asked = Asked(at_a_time=1, held_bytes=len(BATCH))
    for number in range(3):
        asked.hand_in(number)
        _, done = asked.workers.jobs.pop()
        done(None, KafkaError(ErrorCode.INVALID_RECORD))
    assert [error.code for _, error in asked.outcomes] == [ErrorCode.INVALID_RECORD] * 3


def test_the_next_begins_even_if_an_answer_fails() -> None:
    asked = Asked(at_a_time=1)

    def fails(_valid: Any, _error: BaseException | None) -> None:
        raise RuntimeError("on purpose")

    asked.preparation.prepare(memoryview(bytearray(BATCH)), LogConfig(), fails)
    asked.hand_in(1)
    with pytest.raises(RuntimeError, match="on purpose"):
        asked.workers.run_one()
    asked.workers.run_one()
    assert asked.numbers == [1]


def test_after_the_end_nothing_is_answered() -> None:
    asked = Asked(at_a_time=1)
    asked.hand_in(0)
    asked.hand_in(1)
    asked.preparation.close()
    asked.workers.run_one()
    assert (asked.outcomes, asked.workers.jobs) == ([], [])
