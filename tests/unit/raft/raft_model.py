"""A member of a simulated quorum: the machine, and a disk that loses what was not forced to it.

`Host` keeps the rules that `moldau.raft.effects` sets for whoever carries out effects, with all the freedom they leave:
an election is on disk some time after it was asked for, an fsync covers what was written before it began, and a crash
takes any part of what was not forced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from moldau.errors import ErrorCode
from moldau.raft.effects import (
    Append,
    AppendControl,
    Deliver,
    DeliverSnapshot,
    Effect,
    Election,
    Fault,
    Force,
    LeaderChanged,
    Persist,
    Reply,
    ReplySnapshot,
    SaveSnapshot,
    Send,
    Truncate,
)
from moldau.raft.log_view import Entries, EpochOffset
from moldau.raft.machine import RaftMachine
from moldau.raft.member import RaftSettings
from moldau.raft.messages import FetchAnswer, SnapshotAnswer
from moldau.raft.voters import Voter, VoterChange, VoterHistory, VoterSet
from moldau.simulation.chance import SeededRandom


class Entry(NamedTuple):
    epoch: int
    payload: object
    changes: tuple[VoterChange, ...] = ()


class Snapshot(NamedTuple):
    end: EpochOffset
    digest: int
    changes: tuple[VoterChange, ...]


class Content(NamedTuple):
    """What a log holds: a snapshot and what follows it."""

    snapshot: Snapshot | None
    entries: tuple[Entry, ...]


class ModelLog:
    """The view that the machine has, over a list."""

    def __init__(self, content: Content) -> None:
        self.base = content.snapshot
        self.entries: list[Entry] = list(content.entries)

    @property
    def start_offset(self) -> int:
        return 0 if self.base is None else self.base.end.offset

    @property
    def snapshot(self) -> EpochOffset | None:
        return None if self.base is None else self.base.end

    @property
    def end(self) -> EpochOffset:
        offset = self.start_offset + len(self.entries)
        return EpochOffset(self.epoch_before(offset), offset)

    def epoch_before(self, offset: int) -> int:
        index = offset - self.start_offset - 1
        if index >= 0:
            return self.entries[index].epoch
        return 0 if self.base is None else self.base.end.epoch

    def end_of_epoch(self, epoch: int) -> EpochOffset:
        offset = self.start_offset + len(self.entries)
        while offset > self.start_offset and self.epoch_before(offset) > epoch:
            offset -= 1
        return EpochOffset(self.epoch_before(offset), offset)

    def at(self, offset: int) -> Entry:
        return self.entries[offset - self.start_offset]

    @property
    def content(self) -> Content:
        return Content(self.base, tuple(self.entries))


class Surroundings(Protocol):
    """What a host asks of the world; times are those of its own clock."""

    def later(self, host: Host, delay: float, event: Callable[[], None]) -> None: ...

    def send(self, host: Host, send: Send) -> None: ...

    def reply(self, host: Host, token: Any, answer: Any) -> None: ...

    def witness(self, host: Host, effect: Effect) -> None: ...

    def told(self, host: Host, news: LeaderChanged) -> None: ...

    def clock(self, host: Host) -> float: ...


class Host:
    # How long the disk takes, in seconds.
    fsync_seconds = (0.001, 0.03)
    # How many entries an answer carries at most.
    most_entries = 8

    def __init__(
        self,
        local: Voter,
        settings: RaftSettings,
        voters: VoterSet,
        kraft_version: int,
        world: Surroundings,
        random: SeededRandom,
    ) -> None:
        self.local, self.settings, self.world, self.random = local, settings, world, random
        self.id = local.key.id
        self._configured, self._kraft_version = voters, kraft_version
        # What survives.
        self.election = Election()
        self.disk = Content(None, ())
        self.incarnation = 0
        self.machine: RaftMachine | None = None

    @property
    def is_up(self) -> bool:
        return self.machine is not None

    # ------------------------------------------------------------------------------------------------- life and death

    def start(self, now: float) -> None:
        self.incarnation += 1
        self.log = ModelLog(self.disk)
        self.delivered = self.log.start_offset
        self.digest = 0 if self.log.base is None else self.log.base.digest
        self._queue: deque[Effect] = deque()
        self._persisting = self._forcing = False
        self._cuts = 0
        self._timer: object = None
        self._download: list[bytes] = []
        self.machine = RaftMachine(
            self.local, self.settings, self._history(), self.election, self.log, self.log.end.offset, self.random, now
        )
        self.run(self.machine.start(now), now)

    def _history(self) -> VoterHistory:
        history = VoterHistory(VoterSet() if self._kraft_version else self._configured)
        if self.log.base is not None:
            history.add(self.log.base.changes)
        elif self._kraft_version:
            # As a formatted directory has it.
            history.add([VoterChange(-1, self._configured), VoterChange(-1, kraft_version=self._kraft_version)])
        for entry in self.log.entries:
            history.add(entry.changes)
        return history

    def crash(self) -> None:
        """Any part of what was not forced to disk is lost."""
        self.machine = None
        self.incarnation += 1
        disk, now = self.disk, self.log.content
        if now.snapshot == disk.snapshot:
            same = 0
            while same < min(len(disk.entries), len(now.entries)) and disk.entries[same] == now.entries[same]:
                same += 1
            if same == len(disk.entries):
                kept = self.random.between(same, len(now.entries))
                self.disk = Content(now.snapshot, now.entries[:kept])
            elif self.random.happens(0.5):
                # A cut that reached the disk, with or without what was written behind it.
                kept = self.random.between(same, len(now.entries))
                self.disk = Content(now.snapshot, now.entries[:kept])

    # --------------------------------------------------------------------------------------------------------- effects

    def step(self, take: Callable[[RaftMachine], list[Effect]], now: float) -> None:
        if self.machine is not None:
            self.run(take(self.machine), now)

    def run(self, effects: Sequence[Effect], now: float) -> None:
        for effect in effects:
            self.world.witness(self, effect)
            if isinstance(effect, Append):
                self.log.entries += effect.entries.data
            elif isinstance(effect, AppendControl):
                for index, (type, _) in enumerate(effect.records):
                    offset = effect.base_offset + index
                    changes = tuple(change for change in effect.changes if change.offset == offset)
                    self.log.entries.append(Entry(effect.epoch, type.name, changes))
            elif isinstance(effect, Truncate):
                self._cuts += 1
                del self.log.entries[effect.end_offset - self.log.start_offset :]
            elif isinstance(effect, SaveSnapshot):
                self._save(effect)
            elif isinstance(effect, Force):
                self._force()
            else:
                self._queue.append(self._resolved(effect))
        self._work(now)
        self._set_timer(now)

    def _resolved(self, effect: Effect) -> Effect:
        """Answers that carry records are read at once: the log may be another when they leave."""
        if isinstance(effect, Reply) and isinstance(effect.answer, FetchAnswer) and effect.answer.read_from is not None:
            answer, base = effect.answer, effect.answer.read_from
            assert base is not None
            entries = self.log.entries[base - self.log.start_offset :][: self.random.between(1, self.most_entries)]
            end = base + len(entries)
            carried = Entries(
                entries,
                base,
                EpochOffset(self.log.epoch_before(end), end),
                tuple(change for entry in entries for change in entry.changes),
            )
            return Reply(
                effect.token, FetchAnswer(answer.error, answer.standing, answer.high_watermark, entries=carried)
            )
        return effect

    def _work(self, now: float) -> None:
        while self._queue and not self._persisting:
            effect = self._queue.popleft()
            if isinstance(effect, Persist):
                self._persist(effect)
            elif isinstance(effect, Send):
                self.world.send(self, effect)
            elif isinstance(effect, Reply):
                self.world.reply(self, effect.token, effect.answer)
            elif isinstance(effect, ReplySnapshot):
                self.world.reply(self, effect.token, self._piece(effect))
            elif isinstance(effect, Deliver):
                self._deliver(effect.end_offset)
            elif isinstance(effect, DeliverSnapshot):
                base = self.log.base
                if base is not None and base.end.offset > self.delivered:
                    self.delivered, self.digest = base.end.offset, base.digest
            elif isinstance(effect, LeaderChanged):
                self.world.told(self, effect)
            elif isinstance(effect, Fault):
                raise AssertionError(f"node {self.id}: {effect.reason}")

    def _persist(self, effect: Persist) -> None:
        self._persisting = True
        incarnation = self.incarnation

        def done() -> None:
            if self.incarnation == incarnation:
                self.election = effect.election
                self._persisting = False
                self._work(0.0)

        self.world.later(self, self._disk_time(), done)

    def _disk_time(self) -> float:
        low, high = self.fsync_seconds
        return low + (high - low) * self.random.below(1000) / 1000

    def _force(self) -> None:
        if self._forcing:
            return
        self._forcing = True
        incarnation, cuts, content = self.incarnation, self._cuts, self.log.content

        def done() -> None:
            if self.incarnation != incarnation:
                return
            self._forcing = False
            if cuts == self._cuts:
                if content.snapshot == self.disk.snapshot:
                    self.disk = content
                flushed = self.log.start_offset if content.snapshot != self.log.base else _end(content)
                now = self.world.clock(self)
                self.step(lambda machine: machine.flushed(max(flushed, self.log.start_offset), now), now)
            if self.is_up and self.log.end.offset > _end(self.disk):
                self._force()

        self.world.later(self, self._disk_time(), done)

    def _deliver(self, end_offset: int) -> None:
        while self.delivered < end_offset:
            self.digest = hash((self.digest, self.log.at(self.delivered)[:2]))
            self.delivered += 1

    def _set_timer(self, now: float) -> None:
        machine = self.machine
        deadline = None if machine is None else machine.deadline
        self._timer = timer = object()
        if deadline is not None:

            def due() -> None:
                if self._timer is timer:
                    at = self.world.clock(self)
                    self.step(lambda machine: machine.tick(at), at)

            self.world.later(self, max(0.0, deadline - now) + 1e-6, due)

    # -------------------------------------------------------------------------------------------------------- snapshots

    def take_snapshot(self) -> None:
        """Of what was delivered; what it contains leaves the log."""
        machine, log = self.machine, self.log
        if machine is None or self.delivered <= log.start_offset or self._forcing:
            return
        if _end(self.disk) < self.delivered:
            return
        voters, version = machine.member.history.at(self.delivered)
        offset = self.delivered - 1
        changes: tuple[VoterChange, ...] = ()
        if version:
            changes = (VoterChange(offset, voters), VoterChange(offset, kraft_version=version))
        snapshot = Snapshot(EpochOffset(log.epoch_before(self.delivered), self.delivered), self.digest, changes)
        kept = self.delivered - log.start_offset
        log.base, log.entries = snapshot, log.entries[kept:]
        self.disk = Content(snapshot, self.disk.entries[kept:])

    def _piece(self, effect: ReplySnapshot) -> SnapshotAnswer:
        base, request = self.log.base, effect.request
        if base is None or base.end != request.snapshot:
            return SnapshotAnswer(ErrorCode.SNAPSHOT_NOT_FOUND, effect.standing)
        # In three pieces; the last one carries it.
        piece: Any = (b"s", b"n", _Carried(base))[request.position]
        return SnapshotAnswer(ErrorCode.NONE, effect.standing, base.end, 3, request.position, piece)

    def _save(self, effect: SaveSnapshot) -> None:
        if not effect.is_last:
            return
        incarnation, data = self.incarnation, effect.data

        def done() -> None:
            if self.incarnation != incarnation or self.machine is None:
                return
            assert isinstance(data, _Carried)
            if data.snapshot.end > self.log.end:
                self._cuts += 1
                self.disk = Content(data.snapshot, ())
                self.log.base, self.log.entries = data.snapshot, []
            now = self.world.clock(self)
            if self.log.base is data.snapshot:
                self.step(lambda machine: machine.snapshot_installed(data.snapshot.changes, now), now)
            else:
                self.step(lambda machine: machine.snapshot_failed(now), now)

        self.world.later(self, self._disk_time(), done)


class _Carried(bytes):
    snapshot: Snapshot

    def __new__(cls, snapshot: Snapshot) -> _Carried:
        self = super().__new__(cls, b".")
        self.snapshot = snapshot
        return self


def _end(content: Content) -> int:
    return (0 if content.snapshot is None else content.snapshot.end.offset) + len(content.entries)
