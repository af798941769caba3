"""Which brokers are alive, by their heartbeats.

Not part of the log: a new controller starts with every broker given a full session and learns the rest. What a broker
is allowed next (stay fenced, become unfenced, hand over its partitions, leave) is decided here from its heartbeat.

A session ends before its time when there is better evidence than silence. The system closes the connections of a
process that died; one that lives and lost its connection beats again at once. So a broker whose connection ended has a
moment to be heard of, not the rest of its session. The same goes for the broker of a node that led the quorum until its
voters gave it up, and for whoever comes with the log directories of another: they are locked, so that one is dead.

A node that is halted or cut off keeps its connections. But it also stops to fetch the metadata log, which it does twice
a second while it lives. Who neither fetched nor beat for a third of a session, and not less than it takes the quorum to
give up a leader, has a moment too. Fetches alone keep nobody's session: heartbeats say more.
"""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import Final, Protocol

from moldau.runtime.ports import Clock

# How long a broker whose connection ended has to be heard of again, if its session is not over before that.
GRACE_SECONDS: Final = 1.0
# What of its session a broker may be silent in every way.
_SILENT_PART: Final = 1 / 3


class Way(Protocol):
    """The connection a heartbeat came on."""

    def is_open(self) -> bool: ...


class BrokerState(Enum):
    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "in controlled shutdown"
    SHUTDOWN_NOW = "may shut down"


class _Session:
    __slots__ = (
        "expiry",
        "fenced",
        "heard",
        "last_contact",
        "metadata_offset",
        "owed",
        "shutdown_offset",
        "silent_at",
        "way",
    )

    def __init__(self, now: float, expiry: float, fenced: bool) -> None:
        self.last_contact = now
        self.expiry = expiry
        # When it will have been silent in every way for too long; never for one of which only heartbeats are known.
        self.silent_at = inf
        # By this controller, since it leads.
        self.heard = False
        # What its last heartbeat came on, where the end of that means something.
        self.way: Way | None = None
        self.fenced = fenced
        self.metadata_offset = -1
        # The offset every other broker must have reached before this one may leave; None while it does not want to.
        self.shutdown_offset: int | None = None
        # What its last change of state means for its partitions may not have been written to the end.
        self.owed = False

    @property
    def ends_at(self) -> float:
        return min(self.expiry, self.silent_at)

    @property
    def state(self) -> BrokerState:
        if self.shutdown_offset is not None:
            return BrokerState.CONTROLLED_SHUTDOWN
        return BrokerState.FENCED if self.fenced else BrokerState.UNFENCED


