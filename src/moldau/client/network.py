"""The client on a loop: links to the nodes, the view of the cluster, and whoever wants to be told when it changes.

Nothing waits here: every question is a `Deferred`, and `perform` drives a conversation from step to step. Runs on the
loop's thread only and knows time, chance and sockets through the ports alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from moldau.client.backoff import Backoff
from moldau.client.chance import random, shuffle
from moldau.client.conversation import ANY_NODE, CONTROLLER, Ask, Conversation, Learn
from moldau.client.driver import ConversationDriver, into
from moldau.client.errors import NoBrokerAnswers
from moldau.client.metadata import ClusterView
from moldau.client.security import OPEN, Security
from moldau.deferred import Deferred, failed, ready
from moldau.errors import ErrorCode, KafkaError, MoldauError, error_code
from moldau.links.addresses import Address
from moldau.links.errors import ConnectionFailed, NoLogin, not_let_in
from moldau.links.link import Link
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.runtime.ports import Clock, Loop, Network, TimerHandle

T = TypeVar("T")

_TICK: Final = 0.5
# As long as a healthy node far away may take to answer at all.
_NEXT_CANDIDATE: Final = 0.5

MAIN_CHANNEL: Final = ""


class ClientNetwork:
    def __init__(
        self,
        bootstrap: Sequence[Address],
        loop: Loop,
        network: Network,
        clock: Clock,
        *,
        client_id: str,
        request_timeout: float = 30.0,
        connect_timeout: float = 10.0,
        backoff: Backoff | None = None,
        reconnect: Backoff | None = None,
        metadata_max_age: float = 300.0,
        idle_limit: float = 540.0,
        security: Security = OPEN,
        rebootstraps: bool = True,
        rebootstrap_trigger: float = 300.0,
        shuffled: Callable[[list[Address]], None] = shuffle,
    ) -> None:
        self.bootstrap = list(bootstrap)
        self.loop = loop
        self.clock = clock
        self.client_id = client_id
        self.request_timeout = request_timeout
        self.backoff = backoff or Backoff()
        self.view = ClusterView()
        self.topics_of_interest: set[str] = set()
        self.interested_in_all = False
        # Whether a broker may create what is of interest and not there.
        self.creates_topics = False
        self._network = network
        self._connect_timeout = connect_timeout
        self._reconnect = reconnect or Backoff(first=0.05, limit=1.0)
        self._metadata_max_age = metadata_max_age
        self._idle_limit = idle_limit
        self._security = security
        self._rebootstraps = rebootstraps
        self._rebootstrap_trigger = rebootstrap_trigger
        self._shuffle = shuffled
        self._unheard_since: float | None = None
        self._links: dict[tuple[Address, str], Link] = {}
        self._failures: dict[Address, tuple[int, float]] = {}
        self._fresh: set[str] = set()
        self._knows_controller = False
        self._watchers: list[Callable[[ClusterView], None]] = []
        self._learned = clock.monotonic()
        self._refreshing = False
        self._closed = False
        self._tick_timer: TimerHandle = loop.call_later(_TICK, self._tick)

    def close(self) -> None:
        self._closed = True
        self._tick_timer.cancel()
        for link in tuple(self._links.values()):
            link.close()

    @property
    def connected(self) -> bool:
        return any(link.versions is not None for link in self._links.values())

    @property
    def connections(self) -> int:
        return len(self._links)

    @property
    def heard_at(self) -> float:
        """When a node last said something, whatever it was."""
        return max((link.heard_at for link in tuple(self._links.values())), default=0.0)

    @property
    def metadata_age(self) -> float:
        """Seconds since a broker last told of the cluster."""
        return self.clock.monotonic() - self._learned

    # ------------------------------------------------------------------------------------------------- connections

    def link(self, node: int, channel: str = MAIN_CHANNEL) -> Link:
        """The link to a node of the view, made now if there is none; it may still be connecting.

        Answers come in order. Who asks what a broker may answer late (a fetch) does so on a channel of its own, and
        holds up nobody else.
        """
        broker = self.view.brokers.get(node)
        if broker is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"There is no broker with id {node}.")
        return self._link(broker.address, channel)

    def blocked_for(self, node: int, channel: str = MAIN_CHANNEL) -> float:
        """Seconds until a node that could not be reached may be tried again."""
        broker = self.view.brokers.get(node)
        if broker is None or (broker.address, channel) in self._links:
            return 0.0
        return max(0.0, self._failures.get(broker.address, (0, 0.0))[1] - self.clock.monotonic())

    def _link(self, address: Address, channel: str = MAIN_CHANNEL) -> Link:
        link = self._links.get((address, channel))
        if link is None:
            if self._closed:
                raise ConnectionFailed("The client is closed.")
            link = self._links[address, channel] = Link(
                address,
                self._network,
                self.clock,
                client_id=self.client_id,
                connect_timeout=self._connect_timeout,
                lost=lambda link, error: self._lost(link, channel),
                chance=random,
                security=self._security,
            )
            link.ready.then(self._stands)
        return link

    def _stands(self, link: Link | None, _error: BaseException | None) -> None:
        if link is not None:
            self._failures.pop(link.address, None)

    def _lost(self, link: Link, channel: str) -> None:
        if self._links.get((link.address, channel)) is link:
            del self._links[link.address, channel]
        count = self._failures.get(link.address, (0, 0.0))[0]
        self._failures[link.address] = (count + 1, self.clock.monotonic() + self._reconnect.delay(count))
        if not self._closed:
            self.doubt()

    def reach(self, node: int) -> Deferred[Link]:
        """A link that stands: to this node, to the controller, or to any node."""
        if node == CONTROLLER:
            node = self.view.controller_id if self.view.controller_id in self.view.brokers else ANY_NODE
        return self._any() if node == ANY_NODE else self.link(node).ready

    def _any(self) -> Deferred[Link]:
        """A link that stands, to whichever node answers first in order of preference.

        A node that is halted takes connections and says nothing: nobody waits for it alone.
        """
        now = self.clock.monotonic()
        halted: list[Address] = []
        for (address, channel), link in self._links.items():
            if link.versions is None or channel != MAIN_CHANNEL:
                continue
            if link.silent_for(now) < _NEXT_CANDIDATE:
                return ready(link)
            halted.append(address)
        known = [broker.address for broker in self.view.brokers.values()]
        self._shuffle(known)
        # The bootstrap addresses come last: all brokers known may have moved elsewhere since.
        last_resort = self.bootstrap if self._rebootstraps or not known else ()
        candidates = list(dict.fromkeys([*known, *last_resort]))
        candidates.sort(key=lambda address: address in halted)
        if self._closed or not candidates:
            return failed(ConnectionFailed("The client is closed."))
        found: Deferred[Link] = Deferred()
        refusal: BaseException | None = None
        underway = 0
        patience: TimerHandle | None = None

        def attempt() -> None:
            """The next candidate; the one after it as soon as this one fails, or says nothing for a moment."""
            nonlocal underway, patience
            if found.settled or not candidates or self._closed:
                return
            underway += 1
            if len(candidates) > 1:
                patience = self.loop.call_later(_NEXT_CANDIDATE, attempt)
            self._link(candidates.pop(0)).ready.then(answered)

        def answered(link: Link | None, error: BaseException | None) -> None:
            nonlocal refusal, underway
            underway -= 1
            refusal = error if not_let_in(error) or isinstance(error, NoLogin) else refusal
            if found.settled:
                return
            if link is None and candidates and not self._closed:
                if patience is not None:
                    patience.cancel()
                attempt()
            elif link is not None:
                found.resolve(link)
            elif underway:
                # Somebody else may yet answer.
                return
            elif refusal is not None:
                # That a node does not let us in says more than that another one does not answer.
                found.fail(refusal)
            elif known and isinstance(error, KafkaError):
                # There was a cluster a moment ago, so it may come back: an error worth another try.
                found.fail(error)
            else:
                reason = error.reason if isinstance(error, ConnectionFailed) else None
                found.fail(NoBrokerAnswers([str(address) for address in self.bootstrap], reason))

        attempt()
        return found

    # ------------------------------------------------------------------------------------------------------ steps

    def ask(self, ask: Ask, timeout: float) -> Deferred[Any]:
        """One request; the answer or the KafkaError it ended in."""
        answer: Deferred[Any] = Deferred()
        if ask.to == CONTROLLER and not self._knows_controller:
            self.learn(Learn(anew=True), timeout).then(
                lambda _view, error: answer.fail(error) if error else self.ask(ask, timeout).then(into(answer))
            )
            return answer

        def send(link: Link | None, error: BaseException | None) -> None:
            if link is None:
                answer.fail(error or ConnectionFailed("There is no connection."))
                return
            limit = max(timeout, 0.001)
            link.ask(ask.request, limit, at_most=ask.at_most, answered=ask.answered).then(into(answer))

        node = ask.to
        if node == CONTROLLER:
            node = self.view.controller_id if self.view.controller_id in self.view.brokers else ANY_NODE
        try:
            if node == ANY_NODE:
                self._any().then(send)
            else:
                send(self.link(node, ask.channel), None)
        except MoldauError as error:
            answer.fail(error)
        return answer

    def learn(self, step: Learn, timeout: float | None = None) -> Deferred[ClusterView]:
        answer: Deferred[ClusterView] = Deferred()
        missing = step.topics is None or not self.view.brokers or any(not self._knows(name) for name in step.topics)
        if not (step.anew or missing):
            answer.resolve(self.view)
            return answer
        names = None if step.topics is None else list(step.topics)
        request = MetadataRequest(
            topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=step.create,
        )

        def work_in(response: MetadataResponse | None, error: BaseException | None) -> None:
            if response is None:
                answer.fail(error or ConnectionFailed("There is no connection."))
                return
            code = error_code(response.error_code)
            if code is not ErrorCode.NONE:
                if code is ErrorCode.REBOOTSTRAP_REQUIRED and self._rebootstraps:
                    self.rebootstrap()
                    error = ConnectionFailed(
                        "The broker wants its clients to begin again from their bootstrap servers."
                    )
                answer.fail(error or KafkaError(code))
                return
            self._unheard_since = None
            self.view = self.view.after(response, names)
            self._knows_controller = True
            self._learned = self.clock.monotonic()
            self._fresh.update(self.view.topics if names is None else names)
            for watcher in tuple(self._watchers):
                watcher(self.view)
            answer.resolve(self.view)

        if self._unheard_since is None:
            self._unheard_since = self.clock.monotonic()
        self.ask(Ask(request), self.request_timeout if timeout is None else timeout).then(work_in)
        return answer

    def rebootstrap(self) -> None:
        """Forgets the nodes and begins again with the addresses the client was given, looked up anew."""
        self.view = replace(self.view, brokers={})
        self._unheard_since = None
        self._failures.clear()
        for link in tuple(self._links.values()):
            link.give_up(ConnectionFailed(f"{link.address} was left for the bootstrap servers."))
        self.doubt()
        self.refresh()

    def perform(self, conversation: Conversation[T], timeout: float) -> Deferred[T]:
        """Has a conversation; all its steps together may take `timeout` seconds."""
        driver = ConversationDriver(self, conversation, timeout)
        driver.go_on(None, None)
        return driver.result

    def watch(self, watcher: Callable[[ClusterView], None]) -> None:
        """`watcher(view)` after each answer about the cluster."""
        self._watchers.append(watcher)

    def unwatch(self, watcher: Callable[[ClusterView], None]) -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def knows(self, names: Iterable[str]) -> bool:
        return all(self._knows(name) for name in names)

    def doubt(self) -> None:
        """What failed may have failed because of what we believe about leaders and the controller: ask again."""
        self._fresh.clear()
        self._knows_controller = False

    def refresh(self) -> None:
        """Asks again about all topics of interest, unless that is being done; failures are tried again later."""
        if self._refreshing or self._closed:
            return
        self._refreshing = True
        topics = None if self.interested_in_all else sorted(self.topics_of_interest)

        def done(_view: ClusterView | None, error: BaseException | None) -> None:
            if error is None or self._closed:
                self._refreshing = False
            else:
                self.loop.call_later(self.backoff.delay(0), again)

        def again() -> None:
            self._refreshing = False
            self.refresh()

        create = self.creates_topics and topics is not None
        self.learn(Learn(topics, anew=True, create=create)).then(done)

    def _knows(self, name: str) -> bool:
        topic = self.view.topics.get(name)
        return name in self._fresh and topic is not None and topic.error is ErrorCode.NONE

    def _tick(self) -> None:
        now = self.clock.monotonic()
        for link in tuple(self._links.values()):
            link.check_time(now)
            idle = link.idle_since
            if idle is not None and now - idle > self._idle_limit:
                link.close()
        if self.view.brokers and self._unheard_since is not None:
            # Somebody asked and got no answer. Asking goes on until there is one, or until it has taken too long.
            if self._rebootstraps and now - self._unheard_since >= self._rebootstrap_trigger:
                self.rebootstrap()
            elif now - self._unheard_since >= _TICK:
                self.refresh()
        if self.view.brokers and now - self._learned > self._metadata_max_age:
            self._learned = now
            self.refresh()
        if not self._closed:
            self._tick_timer = self.loop.call_later(_TICK, self._tick)
