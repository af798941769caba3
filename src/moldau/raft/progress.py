"""How far each replica has come, as the leader sees it; what follows for the high watermark and for the leader itself.

A follower's fetch says how far its log is on its disk. The leader's own log counts up to what was forced to disk,
not up to its end. The high watermark is what a majority of the voters has, and moves only over records of the leader's
own epoch: a record of an earlier one may be on a majority of disks and still be replaced (figure 8 of the Raft paper).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moldau.dataclass import dataclass, field
from moldau.raft.voters import ReplicaKey, VoterSet
from moldau.types import ZERO_UUID

# A leader is given a little longer than its followers before it finds that nobody follows it.
CHECK_QUORUM_FACTOR: Final = 1.5
# Kafka forgets an observer that has not fetched for so long, and lets one become a voter that fetched within an hour.
_OBSERVER_SECONDS: Final = 300.0
_CAUGHT_UP_SECONDS: Final = 3600.0


@dataclass(slots=True)
class Replica:
    key: ReplicaKey
    # Everything before it is on the replica's disk; None until it fetched.
    end_offset: int | None = None
    last_fetch: float | None = None
    last_caught_up: float | None = None
    # Where the leader's log ended when it last fetched.
    leader_end: int = 0

    def fetched(self, offset: int, leader_end: int, now: float) -> None:
        if offset >= leader_end:
            self.last_caught_up = now
        elif self.leader_end and offset >= self.leader_end:
            self.last_caught_up = self.last_fetch
        self.leader_end, self.last_fetch, self.end_offset = leader_end, now, offset


@dataclass(slots=True)
class Progress:
    leader: ReplicaKey
    # Nothing at or before it counts as committed by numbers alone: the epoch's first record lies there.
    epoch_start: int
    fetch_timeout: float
    check_deadline: float = 0.0
    voters: dict[int, Replica] = field(default_factory=dict)
    observers: dict[ReplicaKey, Replica] = field(default_factory=dict)
    _heard: set[int] = field(default_factory=set)

    def begin(self, voters: VoterSet, flushed: int, now: float) -> None:
        self.check_deadline = now + self.fetch_timeout * CHECK_QUORUM_FACTOR
        self.change_voters(voters)
        self.forced(flushed)

    def change_voters(self, voters: VoterSet) -> None:
        """Whoever becomes a voter keeps what is known of it, and so does one who no longer is."""
        known = {**self.observers, **{replica.key: replica for replica in self.voters.values()}}
        replicas: dict[int, Replica] = {}
        for voter in voters:
            found = next((key for key in known if voter.key.covers(key)), None)
            replica = known.pop(found) if found is not None else Replica(voter.key)
            replicas[voter.key.id] = replica
        self.voters = replicas
        # A voter of the settings, which was known by its id alone, begins anew with its directory: it fetches at once,
        # and nothing that another disk had counts for this one.
        self.observers = {
            key: replica for key, replica in known.items() if key.directory != ZERO_UUID or key.id not in replicas
        }
        self._heard &= replicas.keys()

    def find(self, key: ReplicaKey) -> Replica | None:
        voter = self.voters.get(key.id)
        if voter is not None and voter.key.covers(key):
            return voter
        return self.observers.get(key)

    def is_voter(self, key: ReplicaKey) -> bool:
        voter = self.voters.get(key.id)
        return voter is not None and voter.key.covers(key)

    def forced(self, offset: int) -> None:
        """The leader's own log is on disk up to there."""
        own = self.voters.get(self.leader.id)
        if own is not None and own.key.covers(self.leader):
            own.end_offset = offset

    def fetched(self, key: ReplicaKey, offset: int, leader_end: int, now: float) -> None:
        replica = self.find(key)
        if replica is None:
            # Those that are gone make room: anybody may come under any name.
            self.active_observers(now)
            replica = self.observers[key] = Replica(key)
        replica.fetched(offset, leader_end, now)
        self.heard(key, now)

    def heard(self, key: ReplicaKey, now: float) -> None:
        """A voter follows; when enough of them did, the leader has its time again."""
        if not self.is_voter(key):
            return
        self._heard.add(key.id)
        if len(self._heard) >= self._others_needed:
            self._heard.clear()
            self.check_deadline = now + self.fetch_timeout * CHECK_QUORUM_FACTOR

    @property
    def _others_needed(self) -> int:
        return len(self.voters) // 2 + 1 - self.is_voter(self.leader)

    def is_cut_off(self, now: float) -> bool:
        return self._others_needed > 0 and self.check_deadline <= now

    def committed(self) -> int | None:
        """The offset that a majority of the voters has, if that commits anything."""
        if not self.voters:
            return None
        ends = sorted((replica.end_offset or 0 for replica in self.voters.values()), reverse=True)
        offset = ends[len(ends) // 2]
        return offset if offset > self.epoch_start else None

    def is_caught_up(self, key: ReplicaKey, now: float) -> bool:
        replica = self.find(key)
        return (
            replica is not None
            and replica.last_caught_up is not None
            and replica.last_fetch is not None
            and replica.last_fetch > now - _CAUGHT_UP_SECONDS
        )

    def successors(self) -> tuple[ReplicaKey, ...]:
        """The other voters, the one that has most first."""
        others = [replica for replica in self.voters.values() if replica.key.id != self.leader.id]
        others.sort(key=lambda replica: (-(replica.end_offset if replica.end_offset is not None else -1), replica.key))
        return tuple(replica.key for replica in others)

    def unheard(self, now: float) -> Iterable[Replica]:
        """Voters that have not fetched lately: they may not know who leads."""
        for replica in self.voters.values():
            if replica.key.id != self.leader.id and (
                replica.last_fetch is None or replica.last_fetch <= now - self.fetch_timeout / 2
            ):
                yield replica

    def active_observers(self, now: float) -> list[Replica]:
        gone = [
            key
            for key, replica in self.observers.items()
            if key != self.leader and (replica.last_fetch is None or replica.last_fetch <= now - _OBSERVER_SECONDS)
        ]
        for key in gone:
            del self.observers[key]
        return list(self.observers.values())
