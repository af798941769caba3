"""Operations wait, complete once, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from moldau.replica.delayed_fetch import DelayedFetch, WaitingRead
from moldau.replica.purgatory import COMPLETED_PER_TURN, PURGE_INTERVAL, DelayedOperation, Purgatory


class Timer:
    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeTime:
    """Clock and loop in one: time moves when the test says so, and due timers run then."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.timers: list[Timer] = []

    def now_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    def call_soon(self, callback: Callable[[], None]) -> None:
        callback()

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> Timer:
        timer = Timer(self.seconds + delay_seconds, callback)
        self.timers.append(timer)
        return timer

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        callback()

    def flush(self) -> None: ...

    def run(self) -> None: ...

    def stop(self) -> None: ...

    def pass_ms(self, ms: int) -> None:
        self.seconds += ms / 1000
        while due := [timer for timer in self.timers if timer.when <= self.seconds + 1e-9]:
            for timer in due:
                self.timers.remove(timer)
                if timer.callback is not None:
                    timer.callback()


class Waiting(DelayedOperation):
    def __init__(self, *, ready: bool = False) -> None:
        super().__init__()
        self.is_ready = ready
        self.finished: list[str] = []

    def ready(self) -> bool:
        return self.is_ready

    def finish(self, expired: bool) -> None:
        self.finished.append("expired" if expired else "done")


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def purgatory(time: FakeTime) -> Purgatory[str]:
    return Purgatory("test", time, time)


def test_what_is_ready_does_not_wait(purgatory: Purgatory[str]) -> None:
    operation = Waiting(ready=True)
    purgatory.wait(operation, ["a"], 1000)
    assert operation.finished == ["done"]
    assert not purgatory.watched


def test_completes_when_its_key_is_checked_and_it_is_ready(purgatory: Purgatory[str], time: FakeTime) -> None:
    operation = Waiting()
    purgatory.wait(operation, ["a", "b"], 1000)
    assert purgatory.check("a") == 0
    operation.is_ready = True
    assert purgatory.check("other") == 0
    assert purgatory.check("b") == 1
    time.pass_ms(5000)
    purgatory.check("a")
    assert operation.finished == ["done"]


class Wide(Waiting):
    """Looks at its keys one by one."""

    def __init__(self, keys: int) -> None:
        super().__init__()
        self.left = keys

    def looks(self) -> Iterator[bool]:
        while self.left:
            self.left -= 1
            yield self.is_ready


def test_very_many_keys_are_watched_and_looked_at_in_slices(purgatory: Purgatory[str]) -> None:
    keys = [str(number) for number in range(1000)]
    operation = Wide(3)
    steps = iter(purgatory.wait_in_slices(operation, keys, 1000))
    next(steps)
    assert 0 < len(purgatory.watched) < 1000
    assert len(list(steps)) >= 7 + 3
    assert (len(purgatory.watched), operation.left, operation.finished) == (1000, 0, [])
    operation.is_ready = True
    assert purgatory.check("999") == 1
    assert operation.finished == ["done"]


def test_what_comes_while_very_many_keys_are_watched_is_not_missed(purgatory: Purgatory[str]) -> None:
    keys = [str(number) for number in range(1000)]
    before = Wide(3)
    steps = iter(purgatory.wait_in_slices(before, keys, 1000))
    next(steps)
    before.is_ready = True
    assert purgatory.check("999") == 0, "not watched yet"
    list(steps)
    assert (before.finished, before.left) == (["done"], 2), "the first look finds it"
    watched = Wide(3)
    steps = iter(purgatory.wait_in_slices(watched, keys, 1000))
    next(steps)
    watched.is_ready = True
    purgatory.check("0")
    assert (watched.finished, list(steps), watched.left) == (["done"], [], 3), "nothing is left to be done"
    looking = Wide(3)
    steps = iter(purgatory.wait_in_slices(looking, keys, 1000))
    while looking.left == 3:
        next(steps)
    purgatory.hurry(looking)
    assert (list(steps), looking.left, looking.finished) == ([], 1, ["done"])


