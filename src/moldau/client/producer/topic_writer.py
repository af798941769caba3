"""Records to one topic, with an account of where they were written: what `moldau produce` writes with.

The producer's accumulator and sender over a cluster's own network: batches fill while others are under way, go again
when a leader has moved, and are split when a broker finds them too large; with a producer id none is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from moldau.client.cluster import Cluster
from moldau.client.conversation import Conversation, Learn
from moldau.client.producer.delivery import Delivery
from moldau.client.producer.identity import IdempotentIdentity, ProducerIdentity
from moldau.client.producer.sender import Sender, SendingLimits
from moldau.client.producing import ALL, topic_to_write
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import KafkaTimeoutError
from moldau.protocol.records import Compression
from moldau.types import NO_OFFSET

# What may be under way, unless a single record is larger than that; and what brokers take at most, as they are set up.
_MEMORY: Final = 32 * 1024 * 1024
_LARGEST_REQUEST: Final = 100 * 1024 * 1024
_IN_FLIGHT: Final = 5
# How long a full accumulator is waited for before the batches under way are looked at again.
_LOOK: Final = 0.1


@dataclass(slots=True)
class Written:
    """What was acknowledged for one partition. Offsets are -1 where the broker does not tell (acks 0)."""

    records: int = 0
    batches: int = 0
    first_offset: int = NO_OFFSET
    last_offset: int = NO_OFFSET


class TopicWriter:
    """`append` as often as needed, then `flush`; KafkaError as soon as a batch is known to be refused."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        *,
        acks: int = ALL,
        compression: Compression = Compression.NONE,
        level: int | None = None,
        batch_bytes: int = 256 * 1024,
        linger: float = 0.05,
    ) -> None:
        self.topic = topic
        self.written: dict[int, Written] = {}
        self._timeout = cluster.timeout
        self._unsettled: dict[Delivery, int] = {}
        self._partitions = len(cluster.run(topic_to_write(topic)).partitions)
        self._background, network = cluster.open()
        limits = SendingLimits(
            acks=acks,
            compression=compression,
            level=level,
            batch_size=batch_bytes,
            largest_batch=batch_bytes,
            max_request_size=_LARGEST_REQUEST,
            memory=_LARGEST_REQUEST,
            linger=linger,
            max_in_flight=_IN_FLIGHT,
            retries=float("inf"),
            request_timeout=cluster.timeout,
            delivery_timeout=cluster.timeout,
        )
        identity = IdempotentIdentity(network) if acks == ALL else ProducerIdentity()
        self._sender = Sender(network, limits, identity, self._background.call)
        self._sender.accumulator.memory = max(_MEMORY, batch_bytes * 4)
        self._on_loop(lambda: self._sender.take_up(topic))
        while not self._sender.accumulator.knows(topic):
            cluster.run(_learn(topic))

    @property
    def records(self) -> int:
        """Records acknowledged."""
        return sum(written.records for written in self.written.values())

    @property
    def sent_bytes(self) -> int:
        return self._sender.counters.of(self.topic).wire_bytes

    def append(
        self,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        *,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> None:
        """Takes a record on; waits while too much is under way."""
        if partition is not None and not 0 <= partition < self._partitions:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"Topic {self.topic!r} has no partition {partition}; it has {self._partitions}.",
            )
        record = (self.topic, value, key, headers, partition, timestamp)
        future: Any = self._sender.accumulator.append(*record)
        if future is None:
            future = self._append_when_possible(record)
        self._unsettled[future.delivery] = future.index + 1

    def settle(self) -> None:
        """Counts what has been acknowledged since; KafkaError if something was refused."""
        for delivery in [each for each in self._unsettled if each.done or each.parts]:
            if delivery.wait_to_the_end(monotonic()):
                self._count(delivery, self._unsettled.pop(delivery))

    def flush(self) -> None:
        """Returns when everything appended is acknowledged."""
        self._on_loop(self._sender.hurry)
        try:
            for delivery in list(self._unsettled):
                delivery.wait_to_the_end(None)
            self.settle()
        finally:
            self._sender.calm()

    def close(self) -> None:
        """Ends the sender; the cluster's connections stay."""
        self._on_loop(self._sender.close)

    def _append_when_possible(self, record: tuple[Any, ...]) -> Any:
        sender = self._sender
        _, value, key, headers, _, _ = record
        size = sum(len(part or b"") for part in (value, key, *(content for _, content in headers)))
        if size > sender.accumulator.max_record:
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"A record of {size} bytes is larger than a request may be.")
        sender.accumulator.memory = max(sender.accumulator.memory, size)
        deadline = monotonic() + self._timeout
        with sender.memory_freed:
            sender.waiting_for_memory += 1
            try:
                self._background.call(sender.pump)
                while True:
                    future = sender.accumulator.append(*record)
                    if future is not None:
                        return future
                    if monotonic() >= deadline:
                        raise KafkaTimeoutError("The brokers did not take the records in the time allowed.")
                    sender.memory_freed.wait(_LOOK)
                    self.settle()
            finally:
                sender.waiting_for_memory -= 1

    def _count(self, delivery: Delivery, records: int) -> None:
        if delivery.parts:
            ends = [*(first for first, _ in delivery.parts[1:]), records]
            for (first, part), end in zip(delivery.parts, ends, strict=True):
                self._count(part, end - first)
            return
        if delivery.error is not None:
            raise delivery.error
        written = self.written.setdefault(delivery.partition, Written())
        written.records += records
        written.batches += 1
        if delivery.base_offset != NO_OFFSET:
            written.last_offset = delivery.base_offset + records - 1
            if written.first_offset == NO_OFFSET:
                written.first_offset = delivery.base_offset

    def _on_loop(self, function: Callable[[], Any]) -> None:
        def ask() -> Deferred[None]:
            function()
            done: Deferred[None] = Deferred()
            done.resolve(None)
            return done

        self._background.get(ask, self._timeout)


def _learn(topic: str) -> Conversation[None]:
    yield Learn([topic], anew=True)
