"""Rows to partitions: batches filled from Arrow columns, submitted to a producer, watched until they arrive.

Batches are filled a column at a time, and stay open from one Arrow batch to the next, so that many partitions do not
make small batches. Memory is bounded by `buffer.memory` for what is under way, and by the same again for what is still
open.

A process of Spark runs many tasks, most of them small, so it keeps its connections from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time
from typing import Any

from moldau._speed.reference.packing import NoSuchPartition
from moldau.client.chance import randrange
from moldau.client.conversation import Conversation
from moldau.client.exceptions import named
from moldau.client.network import ClientNetwork
from moldau.client.producer.batch import Batch
from moldau.client.producer.batch_producer import BatchProducer, Connections, WritableTopic
from moldau.client.producer.identity import IdempotentIdentity, ProducerIdentity
from moldau.client.producer.sender import Sender
from moldau.errors import ErrorCode, KafkaError
from moldau.spark.connection import keep_imports
from moldau.spark.options import OptionError
from moldau.spark.sink.columns import packers
from moldau.spark.sink.content import Content, seed_of
from moldau.spark.sink.options import SinkOptions

# By settings, and never in use: a delivery takes its connections out, and puts them back when it ends well.
_kept: dict[str, Connections] = {}


class _Topic:
    """The partitions of one topic: their lanes, the batches being filled, and where rows without a key go."""

    def __init__(self, found: WritableTopic) -> None:
        self.name = found.name
        self.lanes = found.lanes
        self.open: dict[int, Batch] = {}
        self.sticky = list(found.led)
        self.turn = randrange(len(self.sticky))
        self.room = 0


class RowDelivery:
    """`write` Arrow batches, then `flush`. KafkaError or OptionError as soon as something cannot be written."""

    def __init__(
        self, options: SinkOptions, identity: Callable[[ClientNetwork], ProducerIdentity] | None = None
    ) -> None:
        config = {**options.producer, **options.security.client()}
        plain = IdempotentIdentity if config["enable_idempotence"] else _anonymous
        self._options = options
        secured = options.security
        self._key = repr(
            [sorted(part.items()) for part in (options.producer, secured.settings, secured.texts)]
            + [secured.oldest, secured.newest]
        )
        kept = _kept.pop(self._key, None)
        self._producer = BatchProducer(config, "spark-sink", identity or plain, self._check_identity, kept)
        self.identity = self._producer.identity
        self._topics: dict[str, _Topic] = {}
        self._open_bytes = 0
        self.rows = 0
        # Kept of an exactly-once write only, which has to know later what was written.
        self.content = Content()

    def run(self, conversation: Conversation[Any], timeout: float | None = None) -> Any:
        """Has a conversation with the cluster over this delivery's connections."""
        return self._producer.run(conversation, timeout)

    # ----------------------------------------------------------------------------------------------------- writing

    def write(self, batch: Any) -> None:
        moment = round(time() * 1000)
        limits = self._producer.limits
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
                        filling = topic.open[index] = self._producer.open(lane)
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
        self._producer.flush()

    def close(self, *, keep: bool = False) -> None:
        """Ends it; the connections stay for the next one of this process if `keep` says that all went well."""
        released = self._producer.release() if keep and self._key not in _kept else None
        if released is None:
            self._producer.close()
        else:
            _kept[self._key] = released
            keep_imports()

    def settle(self, ask: Callable[[Sender], Any]) -> Any:
        """Something to be done on the network's thread, waited for."""
        return self._producer.settle(ask)

    # ------------------------------------------------------------------------------------------------------ inside

    def _take_up(self, name: str) -> _Topic:
        try:
            topic = self._topics[name] = _Topic(self._producer.topic(name))
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise OptionError(
                    f"There is no topic {name!r}, and the brokers do not create it by themselves."
                ) from None
            raise named(error) from None
        return topic

    def _send_open(self) -> None:
        for topic in self._topics.values():
            for index in tuple(topic.open):
                self._send(topic, index)

    def _send(self, topic: _Topic, index: int) -> None:
        batch = topic.open.pop(index)
        size = batch.memory
        self._open_bytes -= size
        most = self._producer.limits.max_request_size
        if batch.size > most:
            raise OptionError(f"A row makes a record of {size} bytes; kafka.max.request.size allows {most}.")
        self._producer.submit(batch)

    def _check_identity(self) -> None:
        """A transaction that cannot go on says so itself; its batches would wait for their time to be over."""
        check = getattr(self.identity, "check_sending", None)
        if check is not None:
            check()


def _anonymous(_network: ClientNetwork) -> ProducerIdentity:
    return ProducerIdentity()
