"""Answers leave in the order of their offsets, and not before their offset is committed."""

from __future__ import annotations

from functools import partial

import pytest

from moldau.timeline import DeferredEventQueue


def _note(seen: list[str], name: str, error: BaseException | None) -> None:
    seen.append(name if error is None else f"{name}: {error}")


def test_events_complete_when_their_offset_is_reached() -> None:
    queue, seen = DeferredEventQueue(), []
    for offset, name in ((3, "a"), (3, "b"), (7, "c")):
        queue.add(offset, partial(_note, seen, name))
    queue.complete_up_to(2)
    assert seen == []
    queue.complete_up_to(6)
    assert seen == ["a", "b"]
    assert queue.highest_pending == 7
    queue.complete_up_to(7)
    assert seen == ["a", "b", "c"]
    assert queue.highest_pending is None


def test_a_lost_leadership_fails_everything_that_waits() -> None:
    queue, seen = DeferredEventQueue(), []
    queue.add(1, partial(_note, seen, "a"))
    queue.add(2, partial(_note, seen, "b"))
    queue.complete_up_to(1)
    queue.fail_all(RuntimeError("lost"))
    assert seen == ["a", "b: lost"]
    assert len(queue) == 0


def test_offsets_do_not_go_back() -> None:
    queue = DeferredEventQueue()
    queue.add(5, lambda error: None)
    with pytest.raises(ValueError, match="cannot follow"):
        queue.add(4, lambda error: None)


def test_an_event_may_add_another_while_it_completes() -> None:
    queue, seen = DeferredEventQueue(), []
    queue.add(1, lambda error: queue.add(9, partial(_note, seen, "later")))
    queue.complete_up_to(1)
    assert seen == []
    queue.complete_up_to(9)
    assert seen == ["later"]
