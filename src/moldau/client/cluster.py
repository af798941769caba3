"""The blocking face of the client: connections to the nodes, what is known of the cluster, and `run` for conversations.

    with Cluster("127.0.0.1:9092") as cluster:
        cluster.run(create_topics([NewTopic("rivers", partitions=3)]))

Every conversation has one deadline, whatever it takes: connecting, asking, pausing between tries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic, sleep
from types import TracebackType
from typing import Any, TypeVar

from moldau.client.addresses import Address, parse_bootstrap
from moldau.client.backoff import Backoff
from moldau.client.chance import shuffle
from moldau.client.connection import Connection
from moldau.client.conversation import ANY_NODE, CONTROLLER, Ask, AskAll, Conversation, Learn, Pause, Step
from moldau.client.errors import ConnectionFailed, NoBrokerAnswers, RequestTimedOut, not_let_in
from moldau.client.exchange import Call
from moldau.client.metadata import ClusterView
from moldau.client.security import OPEN, Security
from moldau.client.versions import NodeVersions
from moldau.errors import ErrorCode, KafkaError, MoldauError, error_code
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

T = TypeVar("T")


class Cluster:
    def __init__(
        self,
        bootstrap: str | Sequence[Address],
        *,
        client_id: str = "moldau",
        timeout: float = 30.0,
        connect_timeout: float = 10.0,
        backoff: Backoff | None = None,
        security: Security = OPEN,
    ) -> None:
        self.bootstrap = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self.client_id = client_id
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.backoff = backoff or Backoff()
        self.security = security
        self.view = ClusterView()
        self._fresh: set[str] = set()
        self._knows_controller = False
        self._connections: dict[Address, Connection] = {}

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def run(self, conversation: Conversation[T], timeout: float | None = None) -> T:
        """Performs the steps of a conversation and returns what it comes to."""
        deadline = monotonic() + (self.timeout if timeout is None else timeout)
        try:
            step = next(conversation)
            while True:
                try:
                    result = self._perform(step, deadline)
                except MoldauError as error:
                    step = conversation.throw(error)
                else:
                    step = conversation.send(result)
        except StopIteration as end:
            value: T = end.value
            return value
        finally:
            conversation.close()

    def versions(self, node: int = ANY_NODE) -> NodeVersions:
        """What a node speaks."""
        return self.connection(node, monotonic() + self.timeout).versions(self.timeout)

    def doubt(self) -> None:
        """What failed may have failed because of what we believe about leaders and the controller: ask again.

        The view itself stays, because an answer older than it must not replace it.
        """
        self._fresh.clear()
        self._knows_controller = False

    def _perform(self, step: Step, deadline: float) -> Any:
        match step:
            case Ask():
                return self._ask(step, deadline)
            case AskAll():
                return self._ask_all(step.asks, deadline)
            case Learn():
                return self._learn(step, deadline)
            case Pause():
                return self._pause(step, deadline)

    # ----------------------------------------------------------------------------------------------- connections

    def connection(self, node: int, deadline: float) -> Connection:
        """An open connection to a node, to the controller, or to any node."""
        if node == CONTROLLER:
            node = self.view.controller_id if self.view.controller_id in self.view.brokers else ANY_NODE
        if node == ANY_NODE:
            return self._any(deadline)
        broker = self.view.brokers.get(node)
        if broker is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"There is no broker with id {node}.")
        return self._connect(broker.address, deadline)

    def _any(self, deadline: float) -> Connection:
        for connection in self._connections.values():
            if connection.usable:
                return connection
        known = [broker.address for broker in self.view.brokers.values()]
        shuffle(known)
        # The bootstrap addresses come last but always: all brokers known may have moved elsewhere since.
        candidates = list(dict.fromkeys([*known, *self.bootstrap]))
        failure: MoldauError | None = None
        for address in candidates:
            try:
                return self._connect(address, deadline)
            except MoldauError as error:
                # That a node does not let us in says more than that another one does not answer.
                failure = failure if not_let_in(failure) else error
        if isinstance(failure, KafkaError) and (known or not_let_in(failure)):
            # There was a cluster a moment ago, so it may come back: an error worth another try.
            raise failure
        raise NoBrokerAnswers([str(address) for address in self.bootstrap]) from failure

    def _connect(self, address: Address, deadline: float) -> Connection:
        connection = self._connections.get(address)
        if connection is not None and connection.usable:
            return connection
        remaining = deadline - monotonic()
        if remaining <= 0:
            raise RequestTimedOut(f"There was no time left to connect to {address}.")
        connection = Connection(
            address,
            client_id=self.client_id,
            connect_timeout=min(self.connect_timeout, remaining),
            security=self.security,
        )
        try:
            # Agreed on here, so that whatever is not a broker is found out while another one can still be chosen.
            connection.versions(min(self.connect_timeout, max(deadline - monotonic(), 0.001)))
        except BaseException:
            connection.close()
            raise
        self._connections[address] = connection
        return connection

    # ---------------------------------------------------------------------------------------------------- steps

    def _ask(self, ask: Ask, deadline: float) -> Any:
        if ask.to == CONTROLLER and not self._knows_controller:
            self._learn(Learn(anew=True), deadline)
        connection = self.connection(ask.to, deadline)
        call = connection.send(ask.request, at_most=ask.at_most, answered=ask.answered)
        return connection.wait(call, max(deadline - monotonic(), 0.0))

    def _ask_all(self, asks: Sequence[Ask], deadline: float) -> list[Any]:
        if any(ask.to == CONTROLLER for ask in asks) and not self._knows_controller:
            self._learn(Learn(anew=True), deadline)
        sent: list[tuple[Connection, Call] | KafkaError] = []
        for ask in asks:
            try:
                connection = self.connection(ask.to, deadline)
                sent.append((connection, connection.send(ask.request, at_most=ask.at_most, answered=ask.answered)))
            except KafkaError as error:
                sent.append(error)
        results: list[Any] = []
        for entry in sent:
            if isinstance(entry, KafkaError):
                results.append(entry)
                continue
            connection, call = entry
            try:
                results.append(connection.wait(call, max(deadline - monotonic(), 0.0)))
            except KafkaError as error:
                results.append(error)
        return results

    def _learn(self, step: Learn, deadline: float) -> ClusterView:
        missing = step.topics is None or not self.view.brokers or any(not self._knows(name) for name in step.topics)
        if step.anew or missing:
            names = None if step.topics is None else list(step.topics)
            request = MetadataRequest(
                topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
                allow_auto_topic_creation=step.create,
            )
            response: MetadataResponse = self._ask(Ask(request), deadline)
            code = error_code(response.error_code)
            if code is ErrorCode.REBOOTSTRAP_REQUIRED:
                self._rebootstrap()
                raise ConnectionFailed("The broker wants its clients to begin again from their bootstrap servers.")
            if code is not ErrorCode.NONE:
                raise KafkaError(code)
            self.view = self.view.after(response, names)
            self._knows_controller = True
            self._fresh.update(self.view.topics if names is None else names)
        return self.view

    def _rebootstrap(self) -> None:
        self.close()
        self.view = replace(self.view, brokers={})
        self.doubt()

    def _knows(self, name: str) -> bool:
        topic = self.view.topics.get(name)
        return name in self._fresh and topic is not None and topic.error is ErrorCode.NONE

    def _pause(self, step: Pause, deadline: float) -> None:
        delay = self.backoff.delay(step.attempt)
        if monotonic() + delay >= deadline:
            raise step.because
        sleep(delay)
        if step.because.code in STALE or isinstance(step.because, ConnectionFailed):
            self.doubt()


# Errors that say the view is out of date.
STALE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
