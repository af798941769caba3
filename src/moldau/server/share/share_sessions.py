"""Share sessions: what a member of a share group wants to read from this broker, remembered between its requests.

A session begins with a fetch of epoch 0, which names every partition; each further request carries the next epoch, and
names what changes. One with epoch -1 ends it. There is one session for each member, and it lives no longer than the
connection it began on: then, as at its end, whatever the member had acquired is for others. Without a session nobody
has records, so there is no doing without one: if there are too many already, whoever asks for one has to wait. So it is
when all of them together name more partitions than any cluster has: a session remembers also those that do not exist,
because a broker may hear of a topic after the members of a group have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.types import Uuid

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_LARGEST: Final = 2**31 - 1
# Of one session, as many as a request may have elements; and of all sessions.
MOST_PLACES: Final = 100_000
_MOST_PLACES_OF_ALL: Final = 1_000_000

Place = tuple[Uuid, int]


class ShareSession:
    __slots__ = ("connection", "counted", "epoch", "group_id", "is_open", "member_id", "partitions", "turn", "waiting")

    def __init__(self, group_id: str, member_id: str, connection: object, partitions: dict[Place, None]) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.connection = connection
        self.epoch = 1
        self.is_open = True
        # A dict, for its order.
        self.partitions = partitions
        # How many they were when they were last counted among those of all sessions.
        self.counted = 0
        # With which of them the next fetch begins.
        self.turn = 0
        # Ends the wait of the fetch that is being served.
        self.waiting: Callable[[], None] | None = None

    def rotated(self) -> list[Place]:
        """Its partitions, beginning with another one each time: none comes last forever."""
        places = list(self.partitions)
        if not places:
            return places
        self.turn = (self.turn + 1) % len(places)
        return places[self.turn :] + places[: self.turn]


class ShareSessions:
    """`ended` hears of every session that is over."""

    def __init__(self, most: int, ended: Callable[[ShareSession], None]) -> None:
        self._most = most
        self._ended = ended
        self._by_member: dict[tuple[str, str], ShareSession] = {}
        self._by_connection: dict[object, set[ShareSession]] = {}
        self._by_group: dict[str, int] = {}
        self._places = 0

    def __len__(self) -> int:
        return len(self._by_member)

    def has_group(self, group_id: str) -> bool:
        return group_id in self._by_group

    def fetch(
        self,
        group_id: str,
        member_id: str,
        epoch: int,
        wanted: dict[Place, None],
        connection: object,
        *,
        acknowledges: bool,
    ) -> ShareSession:
        """The session of a fetch, begun or brought up to date; one with the final epoch is left for `end`. `wanted` is
        its own from then on; what it is to forget, whoever asks takes out of it."""
        if epoch == INITIAL_EPOCH:
            if acknowledges:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The first fetch of a session has nothing to acknowledge.")
            return self._begin(group_id, member_id, wanted, connection)
        session = self._get(group_id, member_id)
        if epoch == FINAL_EPOCH:
            return session
        self._count_on(session, epoch)
        session.partitions.update(wanted)
        try:
            self._count(session)
        except KafkaError:
            # Else it would go on, and name others with each request that is refused.
            self.end(session)
            raise
        return session

    def acknowledge(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        if epoch == INITIAL_EPOCH:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH, "A session begins with a fetch.")
        session = self._get(group_id, member_id)
        if epoch != FINAL_EPOCH:
            self._count_on(session, epoch)
        return session

    def end(self, session: ShareSession) -> None:
        if self._remove(session):
            self._ended(session)

    def connection_closed(self, connection: object) -> None:
        for session in self._by_connection.pop(connection, set()):
            self.end(session)

    def _get(self, group_id: str, member_id: str) -> ShareSession:
        session = self._by_member.get((group_id, member_id))
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return session

    def _count_on(self, session: ShareSession, epoch: int) -> None:
        if epoch != session.epoch:
            raise KafkaError(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH, f"The session is at epoch {session.epoch}, not {epoch}."
            )
        session.epoch = 1 if epoch == _LARGEST else epoch + 1

    def _begin(self, group_id: str, member_id: str, wanted: dict[Place, None], connection: object) -> ShareSession:
        # What the member has acquired in an earlier session it still has: it is the same member.
        earlier = self._by_member.get((group_id, member_id))
        if earlier is None and len(self._by_member) >= self._most:
            raise KafkaError(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED, f"There are {self._most} share sessions, the limit of the node."
            )
        session = ShareSession(group_id, member_id, connection, wanted)
        try:
            self._count(session)
        except KafkaError:
            self._places -= session.counted
            raise
        if earlier is not None:
            self._remove(earlier)
        self._by_member[group_id, member_id] = session
        self._by_connection.setdefault(connection, set()).add(session)
        self._by_group[group_id] = self._by_group.get(group_id, 0) + 1
        return session

    def _count(self, session: ShareSession) -> None:
        """Its partitions among those of all sessions. What it forgets is counted until its next fetch."""
        number = len(session.partitions)
        self._places += number - session.counted
        session.counted = number
        if number > MOST_PLACES:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"A share session of more than {MOST_PLACES} partitions is not kept."
            )
        if self._places > _MOST_PLACES_OF_ALL:
            raise KafkaError(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                f"The share sessions name {_MOST_PLACES_OF_ALL} partitions, the limit of the node.",
            )

    def _remove(self, session: ShareSession) -> bool:
        if not session.is_open:
            return False
        session.is_open = False
        self._places -= session.counted
        del self._by_member[session.group_id, session.member_id]
        on_connection = self._by_connection.get(session.connection, set())
        on_connection.discard(session)
        if not on_connection:
            self._by_connection.pop(session.connection, None)
        left = self._by_group.pop(session.group_id) - 1
        if left:
            self._by_group[session.group_id] = left
        if session.waiting is not None:
            session.waiting()
        return True
