"""How much share sessions remember, of what exists and of what does not."""

from __future__ import annotations

import pytest

from moldau.errors import ErrorCode, KafkaError
from moldau.server.share.share_sessions import MOST_PLACES, Place, ShareSession, ShareSessions

TOPIC = bytes(16)
PLACES: list[Place] = [(TOPIC, index) for index in range(MOST_PLACES)]
OTHER: Place = (b"x" * 16, 0)


@pytest.fixture
def ended() -> list[ShareSession]:
    return []


@pytest.fixture
def sessions(ended: list[ShareSession]) -> ShareSessions:
    return ShareSessions(1000, ended.append)


def begin(sessions: ShareSessions, member: str, places: list[Place]) -> ShareSession:
    return sessions.fetch("g", member, 0, dict.fromkeys(places), object(), acknowledges=False)


def go_on(sessions: ShareSessions, member: str, epoch: int, more: list[Place]) -> ShareSession:
    return sessions.fetch("g", member, epoch, dict.fromkeys(more), object(), acknowledges=False)


def test_a_session_that_names_ever_more_is_over(sessions: ShareSessions, ended: list[ShareSession]) -> None:
    session = begin(sessions, "a", PLACES)
    assert go_on(sessions, "a", 1, PLACES) is session  # named again, they are no more
    with pytest.raises(KafkaError) as refused:
        go_on(sessions, "a", 2, [OTHER])
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert ended == [session]
    with pytest.raises(KafkaError) as refused:
        go_on(sessions, "a", 3, [])
    assert refused.value.code is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_all_sessions_together_have_a_limit_as_well(sessions: ShareSessions, ended: list[ShareSession]) -> None:
    full = [begin(sessions, f"full-{number}", PLACES) for number in range(10)]
    with pytest.raises(KafkaError) as refused:
        begin(sessions, "late", [OTHER])
    assert refused.value.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert not ended
    del full[0].partitions[PLACES[0]]
    go_on(sessions, "full-0", 1, [])
    begin(sessions, "late", [OTHER])
    with pytest.raises(KafkaError):
        begin(sessions, "later", [OTHER])
    sessions.end(full[1])
    begin(sessions, "later", PLACES[1:])


def test_a_session_does_not_begin_with_an_acknowledgement(sessions: ShareSessions) -> None:
    begin(sessions, "a", [OTHER])
    with pytest.raises(KafkaError) as refused:
        sessions.acknowledge("g", "a", 0)
    assert refused.value.code is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert sessions.acknowledge("g", "a", 1).partitions == {OTHER: None}


def test_who_begins_anew_has_one_session(sessions: ShareSessions, ended: list[ShareSession]) -> None:
    """What the first one named counts no more, or they would be too many before long."""
    first = begin(sessions, "a", PLACES)
    for _ in range(20):
        last = begin(sessions, "a", PLACES)
    assert (first.is_open, last.is_open) == (False, True)
    assert len(sessions) == 1
    assert sessions.has_group("g")
    sessions.end(last)
    assert len(sessions) == 0
    assert not sessions.has_group("g")


def test_a_session_without_partitions_has_no_turns(sessions: ShareSessions) -> None:
    session = begin(sessions, "a", [])
    assert session.rotated() == []
    assert (go_on(sessions, "a", 1, [OTHER]).rotated(), session.turn) == ([OTHER], 0)
