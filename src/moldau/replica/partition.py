"""One partition on this broker: who leads, who is in sync, and how far readers may see.

A partition is told its state by the metadata log (`become_leader`, `become_follower`). As a leader it appends what
producers send, serves reads, and moves the high watermark: the offset that every in-sync replica has reached. With
one replica that is the end of the log, so a single node takes the short way on every append. As a follower it appends
what its leader sends (`following`).

While a change of the in-sync set is on its way to the controller nobody knows which of the two sets holds, so the high
watermark waits for the members of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from moldau._speed import Traffic
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import PartitionRegistration
from moldau.replica.follower import NO_BROKER_EPOCH, Follower
from moldau.replica.in_sync_rules import InSyncRules, IsrProposal
from moldau.storage.append_info import Patience
from moldau.storage.log import AppendInfo, Log, LogRead, Origin
from moldau.storage.validator import ValidBatch
from moldau.types import NO_EPOCH, NO_LEADER, TopicPartition, Uuid

NO_REPLICA: Final = -1


class DivergingEpoch(NamedTuple):
    """The reader's log left ours: it must truncate to the end of this epoch."""

    epoch: int
    end_offset: int


class Partition:
    __slots__ = (
        "_alone",
        "_broker_id",
        "_commit",
        "_maximal_isr",
        "_min_isr",
        "_rules",
        "durable",
        "epoch_start_offset",
        "followers",
        "is_leader",
        "is_released",
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "partition_epoch",
        "proposal",
        "replicas",
        "topic_id",
        "topic_partition",
        "traffic",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: Uuid,
        log: Log,
        broker_id: int,
        commit: Callable[[Partition], None] | None = None,
        rules: InSyncRules | None = None,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.traffic = Traffic()  # that of the topic, where there is one
        self._broker_id = broker_id
        self.is_leader = False
        # No longer held here; who still has it in hand leaves its files alone.
        self.is_released = False
        self.leader_id, self.leader_epoch = NO_LEADER, NO_EPOCH
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        # The one that is on its way, and the members of both sets; the same as `isr` while there is none.
        self.proposal: IsrProposal | None = None
        self._maximal_isr: frozenset[int] = frozenset()
        # Where the log ended when this broker began to lead: who has not reached it may lack committed records.
        self.epoch_start_offset = 0
        self._rules = rules
        self.followers: dict[int, Follower] = {}
        self._alone, self._min_isr = False, 1
        # Durable mode: records count, and are acknowledged, from the moment they are on disk.
        self.durable = log.config.durable
        self._commit = commit

    # ------------------------------------------------------------------------------------- role, from metadata

    def become_leader(self, state: PartitionRegistration, now_ms: int) -> bool:
        """Applies the committed state with this broker as the leader; True if a new epoch began."""
        if state.partition_epoch < self.partition_epoch:
            return False  # the controller's own answer came before the metadata
        newly = not self.is_leader
        new_epoch = newly or state.leader_epoch > self.leader_epoch
        self._take(state)
        self.is_leader = True
        others = [replica for replica in state.replicas if replica != self._broker_id]
        self.followers = {replica: self.followers.get(replica) or Follower(replica) for replica in others}
        self.config_changed()
        if new_epoch:
            self.log.begin_epoch(state.leader_epoch)
            self.epoch_start_offset = end = self.log.log_end_offset
            for broker_id, follower in self.followers.items():
                if newly or follower.broker_epoch is None:
                    follower.begin(now_ms, in_sync=broker_id in state.isr)
                else:
                    follower.begin_again(now_ms, end, in_sync=broker_id in state.isr)
        self.make_durable()
        self.advance_high_watermark()
        return new_epoch

    def become_follower(self, state: PartitionRegistration) -> bool:
        """Applies the committed state with another broker (or none) as the leader; True if a new epoch began."""
        if state.partition_epoch < self.partition_epoch:
            return False
        changed = self.is_leader or state.leader_epoch > self.leader_epoch
        self._take(state)
        self.is_leader = self._alone = False
        self.followers = {}
        return changed

    def _take(self, state: PartitionRegistration) -> None:
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = tuple(state.replicas)
        self._set_isr(tuple(state.isr))

    def _set_isr(self, isr: tuple[int, ...]) -> None:
        self.isr = isr
        self.proposal = None
        self._maximal_isr = frozenset(isr)

    def config_changed(self) -> None:
        # A topic with fewer replicas than min.insync.replicas can still be written when all of them are in sync.
        self._min_isr = min(self.log.config.min_insync_replicas, len(self.replicas))
        self.durable = self.log.config.durable
        # Not where others are only out of sync: as soon as one is level again, the high watermark waits for it.
        self._alone = self.is_leader and self.replicas == self.isr == (self._broker_id,) and not self.durable

    # ------------------------------------------------------------------------------------------------- writing

    def append(
        self,
        data: memoryview,
        start: int,
        end: int,
        acks: int,
        origin: Origin = Origin.CLIENT,
        patience: Patience | None = None,
    ) -> AppendInfo:
        """Appends as the leader. The high watermark has moved as far as it can when this returns; in durable mode it
        moves when the records are on disk.

        Whoever has no end of `patience` gets Postponed for a batch that takes longer to judge, and comes back with it
        prepared.
        """
        self._check_writable(acks)
        info = self.log.append_as_leader(data, start, end, self.leader_epoch, origin=origin, patience=patience)
        self._appended(info)
        return info

    def append_prepared(self, batch: ValidBatch, acks: int) -> AppendInfo:
        """The same for a client's batch that was judged before; who leads may have changed since."""
        self._check_writable(acks)
        info = self.log.append_prepared(batch, self.leader_epoch)
        self._appended(info)
        return info

    @property
    def has_runs(self) -> bool:
        """Whether what is written here counts at once, whatever the producer asked for."""
        return self.is_leader and self._alone and self._min_isr <= 1

    def _check_writable(self, acks: int) -> None:
        if not self.is_leader:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if acks == -1 and len(self.isr) < self._min_isr:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.topic_partition} has {len(self.isr)} replicas in sync and needs {self._min_isr}.",
            )

    def _appended(self, info: AppendInfo) -> None:
        self.traffic.took(info.bytes, 0 if info.duplicate else info.last_offset - info.base_offset + 1)
        if self._alone:
            local = self.log.local
            local.advance_high_watermark(local.log_end_offset)
        else:
            self.make_durable()
            self.advance_high_watermark()

    def make_durable(self) -> None:
        """Has what is written forced to disk, where that is promised."""
        if self.durable and self.log.durability.durable_offset < self.log.log_end_offset:
            if self._commit is not None:
                self._commit(self)
            else:
                self.log.flush()

    def forced(self, offset: int) -> tuple[bool, ErrorCode]:
        """Whether all records before `offset` are on this broker's disk, for a producer that waits with acks=1."""
        if not self.is_leader:
            return True, ErrorCode.NOT_LEADER_OR_FOLLOWER
        return self.log.durability.durable_offset >= offset or not self.durable, ErrorCode.NONE

    def replicated(self, offset: int) -> tuple[bool, ErrorCode]:
        """Whether all records before `offset` have reached the in-sync set, for a producer that waits with acks=all.

        Nothing is acknowledged while too few are in sync, wherever the high watermark stands: who waits is told at
        once, because until the set grows again there is nothing to wait for.
        """
        if not self.is_leader:
            return True, ErrorCode.NOT_LEADER_OR_FOLLOWER
        if len(self.isr) < self._min_isr:
            return True, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return self.log.high_watermark >= offset, ErrorCode.NONE

    # ------------------------------------------------------------------------------------------------- reading

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Refuses a client whose idea of the leader epoch is older or newer than ours."""
        if current_leader_epoch == NO_EPOCH or current_leader_epoch == self.leader_epoch:
            return
        if current_leader_epoch < self.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)

    def check_leader(self, current_leader_epoch: int) -> None:
        self.check_epoch(current_leader_epoch)
        if not self.is_leader:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def read(
        self,
        offset: int,
        max_bytes: int,
        leader_epoch: int,
        fetched_epoch: int,
        *,
        committed: bool,
        follower: int,
        at_least_one: bool,
        leader_only: bool = True,
    ) -> LogRead | DivergingEpoch:
        """Reads up to the high watermark, the last stable offset (`committed`) or the end of the log.

        That far only followers read: `follower` is the id of the broker, NO_REPLICA for clients. Clients that know how
        to (not `leader_only`) may read from a follower too.

        `leader_epoch` is the one the reader believes in, `fetched_epoch` that of the last record it has; -1 for none.
        """
        if leader_epoch != NO_EPOCH or not self.is_leader:
            self.check_epoch(leader_epoch)
            if not self.is_leader and leader_only:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log, local = self.log, self.log.local
        if follower != NO_REPLICA and follower not in self.followers:
            # One that names our epoch may have heard of a new assignment before we did: it is to ask again.
            unknown = ErrorCode.NOT_LEADER_OR_FOLLOWER if leader_epoch == NO_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH
            raise KafkaError(unknown, f"Broker {follower} holds no replica of {self.topic_partition}.")
        # What is before the log's start is out of range, whatever the epochs say.
        if fetched_epoch >= 0 and offset >= local.log_start_offset:
            diverging = self._diverging(offset, fetched_epoch)
            if diverging is not None:
                return diverging
        if follower != NO_REPLICA:
            limit = local.log_end_offset
        elif committed:
            limit = local.last_stable_offset
        else:
            limit = local.high_watermark
        return log.read(offset, max_bytes, limit, at_least_one=at_least_one, committed=committed)

    def _diverging(self, offset: int, fetched_epoch: int) -> DivergingEpoch | None:
        epoch, end_offset = self.log.end_offset_for_epoch(fetched_epoch)
        if epoch == NO_EPOCH or end_offset < 0:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"{self.topic_partition} has no records up to epoch {fetched_epoch}."
            )
        if epoch < fetched_epoch or end_offset < offset:
            return DivergingEpoch(epoch, end_offset)
        return None

    # --------------------------------------------------------------------------------------------- replication

    def follower_fetched(
        self, broker_id: int, offset: int, log_start_offset: int, leader_end: int, broker_epoch: int
    ) -> bool:
        """A follower fetched at `offset` when our log ended at `leader_end`; True if the high watermark moved.

        KafkaError if it is no follower, or if it asked in an earlier life: what it had then says nothing about now.
        """
        follower, rules = self.followers.get(broker_id), self._rules
        if follower is None or rules is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"Broker {broker_id} holds no replica.")
        if broker_epoch != NO_BROKER_EPOCH and rules.is_stale(broker_id, broker_epoch):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"Broker {broker_id} has begun anew since epoch {broker_epoch}."
            )
        before = follower.end_offset
        follower.fetched(offset, log_start_offset, leader_end, broker_epoch, rules.now_ms())
        if broker_id not in self._maximal_isr:
            self._grow_isr(follower, rules)
        return follower.end_offset != before and self.advance_high_watermark()

    def _grow_isr(self, follower: Follower, rules: InSyncRules) -> None:
        """Proposes a follower that has all that is committed, and all that was there when this leader began."""
        reached = max(self.log.high_watermark, self.epoch_start_offset)
        if self.proposal is not None or follower.end_offset < reached:
            return
        if rules.may_join(follower.broker_id, follower.broker_epoch):
            self._propose(tuple(sorted({*self.isr, follower.broker_id})), rules)

    def shrink_isr(self) -> None:
        """Proposes to drop the replicas that have not been level with the leader for too long."""
        rules = self._rules
        if not self.is_leader or self._alone or rules is None or self.proposal is not None:
            return
        end, now_ms, max_lag_ms = self.log.log_end_offset, rules.now_ms(), rules.max_lag_ms
        behind = {
            replica
            for replica, follower in self.followers.items()
            if replica in self.isr and not follower.is_caught_up(end, now_ms, max_lag_ms)
        }
        if behind:
            self._propose(tuple(replica for replica in self.isr if replica not in behind), rules)

    def _propose(self, isr: tuple[int, ...], rules: InSyncRules) -> None:
        grows = len(isr) > len(self.isr)
        self.proposal = IsrProposal(self, isr, self.leader_epoch, self.partition_epoch, grows)
        # Either may be the one that counts, until the controller has said so.
        self._maximal_isr = frozenset((*self.isr, *isr))
        rules.propose(self.proposal)

    def isr_committed(self, isr: tuple[int, ...], leader_epoch: int, partition_epoch: int) -> bool:
        """The controller's answer: this is the in-sync set now. False if the metadata has told more already."""
        if not self.is_leader or leader_epoch != self.leader_epoch or partition_epoch < self.partition_epoch:
            return False
        self.partition_epoch = partition_epoch
        self._set_isr(isr)
        self.config_changed()
        self.advance_high_watermark()
        return True

    def isr_not_attempted(self, proposal: IsrProposal) -> None:
        """The controller is sure that this proposal neither has become nor will become the truth."""
        if self.proposal is proposal:
            self._set_isr(self.isr)
            self.advance_high_watermark()

    def advance_high_watermark(self) -> bool:
        """Moves the high watermark to what every in-sync replica has; it never goes back.

        Not while too few are in sync: what counts as committed must survive the loss of the others. A replica that is
        about to be in sync is waited for, lest the high watermark runs away from it.
        """
        local = self.log.local
        if not self.is_leader or len(self.isr) < self._min_isr:
            return False
        end = local.log_end_offset
        reached = local.durability.durable_offset if self.durable else end
        for broker_id, follower in self.followers.items():
            if follower.end_offset < reached and (broker_id in self._maximal_isr or self._joins_soon(follower, end)):
                reached = follower.end_offset
        if reached <= local.high_watermark:
            return False
        local.advance_high_watermark(reached)
        return True

    def _joins_soon(self, follower: Follower, end: int) -> bool:
        rules = self._rules
        return (
            rules is not None
            and follower.is_caught_up(end, rules.now_ms(), rules.max_lag_ms)
            and rules.may_join(follower.broker_id, follower.broker_epoch)
        )

    @property
    def is_under_replicated(self) -> bool:
        return self.is_leader and len(self.isr) < len(self.replicas)

    @property
    def isr_margin(self) -> int:
        """How many more replicas are in sync than writes need; below 0 they are refused."""
        return len(self.isr) - self._min_isr

    def low_watermark(self) -> int:
        """The smallest log start offset among live replicas: what DeleteRecords reports and waits for."""
        alive = self._rules.is_alive if self._rules is not None else lambda broker_id: True
        starts = (follower.log_start_offset for broker_id, follower in self.followers.items() if alive(broker_id))
        return min((self.log.log_start_offset, *starts))
