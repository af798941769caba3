"""Rows to partitions: batches filled from Arrow columns, handed to the producer's sender, watched until they arrive.

The sender of `moldau.client` does the rest on its own thread: several requests in flight per node, numbers by which a
broker recognizes what it has written before, another try when a leader has moved, batches split that a broker finds too
large. What is different here is where batches come from: they are filled a column at a time, without the accumulator
that takes records one by one, and stay open from one Arrow batch to the next, so that many partitions do not make small
batches. Memory is bounded by `buffer.memory` for what is under way, and by the same again for what is still open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic, time
from typing import Any, Final

from moldau._speed.reference.packing import NoSuchPartition
from moldau.client.chance import randrange
from moldau.client.conversation import Conversation, Learn
from moldau.client.exceptions import named
from moldau.client.network import ClientNetwork
from moldau.client.producer.batch import Batch
from moldau.client.producer.delivery import Delivery, Lane
from moldau.client.producer.identity import IdempotentKeeper, IdentityKeeper
from moldau.client.producer.sender import Sender
from moldau.client.producer.settings import sending_limits
from moldau.client.producing import topic_to_write
from moldau.client.settings import bootstrap, open_network
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.spark.options import OptionError
from moldau.spark.sink.columns import packers
from moldau.spark.sink.content import Content, seed_of
from moldau.spark.sink.options import SinkOptions

# How long a wait may go without a look at whether it still makes sense.
_LOOK: Final = 0.2


class _Topic:
    """The partitions of one topic: their lanes, the batches being filled, and where rows without a key go."""

    def __init__(self, name: str, lanes: Sequence[Lane], led: Sequence[int]) -> None:
        self.name = name
        self.lanes = lanes
        self.open: dict[int, Batch] = {}
        self.sticky = list(led)
        self.turn = randrange(len(self.sticky))
        self.room = 0


class RowDelivery:
    """`write` Arrow batches, then `flush`. KafkaError or OptionError as soon as something cannot be written."""

    def __init__(self, options: SinkOptions, keeper: Callable[[ClientNetwork], IdentityKeeper] | None = None) -> None:
        config = {**options.producer, **options.security.client()}
        self._options = options
        self._limits = sending_limits(config, {"batch_size": config["batch_size"]})
        self._block = config["max_block_ms"] / 1000
        self._background, self._network = open_network(config, "spark-sink")
        numbered = config["enable_idempotence"]
        self.keeper = keeper(self._network) if keeper else self._plain_keeper(numbered)
        self._sender = Sender(self._network, self._limits, self.keeper, self._background.call)
        bootstrap(self._background, self._network, config["bootstrap_timeout_ms"] / 1000)
        self._topics: dict[str, _Topic] = {}
        self._open_bytes = 0
        self._under_way: deque[Delivery] = deque()
        self._last_created = 0.0
        self.rows = 0
        # Kept of an exactly-once write only, which has to know later what was written.
        self.content = Content()

    def _plain_keeper(self, numbered: bool) -> IdentityKeeper:
        return IdempotentKeeper(self._network) if numbered else IdentityKeeper()

    def run(self, conversation: Conversation[Any], timeout: float | None = None) -> Any:
        """Has a conversation with the cluster over this delivery's connections."""
        return self._background.run(self._network, conversation, self._block if timeout is None else timeout)

    # ----------------------------------------------------------------------------------------------------- writing

    def write(self, batch: Any) -> None:
        moment = round(time() * 1000)
        limits = self._limits
        for name, packer in packers(batch, self._options.topic, self._options.keep_timestamps):
            topic = self._topics.get(name) or self._take_up(name)
            if self._options.exactly_once:
                self.content = self.content.plus(Content(*packer.digest(seed_of(name))))
            try:
                topic.turn, topic.room = packer.assign(
                    len(topic.lanes),
                    topic.sticky,
                    topic.turn,
                    topic.room,
                    limits.batch_size,
                    not self._options.ignore_keys,
                )
            except NoSuchPartition as error:
                raise OptionError(
                    f"A row names partition {error.partition} of topic {name!r}, which has {error.count}, "
                    "counted from 0."
                ) from None
            for index, lane in enumerate(topic.lanes):
                while packer.left(index):
                    filling = topic.open.get(index)
                    if filling is None:
                        filling = topic.open[index] = self._new_batch(lane)
                    before = filling.memory
                    self.rows += packer.fill(index, filling, moment)
                    self._open_bytes += filling.memory - before
                    if packer.left(index):
                        self._send(topic, index)
        if self._open_bytes > limits.memory:
            self._send_open()

    def flush(self) -> None:
        """Returns when every row is acknowledged."""
        self._send_open()
        while self._under_way:
            delivery = self._under_way[0]
            while not delivery.wait_to_the_end(monotonic() + _LOOK):
                self._check_keeper()
            self._under_way.popleft()
            _raise(delivery)

    def close(self) -> None:
        def last() -> None:
            self._sender.close()
            self._network.close()

        self._background.close(last)

    def settle(self, ask: Callable[[Sender], Any]) -> Any:
        """Something to be done on the network's thread, waited for."""
        return self._background.get(lambda: ask(self._sender), self._block)

    # ------------------------------------------------------------------------------------------------------ inside

    def _take_up(self, name: str) -> _Topic:
        try:
            view = self.run(topic_to_write(name))
            self._background.call(lambda: self._sender.take_up(name))
            while not self._sender.accumulator.knows(name):
                self._background.get(lambda: self._network.learn(Learn([name])), self._block)
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise OptionError(
                    f"There is no topic {name!r}, and the brokers do not create it by themselves."
                ) from None
            raise named(error) from None
        lanes = [state.lane for state in self._sender.states() if state.lane.topic == name]
        led = [index for index, entry in view.partitions.items() if entry.leader >= 0 and index < len(lanes)]
        topic = self._topics[name] = _Topic(name, lanes, led or range(len(lanes)))
        return topic

    def _new_batch(self, lane: Lane) -> Batch:
        # Each later than the one before, because that is how the sender knows their order when it has to repeat some.
        return Batch.open(lane, self._limits.batch_size, self._next_moment())

    def _next_moment(self) -> float:
        self._last_created = max(self._network.clock.monotonic(), self._last_created + 1e-6)
        return self._last_created

    def _send_open(self) -> None:
        for topic in self._topics.values():
            for index in tuple(topic.open):
                self._send(topic, index)

    def _send(self, topic: _Topic, index: int) -> None:
        batch = topic.open.pop(index)
        size = batch.memory
        self._open_bytes -= size
        if batch.size > self._limits.max_request_size:
            raise OptionError(
                f"A row makes a record of {size} bytes; kafka.max.request.size allows {self._limits.max_request_size}."
            )
        self._wait_for_room(size)
        # Given back by the sender when the batch is acknowledged or given up.
        self._sender.accumulator.release(-size)
        # Its time begins now, not when its first row came.
        batch.created = self._next_moment()
        self._under_way.append(batch.delivery)
        batch.lane.waiting.append(batch)
        self._sender.accumulator.keep_active(batch.lane)
        self._background.call(self._sender.pump)

    def _wait_for_room(self, size: int) -> None:
        sender, accumulator = self._sender, self._sender.accumulator
        self._look_at_arrived()
        if not accumulator.used or accumulator.used + size <= self._limits.memory:
            return
        with sender.memory_freed:
            sender.waiting_for_memory += 1
            try:
                while accumulator.used and accumulator.used + size > self._limits.memory:
                    sender.memory_freed.wait(_LOOK)
                    self._look_at_arrived()
                    self._check_keeper()
            finally:
                sender.waiting_for_memory -= 1

    def _look_at_arrived(self) -> None:
        while self._under_way and (self._under_way[0].done or self._under_way[0].parts):
            if not self._under_way[0].wait_to_the_end(monotonic()):
                return
            _raise(self._under_way.popleft())

    def _check_keeper(self) -> None:
        """A transaction that cannot go on says so itself; its batches would wait for their time to be over."""
        check = getattr(self.keeper, "check_sending", None)
        if check is not None:
            check()


def _raise(delivery: Delivery) -> None:
    if delivery.parts:
        for _, part in delivery.parts:
            _raise(part)
    elif delivery.error is not None:
        raise delivery.error if isinstance(delivery.error, MoldauError) else RuntimeError(str(delivery.error))
