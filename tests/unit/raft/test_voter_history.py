"""What is remembered of how the voters changed: as much as can still be asked for."""

from __future__ import annotations

import copy

import pytest

from moldau.raft.voters import ReplicaKey, Voter, VoterChange, VoterHistory, VoterSet

CHANGES = 6


def voters(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(id)) for id in ids)


def changed() -> VoterHistory:
    """Every ten offsets another set, every twenty another version."""
    history = VoterHistory(voters(99))
    for number in range(CHANGES):
        version = number if number % 2 else None
        history.add([VoterChange(10 * number, voters(number), version)])
    return history


@pytest.mark.parametrize("start", [0, 1, 10, 11, 25, 50, 51, 90])
def test_what_can_still_be_asked_for_is_answered_as_before(start: int) -> None:
    whole, history = changed(), changed()
    history.forget_before(start)
    assert (history.last, history.kraft_version) == (whole.last, whole.kraft_version)
    for offset in range(start, 70):
        assert history.at(offset) == whole.at(offset)
        cut, rest = copy.copy(whole), copy.copy(history)
        cut.cut(offset)
        rest.cut(offset)
        assert (rest.last, rest.last_offset, rest.kraft_version) == (cut.last, cut.last_offset, cut.kraft_version)


def test_of_what_nobody_asks_for_only_the_newest_is_kept() -> None:
    history = changed()
    history.forget_before(25)
    assert [offset for offset, _ in history._voters] == [20, 30, 40, 50]
    assert [offset for offset, _ in history._versions] == [10, 30, 50]
    history.forget_before(1000)
    assert (len(history._voters), len(history._versions)) == (1, 1)
    history.forget_before(2000)
    assert (len(history._voters), len(history._versions)) == (1, 1)
