"""The roles of a member in an epoch, with what each has to remember. Times are those of the machine.

A node that is no voter is Unattached or Follower like the others, and never stands for election: it observes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from moldau.dataclass import dataclass, field
from moldau.links.addresses import Address
from moldau.raft.log_view import EpochOffset
from moldau.raft.messages import FetchRequest
from moldau.raft.progress import Progress
from moldau.raft.voters import ReplicaKey, Voter


class Ballot:
    """The votes of an election, the candidate's own included."""

    def __init__(self, voters: tuple[int, ...], own: int) -> None:
        self._votes: dict[int, bool | None] = dict.fromkeys(voters)
        if own in self._votes:
            self._votes[own] = True

    def record(self, voter: int, granted: bool) -> None:
        if self._votes.get(voter, granted) is None:
            self._votes[voter] = granted

    @property
    def granted(self) -> tuple[int, ...]:
        return tuple(voter for voter, vote in self._votes.items() if vote)

    @property
    def missing(self) -> tuple[int, ...]:
        return tuple(voter for voter, vote in self._votes.items() if vote is None)

    @property
    def is_won(self) -> bool:
        return len(self.granted) > len(self._votes) // 2

    @property
    def is_lost(self) -> bool:
        return len(self.granted) + len(self.missing) <= len(self._votes) // 2


@dataclass(slots=True)
class Unattached:
    """Knows of no leader it could follow; waits for one, or for its time to stand for election."""

    deadline: float


@dataclass(slots=True)
class Prospective:
    """Asks whether it would be elected, in the epoch there is: who cannot win disturbs nobody."""

    ballot: Ballot
    deadline: float
    # Where it came from, and goes back to if it would not be elected.
    leader: Address | None


@dataclass(slots=True)
class Candidate:
    ballot: Ballot
    deadline: float
    # The election is lost; it tries again then.
    retry: float | None = None


@dataclass(slots=True)
class Parked:
    """A fetch that waits for something to answer."""

    token: Any
    request: FetchRequest
    deadline: float


@dataclass(slots=True)
class PendingChange:
    """A change of the voters, one at a time: sets that differ by one always share a majority, others need not."""

    token: Any
    deadline: float
    # Answered when it is written, by those who would only ask again.
    answers_early: bool = False
    # The voter to be added, as long as it is not known what it understands; the number of that question.
    added: Voter | None = None
    asked: int = -1
    # Where the new set was written.
    offset: int | None = None


@dataclass(slots=True)
class Leader:
    progress: Progress
    announce_at: float
    parked: list[Parked] = field(default_factory=list)
    change: PendingChange | None = None
    # What fixed voters have said of themselves in this epoch, by id: neither settings nor log has it.
    reported: dict[int, Voter] = field(default_factory=dict)
    # Its own first record is committed: everybody may know.
    is_settled: bool = False


@dataclass(slots=True)
class Download:
    """A snapshot on its way from the leader; `is_whole` while it is being put in the place of the log."""

    snapshot: EpochOffset
    position: int = 0
    is_whole: bool = False


@dataclass(slots=True)
class Follower:
    leader_id: int
    address: Address
    deadline: float
    # Whether this leader has answered a fetch: then it lives, and nobody else gets a pre-vote.
    has_fetched: bool = False
    download: Download | None = None
    # When to look whether the leader knows where this voter is reached, or whether to ask to become one.
    update_at: float = 0.0
    # Whether this leader has been told so by a voter whose leader has it from nowhere else.
    has_reported: bool = False


@dataclass(slots=True)
class Resigned:
    """Led this epoch, and will not again: also after a restart, when nobody knows what was lost."""

    deadline: float
    successors: tuple[ReplicaKey, ...] = ()
    unacknowledged: set[int] = field(default_factory=set)


Role: TypeAlias = Unattached | Prospective | Candidate | Leader | Follower | Resigned
