"""One partition on this broker: who leads, who is in sync, and how far readers may see.

A partition is told its state by the metadata log (`become_leader`, `become_follower`). As a leader it appends what
producers send, serves reads, and moves the high watermark: the offset that every in-sync replica has reached. With
one replica that is the end of the log, so a single node takes the short way on every append.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import PartitionRegistration
from moldau.replica.follower import Follower
from moldau.storage.append_info import Patience
from moldau.storage.log import AppendInfo, Log, LogRead, Origin
from moldau.storage.validator import ValidBatch
from moldau.types import NO_EPOCH, NO_LEADER, TopicPartition, Uuid

NO_REPLICA: Final = -1


class IsrChange(Protocol):
    """Asks the controller for a new in-sync set; the answer comes back through the metadata log."""

    def __call__(self, partition: Partition, isr: tuple[int, ...]) -> None: ...


class DivergingEpoch(NamedTuple):
    """The reader's log left ours: it must truncate to the end of this epoch."""

    epoch: int
    end_offset: int


class Partition:
    __slots__ = (
        "_alone",
        "_broker_id",
        "_commit",
        "_followers",
        "_min_isr",
        "durable",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "partition_epoch",
        "replicas",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: Uuid,
        log: Log,
        broker_id: int,
        commit: Callable[[Partition], None] | None = None,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self._broker_id = broker_id
        self.is_leader = False
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self._followers: dict[int, Follower] = {}
        self._alone = False
        self._min_isr = 1
        # Durable mode: records count, and are acknowledged, from the moment they are on disk.
        self.durable = log.config.durable
        self._commit = commit

    # ------------------------------------------------------------------------------------- role, from metadata

    def become_leader(self, state: PartitionRegistration, now_ms: int) -> bool:
        """Applies the committed state with this broker as the leader; True if a new epoch began."""
        new_epoch = state.leader_epoch > self.leader_epoch or not self.is_leader
        self._take(state)
        self.is_leader = True
        others = [replica for replica in state.replicas if replica != self._broker_id]
        self._followers = {replica: self._followers.get(replica) or Follower(replica) for replica in others}
        self.config_changed()
        if new_epoch:
            self.log.begin_epoch(state.leader_epoch)
            for follower in self._followers.values():
                follower.reset(now_ms)
        self._make_durable()
        self.advance_high_watermark()
        return new_epoch

    def become_follower(self, state: PartitionRegistration) -> bool:
        """Applies the committed state with another broker (or none) as the leader; True if a new epoch began."""
        new_epoch = state.leader_epoch > self.leader_epoch
        self._take(state)
        self.is_leader = False
        self._alone = False
        self._followers = {}
        return new_epoch

    def _take(self, state: PartitionRegistration) -> None:
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = tuple(state.replicas)
        self.isr = tuple(state.isr)

    def config_changed(self) -> None:
        # A topic with fewer replicas than min.insync.replicas can still be written when all of them are in sync.
        self._min_isr = min(self.log.config.min_insync_replicas, len(self.replicas))
        self.durable = self.log.config.durable
        self._alone = self.is_leader and self.isr == (self._broker_id,) and not self.durable

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
        self._appended()
        return info

    def append_prepared(self, batch: ValidBatch, acks: int) -> AppendInfo:
        """The same for a client's batch that was judged before; who leads may have changed since."""
        self._check_writable(acks)
        info = self.log.append_prepared(batch, self.leader_epoch)
        self._appended()
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

    def _appended(self) -> None:
        if self._alone:
            local = self.log.local
            local.advance_high_watermark(local.log_end_offset)
        else:
            self._make_durable()
            self.advance_high_watermark()

    def _make_durable(self) -> None:
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
        """Whether all records before `offset` have reached the in-sync set, for a producer that waits with acks=all."""
        if not self.is_leader:
            return True, ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < offset:
            return False, ErrorCode.NONE
        if len(self.isr) < self._min_isr:
            return True, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return True, ErrorCode.NONE

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
    ) -> LogRead | DivergingEpoch:
        """Reads up to the high watermark, the last stable offset (`committed`) or the end of the log.

        That far only followers read: `follower` is the id of the broker, NO_REPLICA for clients.

        `leader_epoch` is the one the reader believes in, `fetched_epoch` that of the last record it has; -1 for none.
        """
        if leader_epoch != NO_EPOCH or not self.is_leader:
            self.check_leader(leader_epoch)
        log, local = self.log, self.log.local
        if follower != NO_REPLICA and follower not in self._followers:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"Broker {follower} holds no replica of {self.topic_partition}."
            )
        if fetched_epoch >= 0:
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
        self, broker_id: int, offset: int, log_start_offset: int, broker_epoch: int, now_ms: int, request: IsrChange
    ) -> bool:
        """A follower fetched at `offset`; True if the high watermark moved and waiting readers should look again."""
        follower = self._followers.get(broker_id)
        if follower is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Broker {broker_id} holds no replica.")
        follower.fetched(offset, log_start_offset, self.log.log_end_offset, broker_epoch, now_ms)
        if broker_id not in self.isr and follower.end_offset >= self.log.high_watermark:
            request(self, tuple(sorted({*self.isr, broker_id})))
        return self.advance_high_watermark()

    def shrink_isr(self, now_ms: int, max_lag_ms: int, request: IsrChange) -> None:
        """Asks to drop the replicas that have not been level with the leader for `max_lag_ms`."""
        if not self.is_leader or self._alone:
            return
        end = self.log.log_end_offset
        behind = {
            replica
            for replica in self.isr
            if replica != self._broker_id and not self._followers[replica].is_caught_up(end, now_ms, max_lag_ms)
        }
        if behind:
            request(self, tuple(replica for replica in self.isr if replica not in behind))

    def advance_high_watermark(self) -> bool:
        """Moves the high watermark to what every in-sync replica has; it never goes back."""
        local = self.log.local
        reached = local.durability.durable_offset if self.durable else local.log_end_offset
        for replica in self.isr:
            if replica != self._broker_id:
                reached = min(reached, self._followers[replica].end_offset)
        if reached <= local.high_watermark:
            return False
        local.advance_high_watermark(reached)
        return True

    def low_watermark(self) -> int:
        """The smallest log start offset among live replicas: what DeleteRecords reports and waits for."""
        starts = [follower.log_start_offset for follower in self._followers.values()]
        return min(self.log.log_start_offset, *starts) if starts else self.log.log_start_offset
