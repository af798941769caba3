"""Tells brokers what became of records, and the application what became of that.

Acknowledgements wait at the session over which their records came; they go with the next fetch to that broker, or alone
where no records are wanted. What a broker could not write down for the moment is told again; what it refuses, or what
nobody knows the fate of, is over with an error. Runs on the network's thread, but for `tell`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from moldau.client.exceptions import named
from moldau.client.network import ClientNetwork
from moldau.client.share.counters import ShareCounters
from moldau.client.share.in_flight import Acknowledgements
from moldau.client.share.node_session import NodeSession, Partition
from moldau.client.waiting import Monitor
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from moldau.types import TopicPartition

# The broker knows nothing of the session, or another part of it.
FORGOTTEN: Final = (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH)
# Somebody else leads the partition, and with it goes what was acquired.
ELSEWHERE: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        *FORGOTTEN,
    }
)


class Acknowledger:
    """`changed` is the lock over what both threads see. `look_again(seconds)` has the fetcher look at the queues."""

    def __init__(
        self,
        network: ClientNetwork,
        group_id: str,
        member_id: str,
        changed: Monitor,
        counters: ShareCounters,
        look_again: Callable[[float], None],
    ) -> None:
        self.outstanding = 0
        # What is over, for the application to be told of.
        self.finished: deque[Acknowledgements] = deque()
        self.lock_timeout_ms: int | None = None
        self._network = network
        self._group_id = group_id
        self._member_id = member_id
        self._changed = changed
        self._counters = counters
        self._look_again = look_again
        self._told: set[NodeSession] = set()

    def tell(self, told: Iterable[Acknowledgements]) -> None:
        """From any thread; they go out when the fetcher next looks."""
        deadline = self._network.clock.monotonic() + self._network.request_timeout
        with self._changed:
            for each in told:
                each.deadline = deadline
                each.session.waiting.append(each)
                self._told.add(each.session)
                self.outstanding += 1

    def sessions(self) -> set[NodeSession]:
        """Those somebody wanted to tell something since they were last asked for."""
        with self._changed:
            told, self._told = self._told, set()
        return told

    def take(self, session: NodeSession) -> list[Acknowledgements]:
        """What may go in one request: ranges of one partition may neither overlap nor come out of order."""
        with self._changed:
            taken: list[Acknowledgements] = []
            left: deque[Acknowledgements] = deque()
            seen: set[TopicPartition] = set()
            for each in session.waiting:
                (left if each.where in seen else taken).append(each)
                seen.add(each.where)
            session.waiting = left
        return taken

    def send(
        self,
        session: NodeSession,
        told: list[Acknowledgements],
        refused: Callable[[BaseException | None], None],
        then: Callable[[], None],
        *,
        last: bool = False,
    ) -> None:
        """In a request of their own; `refused` hears of a request that came to nothing, `then` follows in any case."""
        request = ShareAcknowledgeRequest(
            group_id=self._group_id, member_id=self._member_id, is_renew_ack=any(each.renewed for each in told)
        )
        session.acknowledge(request, told, last=last)
        session.in_flight = True

        def answered(response: ShareAcknowledgeResponse | None, error: BaseException | None) -> None:
            session.in_flight = False
            refusal = error if response is None else refusal_of(response.error_code, response.error_message)
            if response is None or refusal is not None:
                refused(refusal)
            else:
                session.answered()
                self.note_lock(response.acquisition_lock_timeout_ms)
                self.outcomes(
                    session,
                    told,
                    {
                        (topic.topic_id, data.partition_index): refusal_of(data.error_code, data.error_message)
                        for topic in response.responses
                        for data in topic.partitions
                    },
                )
            then()

        session.link.ask(request, self._network.request_timeout).then(answered)

    def note_lock(self, milliseconds: int) -> None:
        if milliseconds > 0:
            self.lock_timeout_ms = milliseconds

    def outcomes(
        self, session: NodeSession, told: Iterable[Acknowledgements], outcomes: dict[Partition, KafkaError | None]
    ) -> None:
        now = self._network.clock.monotonic()
        for each in told:
            error = outcomes.get((each.topic_id, each.where.partition))
            if error is not None and error.retriable and error.code not in ELSEWHERE and now < each.deadline:
                each.attempts += 1
                session.not_before = now + self._network.backoff.delay(each.attempts)
                with self._changed:
                    session.waiting.appendleft(each)
                self._look_again(session.not_before - now)
            else:
                self.over(each, error)

    def give_up(self, session: NodeSession, error: BaseException) -> None:
        with self._changed:
            waiting, session.waiting = session.waiting, deque()
        for each in waiting:
            self.over(each, error)

    def over(self, told: Acknowledgements, error: BaseException | None) -> None:
        with self._changed:
            told.error = None if error is None else named(error)
            told.over = True
            self.outstanding -= 1
            self.finished.append(told)
            self._counters.acknowledged(told)
            self._changed.notify_all()


def refusal_of(number: int, message: str | None) -> KafkaError | None:
    code = error_code(number)
    return None if code is ErrorCode.NONE else KafkaError(code, message or None)
