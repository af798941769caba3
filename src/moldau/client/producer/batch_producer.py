"""A door into the producer for those who fill batches themselves: `open` one, fill it, `submit` it, watch its delivery.

Behind it is the sender that `KafkaProducer` has, on its own thread: several requests in flight per node, numbers by
which a broker recognizes what it has written before, another try when a leader has moved, batches split that a broker
finds too large. In front is no accumulator: whoever has records by the column (Spark's sink) need not take them apart.

One thread at a time uses it. Memory is bounded by what the limits allow for all that is under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from moldau.client.background import Background
from moldau.client.conversation import Conversation, Learn
from moldau.client.network import ClientNetwork
from moldau.client.producer.batch import Batch
from moldau.client.producer.delivery import Delivery, Lane
from moldau.client.producer.identity import ProducerIdentity
from moldau.client.producer.sender import Sender
from moldau.client.producer.settings import sending_limits
from moldau.client.producing import topic_to_write
from moldau.client.settings import bootstrap, open_network
from moldau.deferred import Deferred
from moldau.errors import MoldauError
from moldau.types import NO_LEADER

T = TypeVar("T")

# The thread, and the network that lives on it.
Connections: TypeAlias = tuple[Background, ClientNetwork]

# How long a wait may go without a look at whether it still makes sense.
_LOOK: Final = 0.2


class WritableTopic(NamedTuple):
    """The partitions of a topic, and those of them that had a leader when it was looked up."""

    name: str
    lanes: Sequence[Lane]
    led: Sequence[int]


class BatchProducer:
    """`identity` makes who the producer is to the brokers, once there is a network; `check` raises what makes waiting
    senseless, and is called while batches are waited for. `connections` are what a former one has released."""

    def __init__(
        self,
        config: dict[str, Any],
        name: str,
        identity: Callable[[ClientNetwork], ProducerIdentity],
        check: Callable[[], None] = lambda: None,
        connections: Connections | None = None,
    ) -> None:
        self.limits = sending_limits(config, {"batch_size": config["batch_size"]})
        self._block = config["max_block_ms"] / 1000
        self._check = check
        self._background, self._network = connections or open_network(config, name)
        self.identity = identity(self._network)
        self._sender = Sender(self._network, self.limits, self.identity, self._background.call)
        if connections is None:
            bootstrap(self._background, self._network, config["bootstrap_timeout_ms"] / 1000)
        self._under_way: deque[Delivery] = deque()
        self._last_created = 0.0

    def run(self, conversation: Conversation[T], timeout: float | None = None) -> T:
        """Has a conversation with the cluster over this producer's connections."""
        return self._background.run(self._network, conversation, self._block if timeout is None else timeout)

    def settle(self, ask: Callable[[Sender], Deferred[T]]) -> T:
        """Something to be done with the sender on the network's thread, waited for."""
        return self._background.get(lambda: ask(self._sender), self._block)

    def topic(self, name: str) -> WritableTopic:
        """Takes a topic up; KafkaError if there is none, and the brokers do not create it by themselves."""
        found = self.run(topic_to_write(name))
        self._background.call(lambda: self._sender.take_up(name))
        while not self._sender.accumulator.knows(name):
            self._background.get(lambda: self._network.learn(Learn([name])), self._block)
        lanes = [state.lane for state in self._sender.states() if state.lane.topic == name]
        led = [index for index, each in found.partitions.items() if each.leader != NO_LEADER and index < len(lanes)]
        return WritableTopic(name, lanes, led or range(len(lanes)))

    def open(self, lane: Lane) -> Batch:
        """A batch for a partition, nobody's but the caller's until it is submitted."""
        return Batch.open(lane, self.limits.batch_size, self._next_moment())

    def submit(self, batch: Batch) -> Delivery:
        """Hands a filled batch over; waits while too much is under way. Its errors are raised here or by `flush`."""
        self._wait_for_room(batch.memory)
        # Its time begins now, not when it was opened; each later than the one before, because that is how the sender
        # knows their order when it has to repeat some.
        batch.created = self._next_moment()
        self._under_way.append(batch.delivery)
        self._sender.submit(batch)
        return batch.delivery

    def flush(self) -> None:
        """Returns when every batch submitted is acknowledged; raises what the first one that failed ended in."""
        while self._under_way:
            while not self._under_way[0].wait_to_the_end(monotonic() + _LOOK):
                self._check()
            _raise(self._under_way.popleft())

    def release(self) -> Connections | None:
        """Ends it, but for its connections, which another producer of the same settings may have; None, and nothing is
        ended, if something is under way."""
        if self._under_way:
            return None
        self._background.call(self._sender.close)
        return self._background, self._network

    def close(self) -> None:
        def last() -> None:
            self._sender.close()
            self._network.close()

        self._background.close(last)

    def _next_moment(self) -> float:
        self._last_created = max(self._network.clock.monotonic(), self._last_created + 1e-6)
        return self._last_created

    def _wait_for_room(self, size: int) -> None:
        self._look_at_arrived()
        while not self._sender.wait_for_room(size, _LOOK):
            self._look_at_arrived()
            self._check()

    def _look_at_arrived(self) -> None:
        while self._under_way and self._under_way[0].wait_to_the_end(-inf):
            _raise(self._under_way.popleft())


def _raise(delivery: Delivery) -> None:
    if delivery.parts:
        for _, part in delivery.parts:
            _raise(part)
    elif delivery.error is not None:
        raise delivery.error if isinstance(delivery.error, MoldauError) else RuntimeError(str(delivery.error))
