"""Kafka's client conversations, performed over the simulated network.

The third face of the client core, beside the blocking one: the operations are the same generators, the bytes are the
same bytes. `start` begins a conversation and answers through a Deferred; several may run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from moldau.client.addresses import Address
from moldau.client.conversation import ANY_NODE, CONTROLLER, Ask, AskAll, Conversation, Learn, Pause, Step
from moldau.client.errors import ConnectionFailed, RequestTimedOut
from moldau.client.exchange import Call, Exchange
from moldau.client.metadata import ClusterView
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, MoldauError, error_code
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.simulation.runtime import SimulatedRuntime

T = TypeVar("T")

_MAX_FRAME = 1 << 30
_REQUEST_SECONDS = 15.0
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


class _Link:
    """One connection: an exchange on a simulated transport."""

    def __init__(self, client: SimulatedClient, address: Address) -> None:
        self.exchange = Exchange(client.client_id)
        self.is_open = True
        network = client.runtime.network
        self.transport = network.connect(address.host, address.port, lambda _: self, max_frame=_MAX_FRAME)
        self.flush()

    def call(self, ask: Ask) -> Call:
        call = self.exchange.call(ask.request, at_most=ask.at_most, answered=ask.answered)
        self.flush()
        return call

    def flush(self) -> None:
        outgoing = self.exchange.take_outgoing()
        if outgoing:
            self.transport.send(outgoing)

    def end(self, error: MoldauError) -> None:
        if self.is_open:
            self.is_open = False
            self.transport.close()
            self.exchange.lost(error)

    def frame(self, data: memoryview, start: int, end: int) -> None:
        # Copied: an answer keeps views of the records in it.
        self.exchange.frame(memoryview(bytes(data[start:end])))
        self.flush()

    def drained(self) -> None: ...

    def closed(self, reason: str | None) -> None:
        if self.is_open:
            self.is_open = False
            self.exchange.lost(ConnectionFailed(f"The connection ended: {reason or 'the broker closed it'}."))


class SimulatedClient:
    def __init__(self, runtime: SimulatedRuntime, bootstrap: Sequence[tuple[str, int]], client_id: str) -> None:
        self.runtime = runtime
        self.client_id = client_id
        self.view = ClusterView()
        self.fresh: set[str] = set()
        self.chance = runtime.random.fork(client_id)
        self._bootstrap = [Address(*address) for address in bootstrap]
        self._links: dict[Address, _Link] = {}

    def start(self, conversation: Conversation[T], seconds: float = 300.0) -> Deferred[T]:
        """Performs a conversation; it is over within `seconds` of virtual time."""
        performance = _Performance(self, conversation, self.runtime.clock.monotonic() + seconds)
        self.runtime.loop.call_soon(performance.begin)
        return performance.outcome

    def run(self, conversation: Conversation[T], seconds: float = 300.0) -> T:
        """Performs a conversation while the world goes on; the value it comes to, or the error."""
        outcome = self.start(conversation, seconds)
        self.runtime.schedule.run_until(lambda: outcome.settled, seconds + 60)
        ended: list[Any] = []
        outcome.then(lambda value, error: ended.extend((value, error)))
        value, error = ended
        if error is not None:
            raise error
        result: T = value
        return result

    def link(self, node: int) -> _Link:
        if node == CONTROLLER:
            node = self.view.controller_id if self.view.controller_id in self.view.brokers else ANY_NODE
        if node == ANY_NODE:
            address = self.chance.choice(self._bootstrap)
        else:
            broker = self.view.brokers.get(node)
            if broker is None:
                raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"There is no broker with id {node}.")
            address = broker.address
        link = self._links.get(address)
        if link is None or not link.is_open:
            link = self._links[address] = _Link(self, address)
        return link


class _Performance(Generic[T]):
    """One conversation under way."""

    def __init__(self, client: SimulatedClient, conversation: Conversation[T], deadline: float) -> None:
        self._client = client
        self._conversation = conversation
        self._deadline = deadline
        self._loop = client.runtime.loop
        self.outcome: Deferred[T] = Deferred()

    def begin(self) -> None:
        self._go_on(None, None)

    def _go_on(self, value: Any, error: BaseException | None) -> None:
        try:
            step = self._conversation.send(value) if error is None else self._conversation.throw(error)
        except StopIteration as end:
            self.outcome.resolve(end.value)
        except Exception as failure:
            self.outcome.fail(failure)
        else:
            try:
                self._perform(step)
            except MoldauError as refusal:
                failed = refusal
                self._loop.call_soon(lambda: self._go_on(None, failed))

    def _perform(self, step: Step) -> None:
        match step:
            case Ask():
                self._ask(step).then(self._go_on)
            case AskAll():
                self._ask_all(step.asks)
            case Learn():
                self._learn(step)
            case Pause():
                self._pause(step)

    def _ask(self, ask: Ask) -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        link = self._client.link(ask.to)
        call = link.call(ask)
        seconds = max(0.0, min(_REQUEST_SECONDS, self._deadline - self._client.runtime.clock.monotonic()))
        timer = self._loop.call_later(seconds, lambda: link.end(RequestTimedOut("No answer came in time.")))

        def settled(value: Any, error: BaseException | None) -> None:
            timer.cancel()
            # As a step of its own: a conversation must not go on inside the connection's.
            self._loop.call_soon(lambda: answer.resolve(value) if error is None else answer.fail(error))

        call.then(settled)
        return answer

    def _ask_all(self, asks: Sequence[Ask]) -> None:
        results: list[Any] = [None] * len(asks)
        open_asks = len(asks)

        def settled(index: int, value: Any, error: BaseException | None) -> None:
            nonlocal open_asks
            results[index] = value if error is None else error
            open_asks -= 1
            if not open_asks:
                # Only what a cluster may answer is left to the conversation; anything else ends it.
                errors = (result for result in results if isinstance(result, BaseException))
                fatal = next((error for error in errors if not isinstance(error, KafkaError)), None)
                self._go_on(None if fatal else results, fatal)

        if not asks:
            self._loop.call_soon(lambda: self._go_on([], None))
        for index, ask in enumerate(asks):
            try:
                self._ask(ask).then(lambda value, error, index=index: settled(index, value, error))  # type: ignore[misc]
            except KafkaError as error:
                settled(index, None, error)

    def _learn(self, step: Learn) -> None:
        client = self._client
        known = step.topics is not None and client.view.brokers and all(name in client.fresh for name in step.topics)
        if known and not step.anew:
            self._loop.call_soon(lambda: self._go_on(client.view, None))
            return
        names = None if step.topics is None else list(step.topics)
        request = MetadataRequest(
            topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=step.create,
        )

        def learned(response: MetadataResponse | None, error: BaseException | None) -> None:
            if response is None or error is not None:
                self._go_on(None, error)
                return
            client.view = client.view.after(response, names)
            for topic in response.topics:
                if topic.name is not None and error_code(topic.error_code) is ErrorCode.NONE:
                    client.fresh.add(topic.name)
            self._go_on(client.view, None)

        self._ask(Ask(request)).then(learned)

    def _pause(self, step: Pause) -> None:
        limit = min(_FIRST_PAUSE * 2 ** min(step.attempt, 10), _LONGEST_PAUSE)
        seconds = limit * (0.5 + self._client.chance.fraction())
        if self._client.runtime.clock.monotonic() + seconds >= self._deadline:
            raise step.because
        self._client.fresh.clear()
        self._loop.call_later(seconds, lambda: self._go_on(None, None))