def test_time_runs_while_very_many_keys_are_watched(purgatory: Purgatory[str], time: FakeTime) -> None:
    operation = Wide(3)
    steps = iter(purgatory.wait_in_slices(operation, [str(number) for number in range(1000)], 50))
    next(steps)
    time.pass_ms(60)
    assert (operation.finished, list(steps)) == (["expired"], [])


def test_expires_at_its_deadline_not_before(purgatory: Purgatory[str], time: FakeTime) -> None:
    early, late = Waiting(), Waiting()
    purgatory.wait(late, ["a"], 700)
    purgatory.wait(early, ["a"], 300)
    time.pass_ms(299)
    assert early.finished == []
    time.pass_ms(2)
    assert (early.finished, late.finished) == (["expired"], [])
    time.pass_ms(400)
    assert late.finished == ["expired"]
    assert purgatory.waiting == 0


class Thirsty(Waiting):
    """Takes one of what there is of something."""

    def __init__(self, source: list[int], waits_for: object) -> None:
        super().__init__()
        self.waits_for = waits_for
        self.source = source
        self.looked = 0

    def ready(self) -> bool:
        self.looked += 1
        return bool(self.source)

    def finish(self, expired: bool) -> None:
        super().finish(expired)
        self.source.pop()


def test_who_waits_for_what_another_waits_for_in_vain_is_not_looked_at(purgatory: Purgatory[str]) -> None:
    one: list[int] = []
    other: list[int] = []
    ones = [Thirsty(one, ("one", True)) for _ in range(4)]
    others = [Thirsty(other, ("other", True)) for _ in range(2)]
    lonely = [Thirsty(other, None) for _ in range(2)]
    for operation in (*ones, *others, *lonely):
        purgatory.wait(operation, ["a"], 1000, is_ready=False)
    other.append(1)
    assert purgatory.check("a") == 1
    assert [operation.looked for operation in (*ones, *others, *lonely)] == [1, 0, 0, 0, 1, 1, 1, 1]
    one += [1, 2]
    assert purgatory.check("a") == 2
    assert [len(operation.finished) for operation in (*ones, *others, *lonely)] == [1, 1, 0, 0, 1, 0, 0, 0]
    other += [1, 2, 3]
    assert purgatory.check("a") == 3, "whoever was passed over still waits"
    assert [len(operation.finished) for operation in (*ones, *others, *lonely)] == [1, 1, 0, 0, 1, 1, 1, 1]


def test_what_one_leaves_behind_is_for_those_who_were_passed_over(purgatory: Purgatory[str]) -> None:
    source: list[int] = []

    class Giving(Waiting):
        def finish(self, expired: bool) -> None:
            super().finish(expired)
            source.append(1)

    before, giving, behind = Thirsty(source, "one"), Giving(), Thirsty(source, "one")
    for operation in (before, giving, behind):
        purgatory.wait(operation, ["a"], 1000, is_ready=False)
    giving.is_ready = True
    assert purgatory.check("a") == 2
    assert [len(each.finished) for each in (before, giving, behind)] == [0, 1, 1]


def test_finishing_may_wait_again_under_the_same_key(purgatory: Purgatory[str]) -> None:
    second = Waiting()

    class Again(Waiting):
        def finish(self, expired: bool) -> None:
            super().finish(expired)
            purgatory.wait(second, ["a"], 1000)

    first = Again()
    purgatory.wait(first, ["a"], 1000)
    first.is_ready = True
    assert purgatory.check("a") == 1
    second.is_ready = True
    assert purgatory.check("a") == 1
    assert second.finished == ["done"]


