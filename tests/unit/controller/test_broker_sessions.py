"""What a broker is allowed next, and until when it should be heard of: its session by itself."""

from __future__ import annotations

import pytest
from controller_kit import ManualClock

from moldau.controller.sessions import BrokerSessions, BrokerState

FENCED, UNFENCED, LEAVING, GONE = (
    BrokerState.FENCED,
    BrokerState.UNFENCED,
    BrokerState.CONTROLLED_SHUTDOWN,
    BrokerState.SHUTDOWN_NOW,
)


@pytest.fixture
def sessions() -> BrokerSessions:
    """Broker 1 shares the process; 2 is active, 3 fenced."""
    sessions = BrokerSessions(ManualClock(), 9.0, local_broker=1, quorum_seconds=2.0)
    for broker_id in (1, 2, 3):
        sessions.register(broker_id, fenced=broker_id == 3, new_incarnation=True)
    return sessions


def after(
    sessions: BrokerSessions,
    broker_id: int,
    *,
    fence: bool = False,
    shutdown: bool = False,
    leads: bool = False,
    knows: int = 10,
) -> BrokerState:
    return sessions.next_state(
        broker_id,
        wants_fence=fence,
        wants_shutdown=shutdown,
        metadata_offset=knows,
        registration_offset=10,
        leads=leads,
    )[1]


def test_what_a_fenced_broker_is_allowed(sessions: BrokerSessions) -> None:
    assert after(sessions, 3) is UNFENCED
    assert after(sessions, 3, fence=True) is FENCED
    assert after(sessions, 3, knows=9) is FENCED, "it does not know that it is registered"
    assert after(sessions, 3, shutdown=True) is GONE, "it has nothing to hand over"
    assert after(sessions, 3, shutdown=True, leads=True) is GONE


def test_what_an_active_broker_is_allowed(sessions: BrokerSessions) -> None:
    assert after(sessions, 2, leads=True) is UNFENCED
    assert after(sessions, 2, fence=True) is FENCED
    assert after(sessions, 2, shutdown=True, leads=True) is LEAVING
    assert after(sessions, 2, shutdown=True) is GONE, "it leads nothing"
    assert after(sessions, 2, shutdown=True, fence=True, leads=True) is GONE


def test_another_life_has_nothing_left_of_the_one_before(sessions: BrokerSessions) -> None:
    sessions.begin_shutdown(2, 50)
    sessions.owe(2)
    sessions.register(2, fenced=False, new_incarnation=False)
    assert sessions.is_shutting_down(2), "it registered again, and is still about to leave"
    sessions.register(2, fenced=False, new_incarnation=True)
    assert not sessions.is_shutting_down(2)
    assert not sessions.take_owed(2)
    assert after(sessions, 2, leads=True) is UNFENCED


def test_whoever_is_not_watched_is_expected_by_nobody(sessions: BrokerSessions) -> None:
    assert sessions.fetched(1) is None, "as long as this controller lives, so does the broker in its process"
    assert sessions.fetched(3) is None, "fenced already"
    assert sessions.fetched(7) is None, "not registered"
    until = sessions.fetched(2)
    assert until is not None
    assert until > ManualClock().now


def test_a_broker_that_is_heard_of_has_a_session(sessions: BrokerSessions) -> None:
    sessions.remove(2)
    sessions.touch(2, fenced=False, metadata_offset=3)
    assert sessions.fetched(2) is not None
    assert after(sessions, 2) is UNFENCED
