"""Which batches go out, and what their answers mean. Runs on the network's thread.

`pump` looks at the lanes that have something, groups what is ready by leader, and fills requests while the leader has
fewer than `max_in_flight` of them unanswered. It runs when records arrive for a lane that had none, when a batch is
full, when an answer comes, and when a time is reached (linger, back-off, expiry).

Under load this makes batches large by itself: while five requests are under way, records pile up in the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from moldau._speed.layout import HEADER_SIZE
from moldau.client.exceptions import named
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.client.producer.batch import Batch
from moldau.client.producer.counters import Counters
from moldau.client.producer.delivery import Accumulator, Delivery, FutureRecordMetadata, Lane
from moldau.client.producer.identity import ProducerIdentity
from moldau.client.producer.partition import PartitionState, UnavailableNodes
from moldau.client.producer.requests import Outcome, produce_request, read_outcomes
from moldau.client.waiting import Monitor
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import KafkaTimeoutError
from moldau.links.errors import ConnectionFailed
from moldau.links.link import Link
from moldau.protocol.records import Compression
from moldau.runtime.ports import TimerHandle
from moldau.types import NO_OFFSET, TopicPartition

_REQUEST_OVERHEAD: Final = 512

# What is left of a batch's bytes for one record: length, deltas and lengths of key and value.
_RECORD_OVERHEAD: Final = HEADER_SIZE + 40

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)

# Codes that say: the numbers do not fit. See `partition`.
_OUT_OF_STEP: Final = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
)


@dataclass(slots=True, frozen=True)
class SendingLimits:
    acks: int
    compression: Compression
    level: int | None
    batch_size: int
    largest_batch: int
    max_request_size: int
    memory: int
    linger: float
    max_in_flight: int
    retries: float
    request_timeout: float
    delivery_timeout: float
    adaptive: bool = True
    ignore_keys: bool = False
    availability_timeout: float = 0.0


class Sender:
    def __init__(
        self,
        network: ClientNetwork,
        limits: SendingLimits,
        identity: ProducerIdentity,
        call_from_thread: Callable[[Callable[[], None]], None],
    ) -> None:
        self.network = network
        self.limits = limits
        self.counters = Counters()
        self.memory_freed = Monitor()
        self.waiting_for_memory = 0
        self.hurries = 0
        self.accumulator = Accumulator(
            FutureRecordMetadata,
            self._open_batch,
            lambda: call_from_thread(self.pump),
            ready_size=limits.batch_size,
            max_record=min(limits.max_request_size, limits.memory) - _RECORD_OVERHEAD,
            memory=limits.memory,
            adaptive=limits.adaptive,
            ignore_keys=limits.ignore_keys,
        )
        self._call_from_thread = call_from_thread
        self._unavailable = UnavailableNodes(limits.availability_timeout if limits.adaptive else 0.0)
        self._identity = identity
        self._states: dict[str, list[PartitionState]] = {}
        self._in_flight: dict[int, int] = {}
        self._timer: TimerHandle | None = None
        self._closed = False
        network.watch(self._look_at)
        identity.changed = self.pump

    # -------------------------------------------------------------------------------------------------- the topics

    def take_up(self, topic: str) -> None:
        """Makes lanes for a topic the network has just learned of; records for it are accepted from here on."""
        self.network.topics_of_interest.add(topic)
        self._states.setdefault(topic, [])
        self._look_at(self.network.view)

    def _look_at(self, view: ClusterView) -> None:
        for name, states in self._states.items():
            topic = view.topics.get(name)
            if topic is None or topic.error is not ErrorCode.NONE or not topic.partitions:
                continue
            grown = len(states) < len(topic.partitions)
            while len(states) < len(topic.partitions):
                states.append(PartitionState(name, len(states)))
            moved = False
            for state in states:
                known = topic.partitions.get(state.lane.partition)
                leader = known.leader if known is not None and known.leader in view.brokers else -1
                moved = moved or state.leader != leader
                state.leader = leader
            if grown:
                self.accumulator.set_topic(name, [state.lane for state in states], self._available(states))
            elif moved:
                self.accumulator.set_available(name, self._available(states))
        self.pump()

    def _available(self, states: list[PartitionState]) -> Sequence[int]:
        """Where records without a key may go: where there is a leader, and one that takes what it is sent."""
        led = [index for index, state in enumerate(states) if state.leader >= 0]
        moving = [index for index in led if states[index].leader not in self._unavailable.nodes]
        return moving or led or range(len(states))

    def states(self) -> Iterable[PartitionState]:
        return (state for states in self._states.values() for state in states)

    # --------------------------------------------------------------------------------------------------- the pump

    def pump(self) -> None:
        """Sends what may be sent now, and sees to it that it is called again when there will be more."""
        if self._closed:
            return
        # Before the lanes are looked at: what is appended from here on wakes us again.
        self.accumulator.armed = True
        now = self.network.clock.monotonic()
        wake_at = inf
        ready: dict[int, list[PartitionState]] = {}
        hurry = self.hurries > 0 or self.waiting_for_memory > 0
        active = self.accumulator.take_active()
        for lane in active:
            state: PartitionState = lane.owner
            wake_at = min(wake_at, self._consider(state, now, hurry, ready))
            if not state.empty:
                self.accumulator.keep_active(lane)
        for node, states in ready.items():
            wake_at = min(wake_at, self._send_to(node, states, now, hurry))
        if self._unavailable.timeout > 0:
            wake_at = min(wake_at, self._look_for_unavailable_nodes(active, hurry, now))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wake_at < inf:
            self._timer = self.network.loop.call_later(max(0.0, wake_at - now), self.pump)

    def _consider(
        self, state: PartitionState, now: float, hurry: bool, ready: dict[int, list[PartitionState]]
    ) -> float:
        """Puts the partition among the ready ones, or says when to look again."""
        limits = self.limits
        first = state.first()
        if first is None:
            return inf
        expiry = first.created + limits.delivery_timeout
        if now >= expiry:
            self._expire(state, now)
        if state.broken and not state.in_flight:
            if not self._identity.renew(state.identity):
                return inf
            state.restart(self._identity.current)
        when = state.ready_at(limits.linger, hurry, limits.batch_size)
        if when > now:
            return min(when, expiry)
        lane = state.lane
        if not self._identity.may_send(TopicPartition(lane.topic, lane.partition)):
            return expiry
        if state.leader < 0:
            self.network.refresh()
            return min(now + self.network.backoff.limit, expiry)
        ready.setdefault(state.leader, []).append(state)
        return expiry

    def _look_for_unavailable_nodes(self, active: list[Lane], hurry: bool, now: float) -> float:
        linger, size = self.limits.linger, self.limits.batch_size
        waiting = {lane.owner.leader for lane in active if lane.owner.due_at(linger, hurry, size) <= now}
        if self._unavailable.look(waiting, now):
            for name, states in self._states.items():
                self.accumulator.set_available(name, self._available(states))
        return self._unavailable.next_look

    def _send_to(self, node: int, states: list[PartitionState], now: float, hurry: bool) -> float:
        blocked = self.network.blocked_for(node)
        if blocked > 0:
            return now + blocked
        try:
            link = self.network.link(node)
        except KafkaError:
            self.network.refresh()
            return now + self.network.backoff.limit
        if link.versions is None:
            if not link.ready.settled:
                link.ready.then(self._linked)
            return inf
        while states and self._in_flight.get(node, 0) < self.limits.max_in_flight:
            batches = self._fill(states, now, hurry)
            if not batches:
                break
            self._unavailable.moves(node)
            self._send(link, node, batches)
        return inf

    def _linked(self, _link: Link | None, error: BaseException | None) -> None:
        if error is not None:
            self.network.refresh()
        self.pump()

    def _fill(self, states: list[PartitionState], now: float, hurry: bool) -> list[Batch]:
        """At most one batch per partition, as Kafka wants it, up to the size of a request; the rest stay for the next.

        Partitions that were served go to the end of the line, so that none is left behind, unless what they have left
        is a batch that still fills: it has its linger before it.
        """
        batches: list[Batch] = []
        room = self.limits.max_request_size - _REQUEST_OVERHEAD
        for state in tuple(states):
            next_ = state.first()
            if next_ is None or state.failing or (state.retries and state.in_flight):
                states.remove(state)
                continue
            if batches and next_.size > room:
                continue
            batch = state.take()
            states.remove(state)
            if batch is None:
                continue
            if state.ready_at(self.limits.linger, hurry, self.limits.batch_size) <= now:
                states.append(state)
            state.number(batch, self._identity.current)
            room -= batch.size
            batches.append(batch)
            if room <= 0:
                break
        return batches

    def _send(self, link: Link, node: int, batches: list[Batch]) -> None:
        limits = self.limits
        view = self.network.view
        try:
            ask = produce_request(view, batches, limits, self._identity)
        except Exception as error:
            # They were taken out of their places, so nobody else would ever say what became of them.
            because = f"The records could not be packed: {type(error).__name__}: {error}"
            failure = error if isinstance(error, KafkaError) else KafkaError(ErrorCode.INVALID_RECORD, because)
            self._read(batches, dict.fromkeys(batches, Outcome(failure)))
            return
        self._in_flight[node] = self._in_flight.get(node, 0) + 1
        self.counters.sent(batches)
        sent_at = self.network.clock.monotonic()

        def answered(response: Any, error: BaseException | None) -> None:
            self._in_flight[node] -= 1
            self.counters.answered(self.network.clock.monotonic() - sent_at)
            if error is not None:
                failure = error if isinstance(error, KafkaError) else ConnectionFailed(str(error))
                self._read(batches, dict.fromkeys(batches, Outcome(failure)))
            else:
                self._read(batches, read_outcomes(view, batches, response))
            self.pump()

        link.ask(ask.request, limits.request_timeout, at_most=ask.at_most, answered=limits.acks != 0).then(answered)

    # -------------------------------------------------------------------------------------------------- the answers

    def _read(self, batches: list[Batch], outcomes: dict[Batch, Outcome]) -> None:
        now = self.network.clock.monotonic()
        stale = False
        for batch in batches:
            state: PartitionState = batch.lane.owner
            if batch not in state.in_flight:
                continue  # given up meanwhile
            outcome = outcomes[batch]
            state.returned(batch)
            if outcome.error is None:
                state.failures = 0
                self._complete(batch, outcome)
            else:
                stale = self._refused(state, batch, outcome, outcome.error, now) or stale
            if not state.empty:
                self.accumulator.keep_active(state.lane)
        if stale:
            self.network.refresh()

    def _refused(self, state: PartitionState, batch: Batch, outcome: Outcome, error: KafkaError, now: float) -> bool:
        """What to do about a batch that was not written; whether the view of the cluster is in doubt."""
        code = error.code
        out_of_step = code in _OUT_OF_STEP and self._identity.numbers
        if code in _TOO_LARGE and batch.count > 1:
            self._split(state, batch, now)
        elif out_of_step and (state.retries or state.broken):
            # Behind a batch that is to be repeated this was to be expected.
            self._repeat(state, batch)
        elif out_of_step and not self._identity.transactional:
            state.broken = True
            self._repeat_later(state, batch, now)
        elif error.retriable and batch.attempts <= self.limits.retries and self._identity.usable:
            self._repeat_later(state, batch, now)
            return True
        else:
            state.broken = state.broken or self._identity.numbers
            self._identity.batch_failed(error)
            self._complete(batch, outcome)
        return False

    def _repeat(self, state: PartitionState, batch: Batch) -> None:
        self.counters.of(batch.lane.topic).retries += batch.count
        state.repeat(batch)

    def _repeat_later(self, state: PartitionState, batch: Batch, now: float) -> None:
        state.not_before = now + self.network.backoff.delay(state.failures)
        state.failures += 1
        self._repeat(state, batch)

    def _split(self, state: PartitionState, batch: Batch, now: float) -> None:
        """Two batches of half the records each, under the numbers the whole had: it was not written."""
        self.counters.splits += 1
        parts: list[tuple[int, Delivery]] = []
        for first, half in batch.halves(now):
            if self._identity.numbers:
                half.identify(batch.identity, (batch.sequence + first) % (1 << 31))
            parts.append((first, half.delivery))
            state.repeat(half)
        batch.delivery.split(parts)

    def _complete(self, batch: Batch, outcome: Outcome) -> None:
        if outcome.error is None:
            batch.delivery.complete(outcome.offset, outcome.append_time)
        else:
            self.counters.of(batch.lane.topic).errors += batch.count
            batch.delivery.complete(NO_OFFSET, error=named(outcome.error), record_errors=outcome.record_errors)
        self._forget(batch)

    def _forget(self, batch: Batch) -> None:
        self.accumulator.release(batch.memory)
        if self.waiting_for_memory:
            with self.memory_freed:
                self.memory_freed.notify_all()

    def _expire(self, state: PartitionState, now: float) -> None:
        for batch in state.expired(now, self.limits.delivery_timeout):
            where = TopicPartition(batch.lane.topic, batch.lane.partition)
            error = KafkaTimeoutError(
                f"{batch.count} records for {where} had not been acknowledged "
                f"when delivery_timeout_ms ({self.limits.delivery_timeout * 1000:.0f}) was over."
            )
            self._identity.batch_failed(error)
            self._complete(batch, Outcome(error))

    def hurry(self) -> list[Delivery]:
        """From now on nothing lingers, until `calm`; gives what is on its way at this moment."""
        self.hurries += 1
        deliveries = [batch.delivery for state in self.states() for batch in state.unacknowledged()]
        self.pump()
        return deliveries

    def calm(self) -> None:
        self.hurries -= 1

    def fail_all(self, error: BaseException) -> None:
        """Gives up whatever has not been acknowledged."""
        for state in self.states():
            for batch in state.drain():
                batch.delivery.complete(error=error)
                self._forget(batch)

    def fail_unsent(self, error: KafkaError) -> None:
        """Gives up whatever is not under way at this moment."""
        for state in self.states():
            for batch in state.drain_unsent():
                batch.delivery.complete(error=named(error))
                self._forget(batch)

    def close(self) -> None:
        self._closed = True
        self.accumulator.halted = True
        if self._timer is not None:
            self._timer.cancel()
        self.network.unwatch(self._look_at)
        self.fail_all(KafkaTimeoutError("The producer was closed before the record was acknowledged."))

    # ------------------------------------------------------------------------------------------ from other threads

    def submit(self, batch: Batch) -> None:
        """Takes on a batch that somebody else has filled; it counts as used memory until it is acknowledged."""
        self.accumulator.release(-batch.memory)
        batch.lane.taken(-batch.memory)
        batch.lane.waiting.append(batch)
        self.accumulator.keep_active(batch.lane)
        self._call_from_thread(self.pump)

    def wait_for_room(self, size: int, timeout: float) -> bool:
        """Whether there is memory for so much more within this time. Alone, a batch always has room."""
        accumulator = self.accumulator
        with self.memory_freed:
            if accumulator.used and accumulator.used + size > accumulator.memory:
                self.waiting_for_memory += 1
                try:
                    self.memory_freed.wait(timeout)
                finally:
                    self.waiting_for_memory -= 1
            return not accumulator.used or accumulator.used + size <= accumulator.memory

    def _open_batch(self, lane: Lane) -> Batch:
        """Called by the accumulator on the application's threads."""
        return Batch.open(lane, self.limits.largest_batch, self.network.clock.monotonic())
