"""A random schedule for the transaction coordinator, decided by its seed alone, and what must hold throughout.

Producers of a few transactional ids write and end transactions; new ones take over, old ones go on as if nothing had
happened. Meanwhile time passes, markers are held up or refused, the coordinator's log lags or refuses, and the
coordinator starts again from its log, or from the committed part of it as another broker would have it.

Every value that is written names its transaction, so a reader can tell what belongs together.
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

from txn_world import STATE, TxnWorld

from moldau.coordinator.loading import Loading
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.coordinator.txn.shard import TransactionShard
from moldau.coordinator.txn.transaction import RECORD_TYPES, Producer, Transaction
from moldau.coordinator.write_path import ShardWriter
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.types import TopicPartition

_RETRIABLE = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
_PLACES = [TopicPartition("t", index) for index in range(3)]
# A transaction: which incarnation of a producer, and its how manieth.
Name = tuple[int, int]


class Incarnation:
    """One producer process with a transactional id."""

    def __init__(self, number: int, transactional_id: str, producer: Producer) -> None:
        self.number = number
        self.transactional_id = transactional_id
        self.producer = producer
        self.transaction = 0
        self.sequences: dict[TopicPartition, int] = defaultdict(int)
        self.added: set[TopicPartition] = set()
        self.ending: bool | None = None
        self.busy = False
        self.dead = False

    @property
    def name(self) -> Name:
        return self.number, self.transaction

    def goes_on_with(self, producer: Producer) -> None:
        if producer != self.producer:
            self.sequences.clear()
        self.producer = producer
        self.transaction += 1
        self.added.clear()
        self.ending = None


class Schedule:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.version = self.random.choice([1, 2])
        settings = TransactionSettings(abort_interval_ms=5000, expiration_ms=400_000, expiration_interval_ms=50_000)
        self.world = TxnWorld(self.version, settings)
        self.incarnations: list[Incarnation] = []
        self.newest: dict[str, Producer] = {}
        self.written: dict[Name, list[TopicPartition]] = defaultdict(list)
        self.outcomes: dict[Name, bool] = {}

    def run(self, steps: int) -> None:
        actions = [
            (self._take_over, 2),
            (self._write, 12),
            (self._end, 6),
            (self._go_on_after_error, 1),
            (self._pass_time, 3),
            (self._hold_or_release, 2),
            (self._fail_or_heal, 2),
            (self._lag_or_catch_up, 2),
            (self._refuse_or_accept, 1),
            (self._reload, 1),
        ]
        names, weights = zip(*actions, strict=True)
        for step in range(steps):
            self.random.choices(names, weights)[0]()
            self.world.time.settle()
            if step % 5 == 4:
                self.check()
        self._come_to_rest()

    # ------------------------------------------------------------------------------------------------ what producers do

    def _take_over(self) -> None:
        name = self.random.choice("ab")
        timeout = self.random.choice([5_000, 60_000])
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout)

        def initialized(response: Any, error: BaseException | None) -> None:
            assert error is None
            if response.error_code == ErrorCode.NONE:
                producer = Producer(response.producer_id, response.producer_epoch)
                # Ids and epochs only grow, so the largest is who took over last, in whatever order answers arrive.
                self.newest[name] = max(self.newest.get(name, producer), producer)
                self.incarnations.append(Incarnation(len(self.incarnations) + 1, name, producer))
            else:
                assert error_code(response.error_code) in _RETRIABLE

        self.world.coordinator.init_producer_id(request, 4).then(initialized)

    def _go_on_after_error(self) -> None:
        one = self._someone()
        if one is None or one.ending is not None:
            return
        request = InitProducerIdRequest(
            transactional_id=one.transactional_id,
            transaction_timeout_ms=60_000,
            producer_id=one.producer.id,
            producer_epoch=one.producer.epoch,
        )
        one.busy = True

        def initialized(response: Any, error: BaseException | None) -> None:
            one.busy = False
            if response.error_code == ErrorCode.NONE:
                self.outcomes.setdefault(one.name, False)
                one.goes_on_with(Producer(response.producer_id, response.producer_epoch))
            elif error_code(response.error_code) not in _RETRIABLE:
                one.dead = True

        self.world.coordinator.init_producer_id(request, 4).then(initialized)

    def _someone(self) -> Incarnation | None:
        there = [one for one in self.incarnations if not one.dead and not one.busy]
        return self.random.choice(there) if there else None

    def _write(self) -> None:
        one = self._someone()
        if one is None or one.ending is not None:
            return
        place = self.random.choice(_PLACES)
        if self.version == 2 or place in one.added:
            self._produce(one, place)
            return
        one.busy = True

        def added(code: ErrorCode | None, error: BaseException | None) -> None:
            one.busy = False
            if code == ErrorCode.NONE:
                one.added.add(place)
                self._produce(one, place)
            elif code not in _RETRIABLE:
                one.dead = True

        self.world.coordinator.add_partitions(one.transactional_id, one.producer, [place], 0).then(added)

    def _produce(self, one: Incarnation, place: TopicPartition) -> None:
        """What the leader of the partition does with a batch."""
        coordinator = self.world.coordinator
        if self.world.partitions[place].is_open(one.producer):
            self._append(one, place, ErrorCode.NONE)
        elif self.version == 2:
            one.busy = True

            def added(code: ErrorCode | None, error: BaseException | None) -> None:
                one.busy = False
                self._append(one, place, code or ErrorCode.NONE)

            coordinator.add_partitions(one.transactional_id, one.producer, [place], 2).then(added)
        else:
            codes = coordinator.verify_partitions(one.transactional_id, one.producer, [place])
            self._append(one, place, codes[place])

    def _append(self, one: Incarnation, place: TopicPartition, code: ErrorCode) -> None:
        if code == ErrorCode.NONE:
            try:
                self.world.partitions[place].write(one.producer, one.sequences[place], one.name)
            except KafkaError as error:
                code = error.code
        if code != ErrorCode.NONE:
            one.dead = one.dead or code not in _RETRIABLE
            return
        one.sequences[place] += 1
        self.written[one.name].append(place)
        assert one.producer >= self.newest[one.transactional_id], "a fenced producer never writes"

    def _end(self) -> None:
        one = self._someone()
        if one is None or (one.ending is None and not self.written.get(one.name)):
            return
        if one.ending is None:
            one.ending = self.random.random() < 0.6
        commit, name = one.ending, one.name
        request = EndTxnRequest(
            transactional_id=one.transactional_id,
            producer_id=one.producer.id,
            producer_epoch=one.producer.epoch,
            committed=commit,
        )
        one.busy = True

        def ended(response: Any, error: BaseException | None) -> None:
            assert error is None
            one.busy = False
            if response.error_code == ErrorCode.NONE:
                self.outcomes[name] = commit
                given = Producer(response.producer_id, response.producer_epoch)
                one.goes_on_with(given if self.version == 2 else one.producer)
            elif error_code(response.error_code) not in _RETRIABLE:
                one.dead = True

        self.world.coordinator.end(request, 5 if self.version == 2 else 3).then(ended)

    # ---------------------------------------------------------------------------------------------------------- fortune

    def _pass_time(self) -> None:
        self.world.time.advance(self.random.choice([50, 500, 3_000, 20_000, 100_000]))

    def _hold_or_release(self) -> None:
        markers = self.world.markers
        markers.held = not markers.held
        if not markers.held:
            self.random.shuffle(markers.waiting)
            markers.release()

    def _fail_or_heal(self) -> None:
        failing = self.world.markers.failing
        if failing:
            failing.clear()
        else:
            failing[self.random.choice(_PLACES)] = self.random.choice(
                [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT]
            )

    def _lag_or_catch_up(self) -> None:
        log = self.world.log
        log.automatic = not log.automatic
        if log.automatic:
            log.commit(STATE)

    def _refuse_or_accept(self) -> None:
        log = self.world.log
        log.refuse = None if log.refuse else KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    def _reload(self) -> None:
        log = self.world.log
        if self.random.random() < 0.5:
            # Another broker takes over that has only what is committed.
            log.truncate_to_high_watermark(STATE)
        self.world.epoch += 1
        self.world.coordinator.unload(0, self.world.epoch)
        self.world.reload()
        if log.automatic:
            log.commit(STATE)

    # ------------------------------------------------------------------------------------------------------- invariants

    def check(self) -> None:
        self._reload_equals_live_state()
        for place in _PLACES:
            partition = self.world.partitions[place]
            started: dict[int, int] = {}
            for offset, item in enumerate(partition.items):
                if item.value is None:
                    started.pop(item.producer.id, None)
                else:
                    started.setdefault(item.producer.id, offset)
            first = min(started.values(), default=len(partition.items))
            assert partition.last_stable_offset <= first, "the last stable offset never passes an open transaction"
        self._decided_once()

    def _decided_once(self) -> None:
        committed, aborted = self._readable()
        assert not committed & aborted, "a transaction has one outcome in all partitions"
        for name in committed:
            assert self.outcomes.get(name, True), "what was aborted is not seen"
        for name in aborted:
            assert not self.outcomes.get(name, False), "what was committed is not lost"

    def _readable(self) -> tuple[set[Name], set[Name]]:
        """The transactions that have ended in at least one partition, by their outcome there."""
        committed: set[Name] = set()
        aborted: set[Name] = set()
        for place in _PLACES:
            open_values: dict[int, set[Name]] = defaultdict(set)
            for item in self.world.partitions[place].items:
                if item.value is not None:
                    open_values[item.producer.id].add(item.value)
                else:
                    (committed if item.committed else aborted).update(open_values.pop(item.producer.id, ()))
        return committed, aborted

    def _reload_equals_live_state(self) -> None:
        assert self._replayed() == self.world.transactions(), "reload equals live state"

    def _replayed(self) -> dict[str, Transaction]:
        world = self.world
        writer = ShardWriter(
            STATE,
            world.epoch,
            lambda context: TransactionShard(context, TransactionSettings(), lambda *_: None, lambda _: None),
            world.log,
            world.time,
            world.time,
            commit_timeout_ms=1000,
            compression=0,
        )
        loading = Loading(
            writer, RECORD_TYPES, world.log, world.time, world.time, slice_bytes=1 << 20, finished=lambda _: None
        )
        for _ in loading._replay_all():
            pass
        return writer.shard.transactions_at(1 << 60)

    def _come_to_rest(self) -> None:
        """Everything works again and nobody writes any more: whatever is open must end by itself."""
        log, markers = self.world.log, self.world.markers
        markers.failing.clear()
        markers.held = False
        markers.release()
        log.refuse, log.automatic = None, True
        log.commit(STATE)
        for _ in range(3):
            self.world.time.advance(70_000)
            self.check()
        for transaction in self.world.transactions().values():
            assert transaction.state.may_expire, "no transaction hangs"
        committed, _ = self._readable()
        for place in _PLACES:
            partition = self.world.partitions[place]
            assert partition.last_stable_offset == len(partition.items), "nothing stays unstable"
        seen = {place: self.world.partitions[place].committed_values() for place in _PLACES}
        for name, places in self.written.items():
            for place in _PLACES:
                expected = places.count(place) if name in committed else 0
                assert seen[place].count(name) == expected, "a transaction is all or nothing on every partition"
