"""This node as a member of the quorum: who it is, what it knows, and how it passes from one role to another.

Shared by the parts of the machine. Each passage persists what must not be forgotten before anything is said in the new
role (see `effects`), and drops what belonged to the old one: open requests, parked fetches, a pending change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moldau.dataclass import dataclass
from moldau.errors import ErrorCode
from moldau.links.addresses import Address
from moldau.protocol.records import ControlType
from moldau.raft.connections import Connections
from moldau.raft.control_records import ControlRecord, kraft_version_record, leader_change, voters_record
from moldau.raft.effects import (
    AppendControl,
    Deliver,
    Effect,
    Election,
    Force,
    LeaderChanged,
    Persist,
    Reply,
    Send,
)
from moldau.raft.log_view import EpochOffset, LogView
from moldau.raft.messages import ChangeAnswer, FetchAnswer, Request, Standing
from moldau.raft.progress import Progress
from moldau.raft.roles import Ballot, Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from moldau.raft.voters import ReplicaKey, Voter, VoterChange, VoterHistory, VoterSet
from moldau.runtime.ports import Random

# Kafka's first pause after an election that nobody won, doubled with each further one.
_BACKOFF_SECONDS: Final = 0.1
_MOST_DOUBLINGS: Final = 10
# A leader whose connection ended is given between one and five times as long.
_DOUBT_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class RaftSettings:
    """Times in seconds. `listener` names the endpoint of a voter that others use."""

    election_timeout: float = 1.0
    election_backoff_max: float = 1.0
    fetch_timeout: float = 2.0
    request_timeout: float = 2.0
    retry_backoff: float = 0.02
    listener: str = "CONTROLLER"
    bootstrap_servers: tuple[Address, ...] = ()
    auto_join: bool = False
    # Whether the node is a controller, which may become a voter.
    is_controller: bool = True


class Member:
    def __init__(
        self,
        local: Voter,
        settings: RaftSettings,
        voters: VoterHistory,
        log: LogView,
        flushed: int,
        random: Random,
        now: float,
    ) -> None:
        self.local = local
        self.key: ReplicaKey = local.key
        self.settings = settings
        self.history = voters
        self.log = log
        self.now = now
        self.election = Election()
        self.role: Role = Unattached(now)
        self.connections = Connections(settings.request_timeout, settings.retry_backoff)
        # Everything before it is committed; 0 or the snapshot's end until somebody says more.
        self.high_watermark = 0
        # What leaders have said since the start, which may be more than this node has.
        self.told_high_watermark = -1
        # The end of the log, and how far it is on disk. The log itself follows when the step's effects are done.
        self.end: EpochOffset = log.end
        self.flushed = flushed
        self.lost_elections = 0
        self.effects: list[Effect] = []
        self._random = random
        self._told = (-1, -1)

    # ------------------------------------------------------------------------------------------------- what it knows

    @property
    def epoch(self) -> int:
        return self.election.epoch

    @property
    def voters(self) -> VoterSet:
        return self.history.last

    @property
    def is_voter(self) -> bool:
        return self.voters.has(self.key)

    @property
    def may_stand(self) -> bool:
        """Whether it may be elected. Also one that was removed, as long as that is not committed: perhaps no other log
        is long enough to win, and then there would never be a leader again."""
        if self.is_voter:
            return True
        uncommitted = self.history.last_offset
        return uncommitted >= self.high_watermark and self.history.at(uncommitted)[0].has(self.key)

    @property
    def leader_id(self) -> int:
        """The leader of this epoch as far as it is known; a leader that resigned is none."""
        leader_id = self.election.leader_id
        return -1 if leader_id == self.key.id and not isinstance(self.role, Leader) else leader_id

    @property
    def standing(self) -> Standing:
        leader_id = self.leader_id
        return Standing(self.epoch, leader_id, self.address_of(leader_id) if leader_id >= 0 else None)

    def address_of(self, node_id: int) -> Address | None:
        if node_id == self.key.id:
            return self.local.address(self.settings.listener)
        if isinstance(self.role, Follower) and self.role.leader_id == node_id:
            return self.role.address
        voter = self.voters.get(node_id)
        return None if voter is None else voter.address(self.settings.listener)

    def election_timeout(self) -> float:
        return self.settings.election_timeout * (1 + self._random.below(1000) / 1000)

    def doubt_timeout(self) -> float:
        """How long a leader that seems to have died is given to show that it lives. Not the same for two, lest they
        take each other's votes; and nobody who is patient becomes less so."""
        return min(_DOUBT_SECONDS * (1 + self._random.below(4000) / 1000), self.settings.fetch_timeout)

    def chosen(self, several: list[Address]) -> int:
        return self._random.below(len(several))

    # ----------------------------------------------------------------------------------------------------- utterances

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def send(self, node_id: int, address: Address, request: Request, extra: float = 0.0) -> int:
        id = self.connections.begin(node_id, request, self.now, extra)
        self.emit(Send(id, node_id, address, request))
        return id

    def announce(self, leader_id: int) -> None:
        told = (leader_id, self.epoch)
        if self._told != told:
            self._told = told
            self.emit(LeaderChanged(leader_id, self.epoch))

    def commit(self, offset: int) -> None:
        if offset > self.high_watermark:
            self.high_watermark = offset
            self.emit(Deliver(offset))

    def append_control(self, records: Iterable[ControlRecord], voters: VoterSet | None, kraft_version: int) -> int:
        """Writes control records as leader; a set of voters counts from now on. The offset of the last one."""
        batch, base = tuple(records), self.end.offset
        changes: list[VoterChange] = []
        for offset, (type, _) in enumerate(batch, base):
            if type == ControlType.KRAFT_VERSION:
                changes.append(VoterChange(offset, kraft_version=kraft_version))
            elif type == ControlType.KRAFT_VOTERS:
                changes.append(VoterChange(offset, voters))
        self.history.add(changes)
        effect = AppendControl(base, self.epoch, batch, tuple(changes))
        self.end = effect.end
        self.emit(effect)
        self.emit(Force())
        return self.end.offset - 1

    # -------------------------------------------------------------------------------------------------------- passages

    def become_unattached(self, epoch: int, leader_id: int = -1, voted: ReplicaKey | None = None) -> None:
        role = self.role
        deadline = self.now + self.election_timeout()
        if isinstance(role, Unattached | Prospective) and epoch > self.epoch:
            # Somebody else's epoch is no reason to wait longer: else one who cannot win could hold up all others.
            deadline = min(deadline, max(role.deadline, self.now))
        self._leave()
        self.role = Unattached(deadline)
        self._persist(Election(epoch, leader_id, voted))
        self.announce(self.leader_id)

    def become_prospective(self) -> None:
        role = self.role
        self._leave()
        leader = role.address if isinstance(role, Follower) else None
        self.role = Prospective(Ballot(self.voters.ids, self.key.id), self.now + self.election_timeout(), leader)

    def become_candidate(self) -> None:
        self._leave()
        self.role = Candidate(Ballot(self.voters.ids, self.key.id), self.now + self.election_timeout())
        # The candidate's vote is its own; it stands on disk before anybody is asked for another.
        self._persist(Election(self.epoch + 1, -1, self.key))
        self.announce(-1)

    def become_leader(self, granted_by: tuple[int, ...]) -> None:
        self._leave()
        self.lost_elections = 0
        progress = Progress(self.key, self.end.offset, self.settings.fetch_timeout)
        progress.begin(self.voters, min(self.flushed, self.end.offset), self.now)
        self.role = Leader(progress, self.now)
        self._persist(Election(self.epoch, self.key.id))
        version, voters = self.history.kraft_version, self.voters
        records = [leader_change(self.key.id, voters.ids, granted_by)]
        if version > 0 and self.is_voter and (self.history.last_offset < 0 or voters.get(self.key.id) != self.local):
            # The first leader brings what its directory was formatted with into the log.
            voters = voters.with_voter(self.local)
            records += [kraft_version_record(version), voters_record(voters)]
        self.append_control(records, voters, version)
        progress.change_voters(self.voters)

    def become_follower(self, epoch: int, leader_id: int, address: Address | None) -> None:
        voted = self.election.voted if epoch == self.epoch else None
        if address is None:
            # It leads, but where? Somebody will know.
            self.become_unattached(epoch, leader_id, voted)
            return
        self._leave()
        self.lost_elections = 0
        timeout = self.settings.fetch_timeout
        self.role = Follower(leader_id, address, self.now + timeout, update_at=self.now + timeout)
        self._persist(Election(epoch, leader_id, voted))
        self.announce(leader_id)

    def become_resigned(self) -> None:
        successors = self.role.progress.successors() if isinstance(self.role, Leader) else ()
        self._leave()
        self.role = Resigned(self.now + self.election_timeout(), successors, {key.id for key in successors})
        self.announce(-1)

    def backoff(self) -> float:
        """After an election that was lost: the more of them, the longer, and never the same for two."""
        doublings = min(self.lost_elections, _MOST_DOUBLINGS)
        self.lost_elections += 1
        pause = _BACKOFF_SECONDS * (self._random.below(1000 * 2 ** (doublings + 1)) / 1000)
        return min(pause, self.settings.election_backoff_max)

    def _leave(self) -> None:
        role = self.role
        self.connections.reset()
        if isinstance(role, Leader):
            standing = Standing(self.epoch)
            for parked in role.parked:
                self.emit(Reply(parked.token, FetchAnswer(ErrorCode.NOT_LEADER_OR_FOLLOWER, standing)))
            if role.change is not None and role.change.token is not None:
                self.emit(Reply(role.change.token, ChangeAnswer(ErrorCode.NOT_LEADER_OR_FOLLOWER, standing)))

    def _persist(self, election: Election) -> None:
        if election != self.election:
            self.election = election
            self.emit(Persist(election))