class BrokerSessions:
    """`local_broker` shares this controller's process: it is alive as long as the question can be asked, and what an
    earlier process left behind under its id is certainly dead."""

    def __init__(
        self, clock: Clock, timeout_seconds: float, local_broker: int | None = None, quorum_seconds: float = 0.0
    ) -> None:
        self._clock = clock
        self._timeout = timeout_seconds
        self._silence = max(timeout_seconds * _SILENT_PART, quorum_seconds) + GRACE_SECONDS
        self._local_broker = local_broker
        self._sessions: dict[int, _Session] = {}

    def register(self, broker_id: int, *, fenced: bool, new_incarnation: bool) -> None:
        session = self._sessions.get(broker_id)
        if session is None or new_incarnation:
            self._sessions[broker_id] = self._new(fenced)
        else:
            self._renew(session)
            session.fenced = fenced

    def remove(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def clear(self) -> None:
        self._sessions.clear()

    def touch(self, broker_id: int, *, fenced: bool, metadata_offset: int, way: Way | None = None) -> None:
        session = self._sessions.get(broker_id)
        if session is None:
            session = self._sessions[broker_id] = self._new(fenced)
        self._renew(session)
        session.heard = True
        if way is not None:
            session.way = way
            if not way.is_open():
                # It ended while the heartbeat waited for its turn.
                self.disconnected(broker_id, way)
        session.metadata_offset = metadata_offset
        session.fenced = fenced
        if fenced:
            session.shutdown_offset = None

    def disconnected(self, broker_id: int, way: Way) -> None:
        """A connection has ended. If the broker has not been heard of on another since, it has a moment for that."""
        session = self._sessions.get(broker_id)
        if session is not None and session.way is way:
            self.hasten(broker_id)

    def hasten(self, broker_id: int) -> None:
        """It is probably dead: unless it is heard of in a moment, its session is over."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.expiry = min(session.expiry, self._clock.monotonic() + GRACE_SECONDS)

    def fetched(self, broker_id: int) -> float | None:
        """It follows the metadata log, and will ask for more of it in a moment. Until when it should have been heard of
        again, if it is watched."""
        session = self._sessions.get(broker_id)
        if session is None:
            return None
        session.silent_at = self._clock.monotonic() + self._silence
        return None if session.fenced or broker_id == self._local_broker else session.ends_at

    def prolong(self, seconds: float) -> None:
        """For so long nobody could be heard."""
        for session in self._sessions.values():
            session.expiry += seconds
            session.silent_at += seconds

    def owe(self, broker_id: int) -> None:
        """The change of state that was decided last failed: its next heartbeat makes up for what is missing."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.owed = True

    def take_owed(self, broker_id: int) -> bool:
        session = self._sessions[broker_id]
        owed, session.owed = session.owed, False
        return owed

    def begin_shutdown(self, broker_id: int, offset: int) -> None:
        """Again when the first attempt failed: then it takes until a later offset."""
        self._sessions[broker_id].shutdown_offset = offset

    def blocks_registration(self, broker_id: int, *, has_its_directories: bool = False) -> bool:
        """Whether another process with this id may still be alive. One whose log directories are another's now is not;
        unless it is heard of all the same, for then they have been copied."""
        session = self._sessions.get(broker_id)
        if session is None or session.fenced or broker_id == self._local_broker:
            return False
        is_gone = not session.heard or (session.way is not None and not session.way.is_open())
        if has_its_directories and is_gone:
            return False
        return session.ends_at >= self._clock.monotonic()

    def is_shutting_down(self, broker_id: int) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and session.shutdown_offset is not None

    def stale(self) -> int | None:
        """A broker whose session has run out, the longest silent one first."""
        now = self._clock.monotonic()
        expired = [(session.last_contact, broker) for broker, session in self._watched() if session.ends_at < now]
        return min(expired)[1] if expired else None

    def is_stale(self, broker_id: int) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and not session.fenced and session.ends_at < self._clock.monotonic()

    def seconds_to_next_expiry(self) -> float | None:
        expiries = [session.ends_at for _, session in self._watched()]
        return max(0.0, min(expiries) - self._clock.monotonic()) if expiries else None

    def next_state(
        self,
        broker_id: int,
        *,
        wants_fence: bool,
        wants_shutdown: bool,
        metadata_offset: int,
        registration_offset: int,
        leads: bool,
    ) -> tuple[BrokerState, BrokerState]:
        """The broker's state now and after this heartbeat. Whether it `leads` matters only for one that leaves."""
        session = self._sessions[broker_id]
        current = session.state
        if current is BrokerState.FENCED:
            if wants_shutdown:
                return current, BrokerState.SHUTDOWN_NOW
            # A broker that has not seen its own registration yet would serve from the past.
            caught_up = metadata_offset >= registration_offset
            return current, BrokerState.UNFENCED if not wants_fence and caught_up else current
        if current is BrokerState.UNFENCED:
            if wants_shutdown:
                return (
                    current,
                    BrokerState.CONTROLLED_SHUTDOWN if not wants_fence and leads else BrokerState.SHUTDOWN_NOW,
                )
            return current, BrokerState.FENCED if wants_fence else current
        assert session.shutdown_offset is not None
        if not leads and session.shutdown_offset <= self._lowest_active_offset():
            return current, BrokerState.SHUTDOWN_NOW
        return current, current

    def _lowest_active_offset(self) -> float:
        """How far every broker that stays has followed the log: they must know the new leaders before one leaves."""
        offsets = [
            session.metadata_offset
            for session in self._sessions.values()
            if not session.fenced and session.shutdown_offset is None
        ]
        return min(offsets, default=float("inf"))

    def _watched(self) -> list[tuple[int, _Session]]:
        return [
            (broker, session)
            for broker, session in self._sessions.items()
            if not session.fenced and broker != self._local_broker
        ]

    def _new(self, fenced: bool) -> _Session:
        now = self._clock.monotonic()
        return _Session(now, now + self._timeout, fenced)

    def _renew(self, session: _Session) -> None:
        session.last_contact = self._clock.monotonic()
        session.expiry = session.last_contact + self._timeout
        if session.silent_at < inf:
            session.silent_at = session.last_contact + self._silence
