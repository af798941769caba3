"""The side that follows: fetches from the leader, appends, cuts off what the leader does not have, takes snapshots.

A fetch says how far this log is on disk, so the next one waits for the fsync of what the last one brought. What is cut
off is decided by epochs, never by the high watermark: that one may be old, and what lies behind it committed.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode
from moldau.links.addresses import Address
from moldau.raft.effects import Append, DeliverSnapshot, Fault, Force, SaveSnapshot, Truncate
from moldau.raft.elections import Elections
from moldau.raft.log_view import Entries, EpochOffset
from moldau.raft.member import Member
from moldau.raft.messages import (
    AddVoterRequest,
    ChangeAnswer,
    FetchAnswer,
    FetchRequest,
    RemoveVoterRequest,
    Request,
    SnapshotAnswer,
    SnapshotRequest,
    Standing,
    UpdateVoterRequest,
)
from moldau.raft.roles import Download, Follower, Unattached
from moldau.raft.voters import VoterChange

_MAX_WAIT: Final = 0.5
_FETCH_BYTES: Final = 8 << 20
_SNAPSHOT_BYTES: Final = 1 << 20
# The numbers of bootstrap servers, whose nodes are not known, count down from here.
_FIRST_SERVER: Final = -2


class Fetcher:
    def __init__(self, member: Member, elections: Elections) -> None:
        self._member = member
        self._elections = elections

    # ------------------------------------------------------------------------------------------------------------ time

    def poll(self) -> None:
        member = self._member
        role, now = member.role, member.now
        if isinstance(role, Unattached):
            self._find_leader()
        elif isinstance(role, Follower):
            if role.deadline <= now and member.may_stand:
                member.become_prospective()
                self._elections.count()
                self._elections.poll()
            elif role.deadline <= now or member.connections.is_paused(role.leader_id, now):
                # It does not answer. A voter's time runs out by itself; whoever only observes asks around.
                if member.may_stand:
                    self._fetch(role)
                else:
                    self._find_leader()
            else:
                self._fetch(role)

    def _fetch(self, role: Follower) -> None:
        member = self._member
        if not member.connections.is_free(role.leader_id, member.now):
            return
        if role.update_at <= member.now and self._update_voter(role):
            return
        download = role.download
        if download is None:
            if member.flushed >= member.end.offset:
                member.send(role.leader_id, role.address, self._request(), self._max_wait)
        elif not download.is_whole:
            request = SnapshotRequest(member.epoch, member.key, download.snapshot, download.position, _SNAPSHOT_BYTES)
            member.send(role.leader_id, role.address, request)

    def _find_leader(self) -> None:
        """Fetches from anybody: who does not lead says who does."""
        member = self._member
        if not member.connections.is_idle or member.flushed < member.end.offset:
            return
        nodes = [(id, address) for id in member.voters.ids if id != member.key.id and (address := self._voter(id))]
        own = member.local.address(member.settings.listener)
        servers = enumerate(member.settings.bootstrap_servers)
        nodes += [(_FIRST_SERVER - i, address) for i, address in servers if address != own]
        free = [node for node in nodes if member.connections.is_free(node[0], member.now)]
        if free:
            node_id, address = free[member.chosen([address for _, address in free])]
            member.send(node_id, address, self._request())

    def _voter(self, id: int) -> Address | None:
        voter = self._member.voters.get(id)
        return None if voter is None else voter.address(self._member.settings.listener)

    def doubt(self, node_id: int) -> None:
        """The connection to this node ended, as those of a process that died do; or it says that it does not lead. If
        it was the leader, and says nothing else in a moment, this node stands for election: pre-votes see to it that
        nothing comes of that as long as others hear it."""
        member, role = self._member, self._member.role
        if isinstance(role, Follower) and role.leader_id == node_id:
            role.has_fetched = False
            role.deadline = min(role.deadline, member.now + member.doubt_timeout())

    @property
    def _max_wait(self) -> float:
        role = self._member.role
        if isinstance(role, Follower) and not role.has_fetched:
            # Whether it leads at all is to be known at once.
            return 0.0
        return min(_MAX_WAIT, self._member.settings.fetch_timeout / 4)

    def _request(self) -> FetchRequest:
        member = self._member
        return FetchRequest(member.epoch, member.key, member.end, member.high_watermark, self._max_wait, _FETCH_BYTES)

    # --------------------------------------------------------------------------------------------------------- answers

    def fetched(self, answer: FetchAnswer) -> None:
        member = self._member
        if self._elections.heard(answer.error, answer.standing):
            return
        role = member.role
        if not isinstance(role, Follower) or answer.standing.leader_id != role.leader_id:
            return
        role.deadline, role.has_fetched = member.now + member.settings.fetch_timeout, True
        member.told_high_watermark = max(member.told_high_watermark, answer.high_watermark)
        if answer.diverging is not None:
            self._truncate(answer.diverging)
        elif answer.snapshot is not None:
            if answer.snapshot.offset > member.high_watermark:
                role.download = Download(answer.snapshot)
        else:
            if answer.entries is not None:
                self._append(answer.entries)
            member.commit(min(answer.high_watermark, member.end.offset))

    def _append(self, entries: Entries) -> None:
        member = self._member
        if entries.base_offset != member.end.offset or entries.end.offset <= entries.base_offset:
            return
        member.end = entries.end
        member.history.add(entries.changes)
        member.emit(Append(entries))
        member.emit(Force())

    def append_failed(self) -> None:
        """It could not be written, and the log is as before: asked for again after a pause."""
        member = self._member
        member.history.cut(member.end.offset)
        # What was committed of it is committed, but not here: this node learns of it when it has it.
        member.high_watermark = min(member.high_watermark, member.end.offset)
        if isinstance(member.role, Follower):
            member.connections.pause(member.role.leader_id, member.now)

    def _truncate(self, diverging: EpochOffset) -> None:
        """To the end of the newest epoch that both logs have, or where the leader's part of it ends."""
        member = self._member
        own = member.log.end_of_epoch(diverging.epoch)
        end = min(own.offset, diverging.offset) if own.epoch == diverging.epoch else own.offset
        self.truncate_to(end)

    def truncate_to(self, end: int) -> None:
        member = self._member
        if end < member.high_watermark:
            member.emit(
                Fault(
                    f"the leader {member.leader_id} of epoch {member.epoch} has nothing after offset {end}, but "
                    f"{member.high_watermark} were committed: it has lost what a majority had"
                )
            )
            return
        if end < member.end.offset:
            member.emit(Truncate(end))
            member.history.cut(end)
            member.flushed = min(member.flushed, end)
            member.end = EpochOffset(member.log.epoch_before(end), end)

    def snapshot_fetched(self, answer: SnapshotAnswer) -> None:
        member = self._member
        if answer.error is ErrorCode.SNAPSHOT_NOT_FOUND or answer.error is ErrorCode.POSITION_OUT_OF_RANGE:
            self._elections.heard(ErrorCode.NONE, answer.standing)
            if isinstance(member.role, Follower):
                # The leader has a newer one by now.
                member.role.download = None
            return
        if self._elections.heard(answer.error, answer.standing):
            return
        role = member.role
        download = role.download if isinstance(role, Follower) else None
        if not isinstance(role, Follower) or download is None:
            return
        if download.snapshot != answer.snapshot or download.position != answer.position:
            role.download = None
            return
        role.deadline, role.has_fetched = member.now + member.settings.fetch_timeout, True
        download.position += len(answer.data)
        download.is_whole = download.position >= answer.size
        member.emit(SaveSnapshot(download.snapshot, answer.position, answer.data, download.is_whole))

    def snapshot_installed(self, changes: tuple[VoterChange, ...]) -> None:
        """The log begins and ends with the snapshot now."""
        member = self._member
        snapshot = member.log.snapshot
        assert snapshot is not None
        member.end = snapshot
        member.flushed = snapshot.offset
        member.history.restart(changes)
        if snapshot.offset > member.high_watermark:
            member.high_watermark = snapshot.offset
            member.emit(DeliverSnapshot(snapshot))
        self.snapshot_given_up()

    def snapshot_given_up(self) -> None:
        if isinstance(self._member.role, Follower):
            self._member.role.download = None

    # ---------------------------------------------------------------------------------------------------------- voters

    def _update_voter(self, role: Follower) -> bool:
        """Tells the leader where this voter is reached now, or asks to become a voter; whether anything was sent."""
        member = self._member
        role.update_at = member.now + member.settings.fetch_timeout * 1.5
        if not role.has_fetched:
            return False
        known = member.voters.get(member.key.id)
        if member.history.kraft_version < 1:
            if not member.is_voter or role.has_reported:
                return False
            member.send(role.leader_id, role.address, UpdateVoterRequest(member.epoch, member.local))
        elif member.is_voter:
            if known == member.local:
                return False
            member.send(role.leader_id, role.address, UpdateVoterRequest(member.epoch, member.local))
        elif member.settings.auto_join and member.settings.is_controller:
            if known is not None:
                # This node with another disk: that voter will never come back.
                member.send(role.leader_id, role.address, RemoveVoterRequest(known.key))
            else:
                request = AddVoterRequest(member.local, member.settings.request_timeout, ack_when_committed=False)
                member.send(role.leader_id, role.address, request)
        else:
            return False
        return True

    def update_answered(self, request: Request, answer: ChangeAnswer) -> None:
        role = self._member.role
        if isinstance(request, UpdateVoterRequest) and isinstance(role, Follower) and answer.error is ErrorCode.NONE:
            role.has_reported = True
        if answer.standing != Standing(-1):
            self._elections.heard(answer.error, answer.standing)
