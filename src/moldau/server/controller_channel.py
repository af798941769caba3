"""The way to the active controller, wherever it is: everything a broker asks of it goes through here.

If this node leads the quorum, a question is a function call through the handlers a remote broker would reach, answered
in the same turn of the loop if it can be. Otherwise it is sent to the leader's controller listener. Whoever turns out
not to lead (NOT_CONTROLLER), or is not reached, is asked again after a pause, him or his successor, until the time
allowed is over; news of an election ends the pause. So a question may reach a controller twice: what is asked here is
safe to repeat, as in Kafka.

A broker's own requests are sent as they are. Those of clients (`forward`) go inside an Envelope that says who asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from moldau.deferred import Deferred, failed, settle
from moldau.errors import ErrorCode, KafkaError, MoldauError, error_code
from moldau.links.addresses import Address
from moldau.links.backoff import Backoff, chance_of
from moldau.links.errors import ConnectionFailed, RequestTimedOut, TlsFailed
from moldau.links.peers import Peers
from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.protocol.message import Message
from moldau.protocol.messages.create_topics import CreateTopicsResponse
from moldau.raft.quorum import MetadataQuorum
from moldau.runtime.ports import Clock, Loop, Random, TimerHandle
from moldau.security.principal import THIS_NODE
from moldau.server.context import RequestContext, Services
from moldau.server.dispatch import DispatchTable
from moldau.server.envelopes import answer_in, seal
from moldau.slicing import Work

# Answers of one connection come in order: what must not wait for others is asked on a line of its own.
FORWARDING: Final = "forwarding"
# How long a client's request is tried; its client waits for thirty seconds by default.
_FORWARDING_SECONDS: Final = 60.0


class _LocalConnection:
    """Who asks, when a node asks itself."""

    listener_name = "CONTROLLER"
    peer = ("", 0)
    principal = THIS_NODE
    client_id: str | None = None
    software = None

    def __init__(self, table: DispatchTable) -> None:
        self.table = table

    def is_open(self) -> bool:
        return True


class _Question:
    __slots__ = ("answer", "attempts", "deadline", "line", "pause", "request", "sent_to")

    def __init__(self, request: Message, deadline: float, line: str) -> None:
        self.request = request
        self.deadline = deadline
        self.line = line
        self.attempts = 0
        self.answer: Deferred[Any] = Deferred()
        self.pause: TimerHandle | None = None
        self.sent_to: Address | None = None


class ControllerChannel:
    """`table` holds what a controller answers; `endpoint_of` says where the controller with an id listens.

    A listener of the quorum: it has to hear of a leader after the controller of the same node has.
    """

    def __init__(
        self,
        services: Services,
        table: DispatchTable,
        quorum: MetadataQuorum,
        endpoint_of: Callable[[int], Address | None],
        peers: Peers,
        clock: Clock,
        loop: Loop,
        random: Random,
        *,
        request_timeout: float = 30.0,
    ) -> None:
        self._services = services
        self._table = table
        self._quorum = quorum
        self._endpoint_of = endpoint_of
        self._peers = peers
        self._clock = clock
        self._loop = loop
        self._request_timeout = request_timeout
        self._backoff = Backoff(0.05, 1.0, chance=chance_of(random))
        self._here = _LocalConnection(table)
        # What has no answer yet, in the order it was asked.
        self._open: dict[_Question, None] = {}
        self._watchers: list[Callable[[], None]] = []
        self._closed = False

    @property
    def leads(self) -> bool:
        """Whether the active controller is in this process."""
        controller = self._services.controller
        return controller is not None and controller.is_active

    def ask(self, request: Message, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        """The response, or the KafkaError it came to; one for the whole response (`error_code`) counts as such."""
        if self._closed:
            return failed(ConnectionFailed("This node asks the controller nothing more: it is being stopped."))
        seconds = self._request_timeout if timeout is None else timeout
        question = _Question(request, self._clock.monotonic() + seconds, line)
        self._open[question] = None
        self._try(question)
        return question.answer

    def watch(self, line: str, changed: Callable[[], None]) -> None:
        """`changed` is called when there is another active controller, or the connection to it on this line ended."""
        self._watchers.append(changed)
        self._peers.watch(_line(line), changed)

    def forward(
        self, context: RequestContext, request: Message, *, timeout: float = _FORWARDING_SECONDS
    ) -> Deferred[Any]:
        """A client's request, passed on in its name; the controller's response to it."""
        slicer = self._services.slicer

        def ask() -> Work[Deferred[Any]]:
            envelope = yield from seal(context, request)
            return self.ask(envelope, timeout=timeout, line=FORWARDING)

        asked: Deferred[Any] = Deferred()
        slicer.run_into(ask(), asked)
        return slicer.then(asked, lambda envelope: answer_in(envelope, context))

    def close(self) -> None:
        self._closed = True
        for question in tuple(self._open):
            self._settle(question, None, ConnectionFailed("The node is being stopped."))

    # ------------------------------------------------------------------------------------------------ one attempt

    def _try(self, question: _Question) -> None:
        question.pause = None
        question.attempts += 1
        if self.leads:
            question.sent_to = None
            here = question.attempts
            self._answer_here(question.request).then(lambda value, error: self._heard(question, here, value, error))
            return
        left = question.deadline - self._clock.monotonic()
        if left <= 0:
            self._settle(question, None, RequestTimedOut("No active controller answered in the time allowed."))
            return
        address = question.sent_to = self._leader()
        if address is None:
            self._again(question, KafkaError(ErrorCode.NOT_CONTROLLER, "There is no active controller at the moment."))
            return
        limit = min(left, self._request_timeout)
        attempt = question.attempts
        self._peers.ask(address, question.request, timeout=limit, line=_line(question.line)).then(
            lambda value, error: self._heard(question, attempt, value, error)
        )

    def _leader(self) -> Address | None:
        leader = self._quorum.leader_id
        if leader < 0 or leader == self._quorum.node_id:
            # Nobody, or this node, which has been elected and is not ready to decide anything yet.
            return None
        return self._endpoint_of(leader)

    def _answer_here(self, request: Message) -> Deferred[Any]:
        offer = self._table.offers[request.API_KEY]
        context = RequestContext(
            self._here,  # type: ignore[arg-type]
            self._services,
            request.API_KEY,
            offer.max_version,
            0,
            None,
        )
        answer: Deferred[Any] = Deferred()
        # A fault of ours is an answer too, as it would be from elsewhere: those who beat or propose must go on.
        settle(answer, lambda: self._services.slicer.value_of(offer.api.handler(context, request)))
        return answer

    def _heard(self, question: _Question, attempt: int, value: Any, error: BaseException | None) -> None:
        if error is None:
            error = _refusal(value)
        if question.answer.settled or (error is not None and question.attempts != attempt):
            # It has been asked again already, because there was a new leader; or even answered.
            return
        if _passes(error):
            assert isinstance(error, KafkaError)
            self._again(question, error)
        else:
            self._settle(question, value, error)

    def _again(self, question: _Question, error: KafkaError) -> None:
        pause = self._backoff.delay(question.attempts - 1)
        if self._closed or self._clock.monotonic() + pause >= question.deadline:
            self._settle(question, None, error)
            return
        question.pause = self._loop.call_later(pause, lambda: self._try(question))

    def _settle(self, question: _Question, value: Any, error: BaseException | None) -> None:
        self._open.pop(question, None)
        if question.pause is not None:
            question.pause.cancel()
            question.pause = None
        if question.answer.settled:
            return
        if error is None:
            question.answer.resolve(value)
        else:
            question.answer.fail(error)

    # ----------------------------------------------------------------------------------- the listener of the quorum

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> None: ...

    def on_commit(self, batch: CommittedBatch, *, more: bool) -> None: ...

    def on_leader(self, leader_id: int, epoch: int) -> None:
        """Whoever waits for a leader is served; whoever waits for the answer of a former one need not any more."""
        if leader_id < 0:
            return
        now_at = self._leader()
        for question in tuple(self._open):
            if question.pause is not None:
                question.pause.cancel()
                self._soon(question)
            elif (former := question.sent_to) is not None and former != now_at:
                self._soon(question)
                self._peers.forget(former, _line(question.line))
        for changed in self._watchers:
            # In a turn of its own, as below.
            self._loop.call_later(0.0, changed)

    def _soon(self, question: _Question) -> None:
        """In a turn of its own: the others who follow the quorum hear of the leader first."""
        question.attempts += 1
        question.sent_to = None
        question.pause = self._loop.call_later(0.0, lambda: self._try(question))


def _line(name: str) -> str:
    return f"controller {name}"


def _refusal(response: Any) -> MoldauError | None:
    code = error_code(getattr(response, "error_code", 0))
    if code is ErrorCode.NONE and isinstance(response, CreateTopicsResponse) and response.topics:
        # It has no place for what concerns all topics, and says it of each.
        codes = {topic.error_code for topic in response.topics}
        code = ErrorCode.NOT_CONTROLLER if codes == {ErrorCode.NOT_CONTROLLER} else ErrorCode.NONE
    if code is ErrorCode.NONE:
        return None
    return KafkaError(code, getattr(response, "error_message", None))


def _passes(error: BaseException | None) -> bool:
    """Whether another try may reach somebody who can answer."""
    if isinstance(error, ConnectionFailed | RequestTimedOut | TlsFailed):
        return True
    return isinstance(error, KafkaError) and error.code is ErrorCode.NOT_CONTROLLER
