"""Long work shares the thread: a slice in each turn, in turn, and no more than a few pieces of it at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from moldau.deferred import Deferred, ready
from moldau.slicing import AT_ONCE, SLICE_SECONDS, GivenUp, Slicer, run_whole


class Turns:
    """A loop and its clock: each step of the work takes a quarter of a slice."""

    def __init__(self) -> None:
        self.now = 0.0
        self._soon: list[Callable[[], None]] = []

    def monotonic(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def turn(self) -> bool:
        soon, self._soon = self._soon, []
        for callback in soon:
            callback()
        return bool(soon)

    def work(self, steps: int, seen: list[str] | None = None, name: str = "") -> Generator[None, None, str]:
        for _ in range(steps):
            self.now += SLICE_SECONDS / 4
            if seen is not None:
                seen.append(name)
            yield
        return f"{steps} steps"


def outcome(later: object) -> list[Any]:
    assert isinstance(later, Deferred)
    found: list[Any] = []
    later.then(lambda value, error: found.append(value if error is None else error))
    return found


def test_short_work_is_done_at_once() -> None:
    turns = Turns()
    assert Slicer(turns, turns).run(turns.work(3)) == "3 steps"
    assert not turns.turn()


def test_long_work_takes_one_slice_a_turn() -> None:
    turns = Turns()
    slicer = Slicer(turns, turns)
    found = outcome(slicer.run(turns.work(13)))
    slices = 0
    while turns.turn():
        slices += 1
    assert found == ["13 steps"]
    assert slices == slicer.slices == 3


def test_a_turn_has_one_slice_whoever_it_belongs_to() -> None:
    turns = Turns()
    slicer = Slicer(turns, turns)
    seen: list[str] = []
    found = [outcome(slicer.run(turns.work(12, seen, name))) for name in "ab"]
    seen.clear()
    assert turns.turn()
    assert seen == ["a"] * 4
    assert turns.turn()
    assert seen == ["a"] * 4 + ["b"] * 4
    while turns.turn():
        pass
    assert found == [["12 steps"], ["12 steps"]]


def test_new_work_gets_less_at_first_while_other_work_waits() -> None:
    turns = Turns()
    slicer = Slicer(turns, turns)
    slicer.run(turns.work(100))
    seen: list[str] = []
    slicer.run(turns.work(100, seen, "new"))
    assert seen == ["new"]


def test_only_some_take_turns_and_the_others_wait() -> None:
    turns = Turns()
    slicer = Slicer(turns, turns)
    seen: list[str] = []
    for number in range(AT_ONCE + 2):
        slicer.run(turns.work(40, seen, str(number)))
    seen.clear()
    for _ in range(4 * AT_ONCE):
        turns.turn()
    assert set(seen) == {str(number) for number in range(AT_ONCE)}
    while turns.turn():
        pass
    assert len(slicer) == 0
    assert seen[-1] == str(AT_ONCE + 1)


def test_a_failure_is_that_of_the_work_alone() -> None:
    turns = Turns()
    slicer = Slicer(turns, turns)

    def failing(steps: int) -> Generator[None, None, str]:
        yield from turns.work(steps)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        slicer.run(failing(1))
    found, other = outcome(slicer.run(failing(9))), outcome(slicer.run(turns.work(9)))
    while turns.turn():
        pass
    assert isinstance(found[0], ValueError)
    assert other == ["9 steps"]


def test_what_nobody_wants_is_not_finished() -> None:
    turns = Turns()
    slicer = Slicer(turns, turns)
    wanted = True
    seen: list[str] = []
    found = outcome(slicer.run(turns.work(100, seen), lambda: wanted))
    wanted = False
    while turns.turn():
        pass
    assert isinstance(found[0], GivenUp)
    assert len(seen) == 4


def test_a_later_value_at_the_end_is_waited_for() -> None:
    turns = Turns()
    later: Deferred[str] = Deferred()

    def work(steps: int, end: Any) -> Generator[None, None, Any]:
        yield from turns.work(steps)
        return end

    slicer = Slicer(turns, turns)
    assert slicer.run(work(1, later)) is later
    found = outcome(slicer.run(work(9, later)))
    while turns.turn():
        pass
    assert found == []
    later.resolve("now")
    assert found == ["now"]
    assert run_whole(work(9, ready)) is ready


def test_a_machine_that_is_too_busy_for_a_slice_gets_on_all_the_same() -> None:
    turns = Turns()

    class Late:
        def monotonic(self) -> float:
            turns.now += 2 * SLICE_SECONDS
            return turns.now

    found = outcome(Slicer(turns, Late()).run(turns.work(3)))
    assert [turns.turn() for _ in range(4)] == [True, True, True, False]
    assert found == ["3 steps"]


def test_whoever_comes_meanwhile_waits_for_one_short_slice() -> None:
    """A second client beside a long request waits about as long as beside Apache Kafka, which has threads."""
    assert SLICE_SECONDS <= 0.001