def test_completed_operations_do_not_gather_under_keys_nobody_checks(purgatory: Purgatory[str]) -> None:
    for _ in range(3 * PURGE_INTERVAL):
        operation = Waiting()
        purgatory.wait(operation, ["busy", "idle"], 1000)
        operation.is_ready = True
        purgatory.check("busy")
    assert len(purgatory.watched.get("idle", [])) <= PURGE_INTERVAL


def test_a_key_that_goes_away_completes_what_waits_for_it(purgatory: Purgatory[str]) -> None:
    operation = Waiting()
    purgatory.wait(operation, ["a"], 1000)
    purgatory.complete_all("a")
    assert operation.finished == ["done"]


class Broken(Waiting):
    def __init__(self, where: str) -> None:
        super().__init__(ready=True)
        self.where = ""
        self._breaks = where

    def ready(self) -> bool:
        if self.where and self._breaks == "ready":
            raise RuntimeError("no")
        return bool(self.where)

    def finish(self, expired: bool) -> None:
        super().finish(expired)
        if self._breaks == "finish":
            raise RuntimeError("no")


@pytest.mark.parametrize("breaks", ["ready", "finish"])
@pytest.mark.parametrize("how", ["check", "complete_all", "expire"])
def test_one_that_fails_is_nobody_else_s_trouble(
    purgatory: Purgatory[str], time: FakeTime, breaks: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    before, broken, after = Waiting(), Broken(breaks), Waiting()
    for operation in (before, broken, after):
        purgatory.wait(operation, ["a", "b"], 1000)
    before.is_ready = after.is_ready = True
    broken.where = "now"
    if how == "check":
        assert purgatory.check("a") == 3
    elif how == "complete_all":
        purgatory.complete_all("a")
    else:
        time.pass_ms(2000)
    assert before.finished == after.finished == ["expired" if how == "expire" else "done"]
    assert len(broken.finished) == 1
    assert ("Broken" in caplog.text) == (breaks == "finish" or how == "check")
    assert purgatory.waiting == 0


def test_who_is_not_ready_when_his_key_is_looked_at_goes_on_waiting(time: FakeTime) -> None:
    purgatory: Purgatory[str] = Purgatory("test", time, time)
    early, late = Waiting(), Waiting()
    for operation in (early, late):
        purgatory.wait(operation, ["key"], 1000)
    early.is_ready = True
    assert purgatory.check("key") == 1
    assert (early.finished, late.finished, purgatory.waiting) == (["done"], [], 1)
    late.is_ready = True
    assert purgatory.check("key") == 1
    assert (late.finished, "key" in purgatory.watched) == (["done"], False), "and nobody is watched in vain"


def test_lists_of_idle_keys_are_purged_now_and_then_and_keep_who_still_waits(time: FakeTime) -> None:
    purgatory: Purgatory[str] = Purgatory("test", time, time)
    patient = Waiting()
    purgatory.wait(patient, ["idle"], 1_000_000)
    for number in range(PURGE_INTERVAL):
        assert len(purgatory.watched["idle"]) == number + 1, "not before it is worth it"
        operation = Waiting()
        purgatory.wait(operation, ["busy", "idle", "empty"], 1000)
        operation.is_ready = True
        purgatory.check("busy")
    assert (purgatory.watched, patient.completed) == ({"idle": [patient]}, False)


def test_nothing_is_left_to_wake_up_for_after_a_shutdown(time: FakeTime) -> None:
    purgatory: Purgatory[str] = Purgatory("test", time, time)
    operation = Waiting()
    purgatory.wait(operation, ["key"], 1000)
    purgatory.cancel_all()
    assert [timer for timer in time.timers if timer.callback is not None] == []
    time.pass_ms(2000)
    assert operation.finished == []


class Turns(FakeTime):
    """What is asked for soon waits for the next turn."""

    def __init__(self) -> None:
        super().__init__()
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def turn(self) -> None:
        callbacks, self.soon = self.soon, []
        for callback in callbacks:
            callback()


def test_what_is_stirred_several_times_is_looked_at_once_and_later() -> None:
    turns = Turns()
    purgatory: Purgatory[str] = Purgatory("test", turns, turns)
    operations = [Waiting(), Waiting()]
    for operation, key in zip(operations, "ab", strict=True):
        purgatory.wait(operation, [key], 1000)
        operation.is_ready = True
    for key in "abab":
        purgatory.check_soon(key)
    assert [operation.finished for operation in operations] == [[], []]
    turns.turn()
    assert [operation.finished for operation in operations] == [["done"], ["done"]]
    assert turns.soon == []


def test_what_is_stirred_is_looked_at_now_if_somebody_is_in_a_hurry_and_answers_leave() -> None:
    turns = Turns()
    purgatory: Purgatory[str] = Purgatory("test", turns, turns)
    operation = Waiting()
    purgatory.wait(operation, ["a"], 1000)
    operation.is_ready = True
    turns.flush = lambda: operation.finished.append("sent")  # type: ignore[method-assign]
    purgatory.check_soon("a")
    purgatory.check_now()
    assert operation.finished == ["done", "sent"]
    turns.turn()
    assert operation.finished == ["done", "sent"]


def test_who_knows_whether_he_is_ready_is_not_asked() -> None:
    turns = Turns()
    purgatory: Purgatory[str] = Purgatory("test", turns, turns)
    operation = Waiting()
    operation.is_ready = True
    purgatory.wait(operation, ["a"], 1000, is_ready=False)
    assert operation.finished == []
    purgatory.check("a")
    assert operation.finished == ["done"]


def test_very_many_are_answered_some_in_a_turn_and_none_is_forgotten() -> None:
    turns = Turns()
    purgatory: Purgatory[str] = Purgatory("test", turns, turns)
    reluctant = [Waiting() for _ in range(10)]
    eager = [Waiting() for _ in range(2 * COMPLETED_PER_TURN)]
    for operation in (*reluctant, *eager):
        purgatory.wait(operation, ["a"], 60_000)
    other = Waiting()
    purgatory.wait(other, ["b"], 60_000)
    for operation in (*eager, other):
        operation.is_ready = True
    purgatory.check_soon("a")
    purgatory.check_soon("b")
    served = []
    while turns.soon:
        before = sum(len(operation.finished) for operation in (*eager, other))
        turns.turn()
        served.append(sum(len(operation.finished) for operation in (*eager, other)) - before)
    assert max(served) == COMPLETED_PER_TURN
    assert all(operation.finished == ["done"] for operation in (*eager, other))
    assert not any(operation.finished for operation in reluctant)
    assert purgatory.waiting == len(reluctant)


def test_whoever_has_been_answered_is_not_answered_again(purgatory: Purgatory[str]) -> None:
    waiting = Waiting()
    purgatory.wait(waiting, ["key"], 1000)
    assert waiting.complete()
    assert not waiting.complete(expired=True)
    assert waiting.finished == ["done"]


def test_what_may_not_be_sent_to_a_follower_now_is_nothing_to_wake_it_for() -> None:
    class Led:
        """A partition as far as a waiting fetch looks at it."""

        is_leader, leader_epoch = True, 1
        local = SimpleNamespace(log_end_offset=5, last_stable_offset=5, high_watermark=5, log_start_offset=0)
        log = SimpleNamespace(local=local, bytes_between=lambda first, end: 100 * (end - first))

    partition: Any = Led()
    held = [True]

    def fetch(offset: int) -> DelayedFetch:
        read = WaitingRead(partition, offset, 1000)
        return DelayedFetch(
            [read], 1, committed=False, follower=True, respond=lambda: None, throttled=lambda _: held[0]
        )

    assert not fetch(3).ready()
    held[0] = False
    assert fetch(3).ready()
    assert not fetch(5).ready(), "there is nothing"
    assert fetch(6).ready(), "which is an error, and is told at once"
    assert [list(fetch(offset).looks()) for offset in (3, 5)] == [[True], [False]]
