"""Producers that go on through everything and note in the ledger what they sent and what was acknowledged.

Two kinds, each in a thread: confluent-kafka, with up to five requests in flight and its own ideas about retrying, and
our own client, one request at a time. Both are idempotent: what they send is to be in the log once, in their order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from random import Random
from typing import Any

from confluent_kafka import KafkaException, Producer

from moldau.client.cluster import Cluster
from moldau.client.conversation import retrying
from moldau.client.producing import deliver, init_producer_id
from moldau.errors import KafkaError, MoldauError
from moldau.protocol.records import BatchBuilder, Compression
from moldau.simulation.ledger import Ledger
from moldau.types import NO_OFFSET, TopicPartition

CODECS = (Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD)
LARGEST = 400
PATIENCE = 120.0


class Writer:
    """Writes until `finish`; between `hold` and `go_on` it is quiet and everything it sent is acknowledged."""

    def __init__(self, name: str, where: Sequence[TopicPartition], ledger: Ledger, seed: int, keys: int = 0) -> None:
        self.name = name
        self.failure: BaseException | None = None
        self._where = where
        self._ledger = ledger
        self._random = Random(f"{seed}/{name}")
        self._keys = keys
        self._numbers = 0
        self._writing = threading.Event()
        self._quiet = threading.Event()
        self._finished = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._writing.set()
        self._thread.start()

    def hold(self) -> None:
        self._quiet.clear()
        self._writing.clear()

    def wait_quiet(self) -> None:
        if not self._quiet.wait(PATIENCE) and self.failure is None:
            raise AssertionError(f"{self.name} did not get its records acknowledged within {PATIENCE} s")
        if self.failure is not None:
            raise AssertionError(f"{self.name} failed: {self.failure}") from self.failure

    def go_on(self) -> None:
        self._writing.set()

    def finish(self) -> None:
        self._finished = True
        self._writing.set()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        try:
            self._open()
            while not self._finished:
                if not self._writing.is_set():
                    self._flush()
                    self._quiet.set()
                    self._writing.wait()
                    continue
                self._write()
        except BaseException as error:
            self.failure = error
            self._quiet.set()
        finally:
            self._close()

    def _next(self, where: TopicPartition) -> tuple[bytes | None, bytes]:
        number, self._numbers = self._numbers, self._numbers + 1
        value = f"{self.name}:{number}:".encode() + b"x" * self._random.randrange(LARGEST)
        key = b"key-%d" % self._random.randrange(self._keys) if self._keys else None
        self._ledger.partition(where).send(self.name, number, value, key)
        return key, value

    def _open(self) -> None: ...

    def _write(self) -> None: ...

    def _flush(self) -> None: ...

    def _close(self) -> None: ...


class ConfluentWriter(Writer):
    def __init__(self, bootstrap: str, codec: str, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._bootstrap = bootstrap
        self._codec = codec

    def _open(self) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "enable.idempotence": True,
                "compression.type": self._codec,
                "linger.ms": 3,
                "batch.size": 30_000,  # segments are small here, and a batch must fit into one
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 20,
                "message.timeout.ms": int(PATIENCE * 1000),
                "socket.timeout.ms": 10_000,
                "log_level": 0,
                "error_cb": self._on_error,
            }
        )

    def _on_error(self, error: Any) -> None:
        if error.fatal():
            self.failure = KafkaException(error)

    def _write(self) -> None:
        if self.failure is not None:
            raise self.failure
        where = self._random.choice(self._where)
        for _ in range(self._random.randrange(1, 30)):
            key, value = self._next(where)
            while True:
                try:
                    self._producer.produce(
                        where.topic, value, key, partition=where.partition, on_delivery=self._acknowledged
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self._producer.poll(0)
        time.sleep(0.02)

    def _acknowledged(self, error: Any, message: Any) -> None:
        if error is None:
            where = TopicPartition(message.topic(), message.partition())
            # Of one that was sent again, and is older than the leader remembers, nobody says where it is.
            offset = NO_OFFSET if message.offset() is None else message.offset()
            self._ledger.partition(where).acknowledge([message.value()], offset)
        elif not error.retriable():
            self.failure = KafkaException(error)

    def _flush(self) -> None:
        if self._producer.flush(PATIENCE):
            raise AssertionError("records stayed unacknowledged")

    def _close(self) -> None:
        # What is left would be tried again for minutes, and go to whatever cluster is given these ports next.
        self._producer.purge()
        self._producer.flush(0)


class OwnWriter(Writer):
    """Our client core: one batch per partition and request, each with another codec."""

    def __init__(self, address: tuple[str, int], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cluster = Cluster(f"{address[0]}:{address[1]}", client_id=self.name, timeout=PATIENCE)
        self._sequences: dict[TopicPartition, int] = {}

    def _open(self) -> None:
        self._producer = self._stubbornly(init_producer_id)

    def _write(self) -> None:
        values: dict[TopicPartition, list[bytes]] = {}
        batches: dict[TopicPartition, bytes] = {}
        for where in self._random.sample(self._where, self._random.randrange(1, len(self._where) + 1)):
            records = [self._next(where) for _ in range(self._random.randrange(1, 20))]
            values[where] = [value for _, value in records]
            batches[where] = self._pack(where, records)
        while batches:
            to_send = batches
            results = self._stubbornly(lambda: retrying(lambda: deliver(to_send), final=()))  # noqa: B023
            batches = {}
            for where, result in results.items():
                if not isinstance(result, KafkaError):
                    self._ledger.partition(where).acknowledge(values[where], result)
                elif result.retriable:
                    batches[where] = to_send[where]
                else:
                    raise result
        time.sleep(0.01)

    def _stubbornly(self, conversation: Any) -> Any:
        """A node that is just starting refuses connections, which ends a conversation with no cluster known yet."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._cluster.run(conversation())
            except MoldauError:
                if time.monotonic() > deadline:
                    raise
                self._cluster.doubt()
                time.sleep(0.02)

    def _pack(self, where: TopicPartition, records: list[tuple[bytes | None, bytes]]) -> bytes:
        builder = BatchBuilder(1 << 20)
        for key, value in records:
            builder.append(time.time_ns() // 1_000_000, key, value, ())
        sequence = self._sequences.get(where, 0)
        self._sequences[where] = sequence + len(records)
        return builder.build(
            compression=self._random.choice(CODECS),
            level=None,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            base_sequence=sequence,
        )

    def _close(self) -> None:
        self._cluster.close()
