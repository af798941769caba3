"""The quorum of controllers as one of its members runs it: the machine, over a log, a file and the other members.

Everything comes to the machine in a turn of the loop, and what it answers is carried out by the rules of `effects`: the
log is changed at once, what leaves the node waits until an election is on disk. Both that and the fsync of the log run
on a worker. Commit is group commit: an append writes to the file and returns; the fsync covers everything written
before it began, and while it runs, further appends gather for the next.

A node that is the only voter elects itself while it starts, and has told its listeners everything when `start` returns.
A node that is no voter (a broker, or a controller that is to become one) follows the log in the same way.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from moldau.config.broker import BrokerConfig
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.links.addresses import Address
from moldau.links.peers import PeerPort
from moldau.metadata.committed import CommittedBatch
from moldau.metadata.records import VersionedRecord
from moldau.protocol.message import Message
from moldau.raft.batches import change_batch, control_batch
from moldau.raft.correspondence import Correspondence
from moldau.raft.delivery import Delivery
from moldau.raft.description import describe
from moldau.raft.effects import (
    Append,
    AppendControl,
    Deliver,
    DeliverSnapshot,
    Effect,
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
from moldau.raft.group_commit import GroupCommit
from moldau.raft.incoming_forms import request_from
from moldau.raft.log_view import Entries
from moldau.raft.machine import RaftMachine
from moldau.raft.member import Member
from moldau.raft.membership import Membership
from moldau.raft.messages import Answer, FetchAnswer
from moldau.raft.metadata_log import MetadataLog
from moldau.raft.quorum import QuorumListener
from moldau.raft.snapshot_file import SnapshotId, SnapshotWriter
from moldau.raft.snapshot_transfer import SnapshotTransfer
from moldau.raft.voters import VoterChange
from moldau.runtime.ports import Clock, Disk, Loop, Random, TimerHandle, Workers

logger = logging.getLogger("moldau.raft")


class RaftQuorum:
    """`on_fault` is told when the log can no longer be trusted: then the node must stop.

    Without `workers` the disk is waited for in the loop, at the end of the turn.
    """

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        loop: Loop,
        random: Random,
        workers: Workers | None = None,
        peers: PeerPort | None = None,
        on_fault: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.node_id = config.node_id
        self._clock = clock
        self._loop = loop
        self._random = random
        self._workers = workers
        self._on_fault = on_fault
        self._log = MetadataLog(config, disk, clock)
        self._membership = Membership(config, disk, self._log.directory)
        self.voters = self._membership.history
        self.correspondence = Correspondence(peers, self._membership)
        self._delivery = Delivery(self._log, loop, clock, self._fault)
        self._commits = GroupCommit(self._log, loop, workers, self._forced, self._fault)
        self._transfer = SnapshotTransfer(self._log, loop, workers, self._transferred)
        # The machine takes steps until the quorum is closed or has failed; what it knew remains.
        self._machine: RaftMachine | None = None
        self.member: Member | None = None
        # What waits for an election to be on disk, in order.
        self._waiting: deque[Effect] = deque()
        self._is_persisting = self._is_sending = self._is_starting = False
        self._timer: TimerHandle | None = None
        self._timer_at = 0.0
        self.bytes_since_snapshot = 0

    # --------------------------------------------------------------------------------------------------- what is known

    @property
    def leader_id(self) -> int:
        return -1 if self._machine is None else self._machine.member.leader_id

    @property
    def leader_address(self) -> Address | None:
        """Where the leader's controller listener is reached, if there is one and it is known."""
        return None if self._machine is None else self._machine.member.standing.address

    @property
    def epoch(self) -> int:
        return 0 if self.member is None else self.member.epoch

    @property
    def end_offset(self) -> int:
        return self._log.end.offset

    @property
    def high_watermark(self) -> int:
        return 0 if self.member is None else self.member.high_watermark

    @property
    def told_high_watermark(self) -> int:
        """As a leader has told it; -1 before one has. Only that says how much there is to learn after a start."""
        return -1 if self.member is None else self.member.told_high_watermark

    @property
    def is_voter(self) -> bool:
        return self._machine is not None and self._machine.member.is_voter

    @property
    def snapshot_bytes(self) -> int:
        return self._log.snapshot_bytes

    def register(self, listener: QuorumListener) -> None:
        self._delivery.listeners.append(listener)

    # ----------------------------------------------------------------------------------------------------------- start

    def start(self) -> None:
        """Opens the log and takes part. The only voter leads when this returns, and its listeners know everything."""
        self._log.lock()
        membership = self._membership
        election = membership.load()
        snapshot = self._log.open(membership.history)
        membership.check()
        machine = self._machine = RaftMachine(
            membership.local,
            membership.settings,
            membership.history,
            election,
            self._log,
            self._log.durable_offset,
            self._random,
            self._clock.monotonic(),
        )
        self.member = machine.member
        self._is_starting = True
        try:
            effects = machine.start(self._now())
            leads = machine.leads(machine.member.epoch)
            self._delivery.begin(snapshot, more=leads)
            self._carry_out(effects)
            if leads:
                self._log.log.flush()
                self._carry_out(machine.flushed(self.end_offset, self._now()))
                self._delivery.drain()
        finally:
            self._is_starting = False
        self.bytes_since_snapshot = self._log.size
        if not leads:
            # What is in the log may be in the memory of this machine only.
            self._commits.schedule()
        self._set_timer()

    def close(self) -> None:
        machine, self._machine = self._machine, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            if machine is not None and self._log.is_open and machine.leads(machine.member.epoch):
                self._close_leading(machine)
            self._log.close()
        finally:
            self._membership.close()
            self._waiting.clear()
            self._delivery.close()

    def _close_leading(self, machine: RaftMachine) -> None:
        """What this node decided alone is decided; others are told that it goes."""
        if len(machine.member.voters) == 1 and self._log.durable_offset < self.end_offset:
            self._log.log.flush()
            self._carry_out(machine.flushed(self.end_offset, self._now()))
            self._delivery.drain()
        self._carry_out([e for e in machine.resign(machine.member.epoch, self._now()) if isinstance(e, Send | Reply)])

    # ---------------------------------------------------------------------------------------------------------- inputs

    def append(self, epoch: int, records: Sequence[VersionedRecord]) -> int:
        machine = self._machine
        if machine is None or not machine.leads(epoch):
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        base, now = self.end_offset, self._clock.now_ms()
        batch = change_batch(records, base, epoch, now)
        try:
            last = self._log.append_as_leader(batch, epoch)
        except KafkaError as error:
            if len(machine.member.voters) == 1:
                raise
            logger.error("the metadata log cannot be written, so another controller is to lead: %s", error)
            self._later(lambda machine: machine.resign(epoch, self._now()))
            raise KafkaError(ErrorCode.NOT_CONTROLLER, str(error)) from error
        self.bytes_since_snapshot += len(batch)
        self._delivery.appended(CommittedBatch(base, last, epoch, now, [record.message for record in records]))
        self._run(machine.appended(self._now()))
        self._commits.schedule()
        return last

    def resign(self, epoch: int) -> None:
        self._step(lambda machine: machine.resign(epoch, self._now()))

    def upgrade_kraft_version(self, level: int, *, validate_only: bool) -> None:
        self._step(lambda machine: machine.upgrade(level, self._now(), validate_only=validate_only))

    def handle(self, request: Message, version: int) -> Message | Deferred[Message]:
        """A request of another member, or of somebody who wants to know or change the voters.

        KafkaError for one that is refused as a whole: another cluster, another topic, no member any more.
        """
        machine = self._machine
        if machine is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE)
        described = describe(request, machine, self._clock, version)
        if described is not None:
            return described
        self._membership.check_cluster(getattr(request, "cluster_id", None))
        answer: Deferred[Message] = Deferred()
        self._run(machine.receive(request_from(request), (answer, request, version), self._now()))
        return answer

    def _tick(self) -> None:
        self._timer = None
        self._step(lambda machine: machine.tick(self._now()))

    def _answered(self, id: int, answer: Answer | None, disconnected: bool) -> None:
        self._step(lambda machine: machine.answered(id, answer, self._now(), disconnected=disconnected))

    def _forced(self, end_offset: int) -> None:
        self._step(lambda machine: machine.flushed(end_offset, self._now()))

    def _transferred(self, changes: tuple[VoterChange, ...] | None) -> None:
        if changes is None:
            self._step(lambda machine: machine.snapshot_failed(self._now()))
        else:
            self.bytes_since_snapshot = 0
            self._step(lambda machine: machine.snapshot_installed(changes, self._now()))

    def _now(self) -> float:
        return self._clock.monotonic()

    # --------------------------------------------------------------------------------------------------------- effects

    def _run(self, effects: Sequence[Effect]) -> None:
        try:
            self._carry_out(effects)
        except Exception as error:
            self._fault(error)
        self._set_timer()

    def _carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, AppendControl):
                batch = control_batch(effect.records, effect.base_offset, effect.epoch, self._clock.now_ms())
                self._log.append_as_leader(batch, effect.epoch)
            elif isinstance(effect, Append):
                self._append(effect.entries)
            elif isinstance(effect, Truncate):
                logger.info("the metadata log is cut to offset %d, where the leader's continues", effect.end_offset)
                self._delivery.cut(effect.end_offset)
                self._log.truncate(effect.end_offset)
            elif isinstance(effect, Force):
                if not self._is_starting:
                    self._commits.schedule()
            elif isinstance(effect, SaveSnapshot):
                self._transfer.save(effect)
            elif isinstance(effect, Fault):
                raise MoldauError(effect.reason)
            else:
                if isinstance(effect, Deliver):
                    effect = Deliver(min(effect.end_offset, self.end_offset))  # what came with it may not be written
                    self._log.committed(effect.end_offset)
                self._waiting.append(self._with_records(effect))
        self._send()

    def _append(self, entries: Entries) -> None:
        try:
            self._log.append_as_follower(entries.data)
            self.bytes_since_snapshot += len(entries.data)
        except KafkaError as error:
            # A full disk, most likely: nothing was written, and the leader will be asked again.
            logger.error("the metadata log cannot be written: %s", error)
            self._later(lambda machine: machine.append_failed(self._now()))

    def _with_records(self, effect: Effect) -> Effect:
        """Read at once: the log may be another by the time the answer leaves."""
        if isinstance(effect, Reply) and isinstance(effect.answer, FetchAnswer):
            return Reply(effect.token, self._transfer.with_records(effect.answer))
        return effect

    def _later(self, step: Callable[[RaftMachine], list[Effect]]) -> None:
        """Another step, after the one whose effects are being carried out."""
        self._loop.call_soon(lambda: self._step(step))

    def _step(self, step: Callable[[RaftMachine], list[Effect]]) -> None:
        try:
            self._run(() if self._machine is None else step(self._machine))
        except KafkaError:
            raise  # what was asked for is refused
        except Exception as error:
            self._fault(error)  # without a timer, nobody would notice that it stands still

    def _send(self) -> None:
        """What leaves the node, up to an election that is not on disk yet."""
        if self._is_sending:
            return
        self._is_sending = True
        try:
            while self._waiting and not self._is_persisting:
                effect = self._waiting.popleft()
                if isinstance(effect, Persist):
                    self._persist(effect)
                elif isinstance(effect, Send):
                    self.correspondence.ask(effect, partial(self._answered, effect.id))
                elif isinstance(effect, Reply):
                    self.correspondence.reply(effect.token, effect.answer)
                elif isinstance(effect, ReplySnapshot):
                    self.correspondence.reply(effect.token, self._transfer.piece(effect))
                elif isinstance(effect, Deliver | DeliverSnapshot | LeaderChanged):
                    if isinstance(effect, LeaderChanged):
                        logger.info("epoch %d of the quorum is led by %d", effect.epoch, effect.leader_id)
                    self._delivery.tell(effect)
        finally:
            self._is_sending = False

    def _set_timer(self) -> None:
        deadline = None if self._machine is None else self._machine.deadline
        if deadline is None or (self._timer is not None and self._timer_at <= deadline):
            return  # one that comes early finds out
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_later(max(0.0, deadline - self._now()), self._tick)

    def _persist(self, effect: Persist) -> None:
        if self._workers is None or self._is_starting:
            self._membership.saving(effect.election)()
            return
        self._is_persisting = True

        def done(error: BaseException | None) -> None:
            self._is_persisting = False
            if error is not None:
                self._fault(MoldauError(f"the election cannot be written down in {self._log.directory}: {error}"))
            elif self._machine is not None:
                self._run(())

        self._membership.save(effect.election, self._workers, self._loop, done)

    def _fault(self, error: BaseException) -> None:
        machine, self._machine = self._machine, None
        if machine is None:
            return
        logger.critical("the quorum cannot go on: %s", error)
        led = machine.leads(machine.member.epoch)
        machine.resign(machine.member.epoch, self._now())
        self._waiting.clear()
        self._delivery.close()
        for listener in self._delivery.listeners if led else ():
            listener.on_leader(-1, machine.member.epoch)
        if self._on_fault is not None:
            self._on_fault(error)

    # ------------------------------------------------------------------------------------------------------- snapshots

    def begin_snapshot(self, last_offset: int, epoch: int, timestamp: int) -> SnapshotWriter | None:
        """A writer for the state up to a committed offset; None if there is a snapshot of it already."""
        writer = self._log.begin_snapshot(SnapshotId(last_offset + 1, epoch), timestamp, self._membership.history)
        if writer is not None:
            self.bytes_since_snapshot = 0
        return writer

    def take_snapshot(self, writer: SnapshotWriter) -> None:
        """A snapshot of our own is whole and on disk: drops what it replaces."""
        self._log.take_snapshot(writer, self._membership.history)
