"""`KafkaProducer`: kafka-python's class, on our core.

`send` is one call into the accumulator for nearly every record. Whatever that leaves open (a topic not seen before, no
memory, custom partitioners and serializer objects) is done by `_send_slowly`, which may wait up to `max_block_ms`.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, ClassVar

from moldau.client.background import Background
from moldau.client.conversation import Conversation, Learn
from moldau.client.exceptions import named
from moldau.client.metadata import check_topic
from moldau.client.network import ClientNetwork
from moldau.client.partitioner import ClusterMetadata
from moldau.client.producer.delivery import FutureRecordMetadata, refused
from moldau.client.producer.identity import IdempotentIdentity, ProducerIdentity
from moldau.client.producer.interceptors import Record, failed, failed_to, pass_through
from moldau.client.producer.sender import Sender
from moldau.client.producer.settings import DEFAULTS, read_settings, sending_limits
from moldau.client.producer.transactions import TransactionManager
from moldau.client.producing import topic_to_write
from moldau.client.serializer import Serializer
from moldau.client.settings import COMMON, bootstrap, open_network
from moldau.client.structs import ConsumerGroupMetadata, OffsetAndMetadata
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.errors.named import IllegalStateError, KafkaTimeoutError, for_code
from moldau.links.errors import ConnectionFailed, RequestTimedOut
from moldau.types import TopicPartition

_FOREVER = 1e9
_GRACE = 5.0


class KafkaProducer:
    """Thread-safe; one is enough for an application. See `producer/settings` for what it can be told."""

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = {**COMMON, **DEFAULTS}

    def __init__(self, **configs: Any) -> None:
        self._closed = True
        self.config = read_settings(configs)
        self._serializers: list[Any] = [self.config["key_serializer"], self.config["value_serializer"]]
        self._interceptors: Sequence[Any] = tuple(self.config["interceptors"])
        self._background: Background
        self._network: ClientNetwork
        self._background, self._network = open_network(self.config, "producer")
        self._identity = self._make_identity()
        self._sender = Sender(
            self._network, sending_limits(self.config, configs), self._identity, self._background.loop.call_from_thread
        )
        self._accumulator = self._sender.accumulator
        self._background.in_child(_disowned(self._sender))
        self._fast: Callable[..., Any] = self._choose_path()
        bootstrap(self._background, self._network, self.config["bootstrap_timeout_ms"] / 1000)
        self._closed = False
        self._at_exit = _closer(weakref.ref(self))
        atexit.register(self._at_exit)

    def _make_identity(self) -> ProducerIdentity:
        if self.config["transactional_id"] is not None:
            return TransactionManager(
                self._network, self.config["transactional_id"], self.config["transaction_timeout_ms"]
            )
        return IdempotentIdentity(self._network) if self.config["enable_idempotence"] else ProducerIdentity()

    def _choose_path(self) -> Callable[..., Any]:
        """Straight into the accumulator, unless something has to be asked per record that it does not know."""
        objects = any(isinstance(each, Serializer) or hasattr(each, "serialize") for each in self._serializers)
        if self.config["partitioner"] is not None or objects or self._interceptors:
            return lambda *_: None
        self._accumulator.key_serializer, self._accumulator.value_serializer = self._serializers
        send, identity = self._accumulator.send, self._identity
        if isinstance(identity, TransactionManager):
            return lambda *record: send(*record) if identity.open else None
        return send

    # ---------------------------------------------------------------------------------------------------- sending

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: list[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata:
        """Takes a record on and returns at once, unless memory or the topic has to be waited for.

        KafkaTimeoutError when that takes longer than `max_block_ms`. Errors of the brokers are found in the future.
        """
        future = self._fast(topic, value, key, headers, partition, timestamp_ms)
        if future is None:
            return self._send_slowly(topic, value, key, headers, partition, timestamp_ms)
        return future  # type: ignore[no-any-return]

    def _send_slowly(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: list[tuple[str, bytes]] | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> FutureRecordMetadata:
        self._check_usable(topic, value, key)
        record: Record = (topic, value, key, headers, partition, timestamp_ms)
        if not self._interceptors:
            return self._take(*record)
        record = pass_through(self._interceptors, record)
        try:
            future = self._take(*record)
        except Exception as error:
            failed(self._interceptors, error)
            raise
        for interceptor in self._interceptors:
            future.add_callback(interceptor.on_acknowledgement, exception=None)
            future.add_errback(failed_to(interceptor))
        return future

    def _take(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: list[tuple[str, bytes]] | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> FutureRecordMetadata:
        if headers is not None and not _are_pairs(headers):
            raise TypeError(f"headers are a list of pairs (str, bytes), not {headers!r}")
        deadline = monotonic() + self.config["max_block_ms"] / 1000
        try:
            partitions = self._wait_for_topic(topic, deadline)
        except KafkaTimeoutError:
            raise
        except KafkaError as error:
            return refused(topic, partition, error)
        key_bytes = self._serialize(0, topic, headers, key)
        value_bytes = self._serialize(1, topic, headers, value)
        if partition is None and self.config["partitioner"] is not None:
            partition = self._ask_partitioner(topic, key, key_bytes, value, value_bytes)
        elif partition is not None and not 0 <= partition < partitions:
            raise ValueError(f"Topic {topic!r} has no partition {partition}; it has {partitions}.")
        self._check_size(key_bytes, value_bytes, headers)
        return self._wait_for_memory((topic, value_bytes, key_bytes, headers, partition, timestamp_ms), deadline)

    def _check_usable(self, topic: str, value: Any, key: Any) -> None:
        self._check_open()
        check_topic(topic)
        if value is None and key is None:
            raise ValueError("a record needs a key or a value")
        self._check_transaction()

    def _check_open(self) -> None:
        self._background.check_process()
        if self._closed:
            raise IllegalStateError("The producer is closed.")

    def _check_transaction(self) -> None:
        if isinstance(self._identity, TransactionManager):
            self._identity.check_sending()

    def _serialize(self, which: int, topic: str, headers: Any, data: Any) -> Any:
        serializer = self._serializers[which]
        if serializer is None:
            return data
        if hasattr(serializer, "serialize"):
            return serializer.serialize(topic, headers or [], data)
        return serializer(data)

    def _ask_partitioner(self, topic: str, key: Any, key_bytes: Any, value: Any, value_bytes: Any) -> int:
        partitioner = self.config["partitioner"]
        cluster = ClusterMetadata(self._network.view)
        if hasattr(partitioner, "partition"):
            chosen = partitioner.partition(topic, key, key_bytes, value, value_bytes, cluster)
        else:
            everything = sorted(cluster.partitions_for_topic(topic) or ())
            chosen = partitioner(key_bytes, everything, sorted(cluster.available_partitions_for_topic(topic) or ()))
        known = cluster.partitions_for_topic(topic) or set()
        if not hasattr(chosen, "__index__") or chosen not in known:
            raise ValueError(f"The partitioner chose {chosen!r}; topic {topic!r} has partitions {sorted(known)}.")
        return int(chosen)

    def _check_size(self, key: Any, value: Any, headers: Any) -> None:
        size = sum(len(part) for part in (key, value) if part is not None) + 101
        size += sum(len(name.encode()) + len(content or b"") for name, content in headers or ())
        largest = min(self.config["max_request_size"], self.config["buffer_memory"])
        if size > largest:
            raise for_code(ErrorCode.MESSAGE_TOO_LARGE)(
                f"The record takes about {size} bytes; max_request_size and buffer_memory allow {largest}."
            )

    def _wait_for_memory(self, record: tuple[Any, ...], deadline: float) -> FutureRecordMetadata:
        sender = self._sender
        future = self._accumulator.append(*record)
        if future is not None:
            return future  # type: ignore[return-value]
        sender.waiting_for_memory += 1
        try:
            self._background.call(sender.pump)
            while True:
                with sender.memory_freed:
                    if self._closed:
                        raise IllegalStateError("The producer was closed.")
                    future = self._accumulator.append(*record)
                    if future is not None:
                        return future  # type: ignore[return-value]
                    freed = sender.memory_freed.ticket()
                if not freed.wait(deadline - monotonic()):
                    raise KafkaTimeoutError("There was no memory for the record within max_block_ms.")
        finally:
            sender.waiting_for_memory -= 1

    # ----------------------------------------------------------------------------------------------------- topics

    def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic; waits up to `max_block_ms` to learn of it."""
        check_topic(topic)
        return set(range(self._wait_for_topic(topic, monotonic() + self.config["max_block_ms"] / 1000)))

    def _wait_for_topic(self, topic: str, deadline: float) -> int:
        known = self._network.view.topics.get(topic)
        if known is not None and known.partitions and self._accumulator.knows(topic):
            return len(known.partitions)
        create = bool(self.config["allow_auto_create_topics"])
        found = self._ask(topic_to_write(topic, attempts=_FOREVER, create=create), deadline - monotonic())
        self._background.call(lambda: self._sender.take_up(topic))
        while not self._accumulator.knows(topic):
            self._background.get(lambda: self._network.learn(Learn([topic])), max(0.001, deadline - monotonic()))
        return len(found.partitions)

    def _ask(self, conversation: Conversation[Any], timeout: float) -> Any:
        try:
            return self._background.run(self._network, conversation, timeout)
        except MoldauError as error:
            raise named(error) from None

    # ------------------------------------------------------------------------------------------------ transactions

    def init_transactions(self) -> None:
        """Once, before the first transaction: ends what an earlier producer of this id left open, and fences it."""
        self._ask(self._transactions().init(), self.config["max_block_ms"] / 1000)

    def begin_transaction(self) -> None:
        self._transactions().begin()

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: ConsumerGroupMetadata | str
    ) -> None:
        """Commits the offsets of a group if and when the transaction is committed."""
        transactions = self._transactions()
        self._ask(transactions.send_offsets(offsets, group_metadata), self.config["max_block_ms"] / 1000)

    def commit_transaction(self) -> None:
        """Sends what is still waiting, and commits."""
        transactions = self._transactions()
        transactions.check_committing()
        self.flush()
        self._ask(transactions.end(commit=True), self.config["max_block_ms"] / 1000)

    def abort_transaction(self) -> None:
        """Drops what has not been sent, and aborts."""
        transactions = self._transactions()
        transactions.begin_abort()
        # What is under way comes back within its own time limit, whatever becomes of it.
        self._background.get(
            lambda: transactions.settle_all(self._sender), self.config["delivery_timeout_ms"] / 1000 + _GRACE
        )
        self._ask(transactions.end(commit=False), self.config["max_block_ms"] / 1000)

    def _transactions(self) -> TransactionManager:
        if not isinstance(self._identity, TransactionManager):
            raise IllegalStateError("A producer without a transactional_id has no transactions.")
        self._check_open()
        return self._identity

    # --------------------------------------------------------------------------------------------------- the ends

    def flush(self, timeout: float | None = None) -> None:
        """Returns when every record sent so far is acknowledged or has failed; KafkaTimeoutError after `timeout`."""
        if self._background.on_thread:
            raise IllegalStateError("A callback cannot wait for the answers that it holds up itself.")
        patience = _FOREVER if timeout is None else timeout
        deadline = monotonic() + patience
        try:
            deliveries = self._background.get(lambda: _now(self._sender.hurry), patience)
        except ConnectionFailed:
            return  # the producer was closed, and every record has its outcome since
        except RequestTimedOut as error:
            raise KafkaTimeoutError(str(error)) from None
        try:
            for delivery in deliveries:
                if not delivery.wait_to_the_end(deadline):
                    raise KafkaTimeoutError(f"Not every record was acknowledged in {timeout} seconds.")
        finally:
            self._sender.calm()

    def close(self, timeout: float | None = None, null_logger: bool = False) -> None:
        """Sends what is left, for at most `timeout` seconds, and ends the network's thread. (`null_logger` is taken and
        not needed: nothing is logged here.)"""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self._at_exit)
        if self._background.forked:
            return  # the parent's, with everything that is on its way
        self._accumulator.halted = True
        try:
            if not self._background.on_thread and timeout != 0:
                self.flush(timeout)
        except KafkaTimeoutError:
            pass  # what is left ends with an error in its future
        finally:
            self._end()  # Ctrl-C, too, means that nobody waits any longer

    def _end(self) -> None:
        def last() -> None:
            self._sender.close()
            self._network.close()

        self._background.close(last)
        for each in (*self._serializers, *self._interceptors):
            if hasattr(each, "close"):
                each.close()

    def bootstrap_connected(self) -> bool:
        return self._network.connected

    def metrics(self, raw: bool = False) -> dict[str, dict[str, float]]:
        """What was done so far, under Kafka's names: of the producer as a whole, and by topic."""
        shown = self._sender.counters.shown()
        shown["producer-metrics"] |= {
            "buffer-total-bytes": self.config["buffer_memory"],
            "buffer-available-bytes": self.config["buffer_memory"] - self._accumulator.used,
            "waiting-threads": self._sender.waiting_for_memory,
            "connection-count": self._network.connections,
            "metadata-age": self._network.metadata_age,
        }
        return shown

    def __enter__(self) -> KafkaProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close(timeout=1)

    def __str__(self) -> str:
        return f"<KafkaProducer client_id={self.config['client_id']}>"


def _disowned(sender: Sender) -> Callable[[], None]:
    """For the child of a fork: takes no records there, and waits for none."""

    def disown() -> None:
        sender.accumulator.halted = True
        gone = IllegalStateError("The record was sent by the parent process, before a fork.")
        for state in sender.states():
            for batch in state.unacknowledged():
                batch.delivery.disown(gone)

    return disown


def _now(function: Callable[[], Any]) -> Deferred[Any]:
    """Runs it here, and has its result at once."""
    result: Deferred[Any] = Deferred()
    result.resolve(function())
    return result


def _closer(producer: weakref.ref[KafkaProducer]) -> Callable[[], None]:
    """For the end of the program; does not keep the producer alive until then."""

    def close() -> None:
        living = producer()
        if living is not None:
            living.close(timeout=1)

    return close


def _are_pairs(headers: Any) -> bool:
    """As the accumulator sees it, which looks at what is in them, too."""
    return isinstance(headers, list | tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in headers)
