"""Asks brokers for records while the application waits for some, and tells them what became of those it had.

Runs on the network's thread. One request per broker is on its way: a fetch, which takes acknowledgements along, or
acknowledgements alone where no records are wanted. Nothing is fetched ahead, because what is acquired is locked for
everybody else and its time runs; so records come when `wanted` says that somebody waits for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from moldau.client.consumer.fetched import Deserializers
from moldau.client.exceptions import named
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.client.share.acknowledgements import AcknowledgedRun, AcknowledgeType
from moldau.client.share.acknowledger import ELSEWHERE, FORGOTTEN, Acknowledger, refusal_of
from moldau.client.share.acquired import AcquiredRange, AcquiredRecords
from moldau.client.share.counters import ShareCounters
from moldau.client.share.in_flight import Acknowledgements
from moldau.client.share.node_session import NodeSession, Partition
from moldau.client.waiting import Monitor
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, MoldauError, ProtocolError, error_code
from moldau.protocol.messages.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse
from moldau.types import TopicPartition

CHANNEL: Final = "share"
_GRACE: Final = 30.0
# A lock that ends this soon is not worth handing out records for.
_MARGIN: Final = 0.1
_USUAL_LOCK_MS: Final = 30_000


@dataclass(slots=True, frozen=True)
class ShareFetchOptions:
    group_id: str
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    # 0: whole batches as they were written; 1: never more records than `max_records`.
    acquire_mode: int
    check_crcs: bool
    deserializers: Deserializers


class ShareFetcher:
    """`changed` is the lock over what both threads see: `buffered`, `error`, the sessions' queues."""

    def __init__(self, network: ClientNetwork, options: ShareFetchOptions, member_id: str) -> None:
        self.network = network
        self.options = options
        self.member_id = member_id
        self.counters = ShareCounters()
        self.changed = Monitor()
        self.acknowledger = Acknowledger(
            network, options.group_id, member_id, self.changed, self.counters, self._look_again
        )
        self.wanted = False
        self.error: BaseException | None = None
        self.buffered: deque[tuple[NodeSession, AcquiredRecords]] = deque()
        self.assigned: dict[Partition, TopicPartition] = {}
        self._sessions: dict[int, NodeSession] = {}
        self._resting: dict[Partition, float] = {}
        self._retry_at: float | None = None
        self._closed = False
        network.watch(self._look_at)

    # ------------------------------------------------------------------------------------------ from the application

    def assign(self, partitions: dict[Partition, TopicPartition]) -> None:
        self.assigned = partitions
        self.network.topics_of_interest |= {where.topic for where in partitions.values()}
        self.pump()

    def end(self) -> Deferred[None]:
        """Tells what is left to be told and ends the sessions; what was not acknowledged goes to others at once."""
        over: Deferred[None] = Deferred()
        self._closed = True
        self.network.unwatch(self._look_at)
        self._forget_lost()
        left = set(self._sessions.values())

        def ended(session: NodeSession) -> None:
            left.discard(session)
            if not left and not over.settled:
                over.resolve(None)

        for session in tuple(left):
            self._end(session, ended)
        if not self._sessions:
            over.resolve(None)
        return over

    def _end(self, session: NodeSession, ended: Callable[[NodeSession], None]) -> None:
        if not session.stands:
            self._lost(session, KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND))
            ended(session)
        elif session.in_flight:
            session.then = lambda: self._end(session, ended)  # its number counts, so it is waited for
        else:
            told = self.acknowledger.take(session)
            last = not session.waiting

            def then() -> None:
                if last:
                    self._lost(session, KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND))
                    ended(session)
                else:
                    self._end(session, ended)

            self.acknowledger.send(session, told, partial(self._refused, session, told), then, last=last)

    # ------------------------------------------------------------------------------------------------------- sending

    def _look_at(self, _view: ClusterView) -> None:
        self.pump()

    def pump(self, *, wanted: bool = False) -> None:
        """Asks whoever may be asked now; `wanted` is for who does not wait for the answer."""
        if self._closed:
            return
        now = self.network.clock.monotonic()
        self._forget_lost()
        by_node = self._by_leader(now) if self.wanted or wanted else {}
        for node in {*by_node, *(node for node, session in self._sessions.items() if session.waiting)}:
            self._ask(node, by_node.get(node), now)

    def _forget_lost(self) -> None:
        """What is to be told over connections that are no more."""
        for session in self.acknowledger.sessions():
            if self._sessions.get(session.node) is not session:
                self._lost(session, KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND))

    def _by_leader(self, now: float) -> dict[int, list[Partition]]:
        view = self.network.view
        found: dict[int, list[Partition]] = {}
        lost = False
        for partition, where in self.assigned.items():
            if self._resting.get(partition, 0.0) > now:
                self._look_again(self._resting[partition] - now)
                continue
            try:
                topic = view.topic(where.topic)
                if topic.id != partition[0]:
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
                found.setdefault(view.leader(where), []).append(partition)
            except KafkaError:
                lost = True
        if lost:
            self.network.topics_of_interest |= {where.topic for where in self.assigned.values()}
            self.network.refresh()
            self._look_again()
        return found

    def _ask(self, node: int, partitions: list[Partition] | None, now: float) -> None:
        session = self._session(node)
        if session is None or session.in_flight:
            return
        if session.not_before > now:
            self._look_again(session.not_before - now)
            return
        if session.waiting and not session.stands:
            self.acknowledger.give_up(session, KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND))
        told = self.acknowledger.take(session)
        # A renewal does not wait for records, and no records are asked for with it.
        if partitions is None or any(each.renewed for each in told):
            if told:
                self.acknowledger.send(
                    session, told, partial(self._refused, session, told), partial(self._back, session)
                )
        else:
            self._fetch(session, partitions, told)

    def _session(self, node: int) -> NodeSession | None:
        """The session with a broker, over the connection that stands now."""
        known = self._sessions.get(node)
        if known is not None and known.link.usable:
            return known
        if known is not None:
            self._lost(known, KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND))
            del self._sessions[node]
        if self.network.blocked_for(node, CHANNEL) > 0:
            self._look_again()
            return None
        try:
            link = self.network.link(node, CHANNEL)
        except MoldauError:
            self.network.refresh()
            self._look_again()
            return None
        if link.versions is None:
            if not link.ready.settled:
                link.ready.then(lambda _link, _error: self.pump())
            return None
        session = self._sessions[node] = NodeSession(node, link)
        return session

    def _fetch(self, session: NodeSession, partitions: Sequence[Partition], told: list[Acknowledgements]) -> None:
        options = self.options
        request = ShareFetchRequest(
            group_id=options.group_id,
            member_id=self.member_id,
            max_wait_ms=options.max_wait_ms,
            min_bytes=options.min_bytes,
            max_bytes=options.max_bytes,
            max_records=options.max_records,
            batch_size=options.max_records,
            share_acquire_mode=options.acquire_mode,
        )
        session.fetch(request, dict.fromkeys(partitions), told)
        self.counters.fetches += 1
        session.in_flight = True

        def answered(response: ShareFetchResponse | None, error: BaseException | None) -> None:
            session.in_flight = False
            refusal = error if response is None else refusal_of(response.error_code, response.error_message)
            if response is None or refusal is not None:
                self._refused(session, told, refusal)
            else:
                session.answered()
                self._read(session, told, response)
            self._back(session)

        timeout = options.max_wait_ms / 1000 + max(_GRACE, self.network.request_timeout)
        session.link.ask(request, timeout).then(answered)

    def _back(self, session: NodeSession) -> None:
        then, session.then = session.then, None
        if then is not None:
            then()
        self.pump()

    # ------------------------------------------------------------------------------------------------------- answers

    def _read(self, session: NodeSession, told: list[Acknowledgements], response: ShareFetchResponse) -> None:
        self.acknowledger.note_lock(response.acquisition_lock_timeout_ms)
        until = self.network.clock.monotonic() + (self.acknowledger.lock_timeout_ms or _USUAL_LOCK_MS) / 1000
        outcomes: dict[Partition, KafkaError | None] = {}
        arrived = False
        for topic in response.responses:
            for data in topic.partitions:
                partition = (topic.topic_id, data.partition_index)
                outcomes[partition] = refusal_of(data.acknowledge_error_code, data.acknowledge_error_message)
                arrived = self._take(session, partition, data, until) or arrived
        self.acknowledger.outcomes(session, told, outcomes)
        with self.changed:
            if arrived:
                self.wanted = False
            self.changed.notify_all()

    def _take(self, session: NodeSession, partition: Partition, data: PartitionData, until: float) -> bool:
        code = error_code(data.error_code)
        if code is not ErrorCode.NONE:
            self._partition_refused(partition, code, data.error_message)
            return False
        self._resting.pop(partition, None)
        ranges = [
            AcquiredRange(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records
        ]
        where = self.assigned.get(partition) or self._known(partition)
        if not ranges or where is None:
            return False
        if not isinstance(data.records, memoryview):
            data.records = memoryview(b"")
        options = self.options
        try:
            acquired = AcquiredRecords(
                where, partition[0], data.records, ranges, until, options.deserializers, check_crc=options.check_crcs
            )
        except ProtocolError as error:
            self.reject(session, where, partition, ranges)
            self.fatal(KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Partition {where}: {error}."))
            return False
        self.counters.bytes += acquired.size
        with self.changed:
            self.buffered.append((session, acquired))
        return True

    def _known(self, partition: Partition) -> TopicPartition | None:
        """A partition that was taken from us meanwhile; what was acquired of it is still ours."""
        topic = self.network.view.topic_by_id(partition[0])
        return None if topic is None else TopicPartition(topic.name, partition[1])

    def reject(
        self, session: NodeSession, where: TopicPartition, partition: Partition, ranges: Iterable[AcquiredRange]
    ) -> None:
        """Bytes nobody will ever make records of."""
        runs = [AcknowledgedRun(each.first, each.last, [int(AcknowledgeType.REJECT)]) for each in ranges]
        self.acknowledger.tell([Acknowledgements(session, where, partition[0], runs, (), [])])

    def release(self) -> None:
        """What nobody has been given goes back."""
        with self.changed:
            back, self.buffered = self.buffered, deque()
        for session, acquired in back:
            runs = [AcknowledgedRun(*each, [int(AcknowledgeType.RELEASE)]) for each in sorted(acquired.rest())]
            if runs and session.stands:
                self.acknowledger.tell([Acknowledgements(session, acquired.where, acquired.topic_id, runs, (), [])])

    def _partition_refused(self, partition: Partition, code: ErrorCode, message: str | None) -> None:
        where = self.assigned.get(partition)
        if where is None:
            return
        if code in ELSEWHERE or code.retriable or code is ErrorCode.UNKNOWN_SERVER_ERROR:
            self._resting[partition] = self.network.clock.monotonic() + self.network.backoff.first
            self.network.topics_of_interest.add(where.topic)
            self.network.doubt()
            self.network.refresh()
            self._look_again()
        else:
            self._resting[partition] = self.network.clock.monotonic() + self.network.backoff.limit
            self.fatal(KafkaError(code, f"Partition {where}: {message or code.text}"))

    def _refused(self, session: NodeSession, told: list[Acknowledgements], error: BaseException | None) -> None:
        """Nothing of the request was done, or nobody knows what was."""
        for each in told:
            self.acknowledger.over(each, error)
        code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
        session.reset()
        self._drop_buffered(session)
        if code in FORGOTTEN:
            return
        session.failures += 1
        session.not_before = self.network.clock.monotonic() + self.network.backoff.delay(session.failures)
        self.network.doubt()
        self._look_again()
        if isinstance(error, KafkaError) and not error.retriable:
            self.fatal(error)

    def _lost(self, session: NodeSession, error: KafkaError) -> None:
        self.acknowledger.give_up(session, error)
        self._drop_buffered(session)

    def _drop_buffered(self, session: NodeSession) -> None:
        """What was acquired in a session that is no more belongs to others by now."""
        with self.changed:
            self.buffered = deque(each for each in self.buffered if each[0] is not session)

    def fatal(self, error: BaseException) -> None:
        """What the application has to hear; it is told at its next poll."""
        with self.changed:
            self.error = named(error)
            self.changed.notify_all()
        self._look_again()

    def expired(self, acquired: AcquiredRecords) -> bool:
        return self.network.clock.monotonic() > acquired.locked_until - _MARGIN

    def _look_again(self, delay: float | None = None) -> None:
        due = self.network.clock.monotonic() + (self.network.backoff.first if delay is None else max(delay, 0.001))
        if self._closed or (self._retry_at is not None and self._retry_at <= due):
            return
        self._retry_at = due

        def again() -> None:
            if self._retry_at == due:
                self._retry_at = None
                self.pump()

        self.network.loop.call_later(due - self.network.clock.monotonic(), again)
