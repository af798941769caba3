"""The load under which a cluster is broken, and what has to be true of it afterwards.

Writers (confluent-kafka, idempotent, acks=all) write to every partition of one topic all the time and note what was
acknowledged, and for how long nothing was. A copier in a process of its own copies that topic in transactions. Then
everything is read back: the ledger's invariants hold for the source, and the copy is the source, record for record.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Place
from writers import ConfluentWriter

from moldau.simulation.ledger import Broken, Found, Ledger
from moldau.types import TopicPartition

SOURCE, COPY = "source", "copy"
PATIENCE = 180.0
TURN = 0.03
SILENCE = 90.0


class SteadyWriter(ConfluentWriter):
    """Some records to every partition in each turn; knows how long each partition went without an acknowledgement."""

    def __init__(self, bootstrap: str, codec: str, *arguments: Any, **options: Any) -> None:
        super().__init__(bootstrap, codec, *arguments, **options)
        self._lock = threading.Lock()
        self._sent_at: dict[bytes, float] = {}
        self._acked_at: dict[TopicPartition, float] = {}
        self._longest = 0.0
        self._since = 0.0
        self._resumed: set[TopicPartition] = set()

    def _open(self) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "compression.type": self._codec,
                "linger.ms": 3,
                "message.timeout.ms": int(PATIENCE * 1000),
                # A node that is halted or cut off says nothing; the default would wait a minute for it.
                "socket.timeout.ms": 5000,
                "log_level": 0,
                "error_cb": self._on_error,
            }
        )

    def _write(self) -> None:
        if self.failure is not None:
            raise self.failure
        for where in self._where:
            for _ in range(self._random.randrange(1, 4)):
                key, value = self._next(where)
                with self._lock:
                    self._sent_at[value] = time.monotonic()
                while True:
                    try:
                        self._producer.produce(
                            where.topic, value, key, partition=where.partition, on_delivery=self._acknowledged
                        )
                        break
                    except BufferError:
                        self._producer.poll(0.05)
        end = time.monotonic() + TURN
        while (left := end - time.monotonic()) > 0:
            self._producer.poll(left)

    def _acknowledged(self, error: Any, message: Any) -> None:
        super()._acknowledged(error, message)
        where, now = TopicPartition(message.topic(), message.partition()), time.monotonic()
        with self._lock:
            sent = self._sent_at.pop(message.value(), now)
            if error is not None:
                return
            self._longest = max(self._longest, now - self._acked_at.get(where, now))
            self._acked_at[where] = now
            if sent >= self._since:
                self._resumed.add(where)

    def watch(self, settling: float) -> None:
        """From now on: the longest time without an acknowledgement, and whether records sent after `settling` more
        seconds were taken everywhere."""
        with self._lock:
            now = time.monotonic()
            self._acked_at = dict.fromkeys(self._where, now)
            self._longest = 0.0
            self._since = now + settling
            self._resumed = set()

    def resumed(self) -> bool:
        if self.failure is not None:
            raise AssertionError(f"{self.name} failed: {self.failure}") from self.failure
        with self._lock:
            return len(self._resumed) == len(self._where)

    @property
    def gap(self) -> float:
        with self._lock:
            return self._longest


class Copier:
    """The process that copies, started again whenever it ends; and killed when it says nothing for too long."""

    def __init__(self, bootstrap: str, log: Path) -> None:
        script = Path(__file__).with_name("transaction_copier.py")
        self._command = [sys.executable, str(script), bootstrap, SOURCE, COPY]
        self._log = log
        self._ended = False
        self._process: subprocess.Popen[str] | None = None
        self.lives = 0
        self._heard = ("nothing", time.monotonic())
        self._keeper = threading.Thread(target=self._keep, name="copier", daemon=True)
        self._keeper.start()

    def close(self) -> None:
        self._ended = True
        if self._process is not None:
            self._process.kill()
        self._keeper.join(PATIENCE)

    def __str__(self) -> str:
        word, moment = self._heard
        return f"{self.lives} lives, and said {word!r} {time.monotonic() - moment:.0f} s ago"

    def _keep(self) -> None:
        while not self._ended:
            self.lives += 1
            with self._log.open("a") as log:
                process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True)
            self._process = process
            assert process.stdout is not None
            alarm = threading.Timer(SILENCE, process.kill)
            alarm.start()
            for word in process.stdout:
                alarm.cancel()
                self._heard = (word.strip(), time.monotonic())
                if self._ended:
                    process.kill()
                    break
                alarm = threading.Timer(SILENCE, process.kill)
                alarm.start()
            alarm.cancel()
            process.stdout.close()
            process.wait()


class Reader:
    """Everything that is committed in a topic, read on from where the last look ended."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.found: dict[int, list[Found]] = {index: [] for index in range(partitions)}
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "nobody",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "socket.timeout.ms": 5000,
                "log_level": 0,
            }
        )

    def read(self) -> dict[int, list[Found]]:
        """Up to the end of every partition, as it is now."""
        missing = set(self.found)
        starts = [Place(self._topic, index, rows[-1].offset + 1 if rows else 0) for index, rows in self.found.items()]
        self._consumer.assign(starts)
        deadline = time.monotonic() + PATIENCE
        while missing:
            assert time.monotonic() < deadline, f"{self._topic} could not be read to its end: {missing}"
            for message in self._consumer.consume(1000, 0.5):
                error = message.error()
                if error is None:
                    self.found[message.partition()].append(Found(message.offset(), message.value(), message.key()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    missing.discard(message.partition())
                elif error.code() == KafkaError._FATAL:
                    raise KafkaException(error)
        return self.found

    def close(self) -> None:
        self._consumer.close()


class ClusterLoad:
    def __init__(self, bootstrap: str, directory: Path, partitions: int, seed: int) -> None:
        self.ledger = Ledger()
        self.bootstrap = bootstrap
        self._partitions = partitions
        where = [TopicPartition(SOURCE, index) for index in range(partitions)]
        options = {"ledger": self.ledger, "seed": seed}
        self.writers = [
            SteadyWriter(bootstrap, "lz4", "writer-lz4", where, **options),
            SteadyWriter(bootstrap, "none", "writer-plain", where, **options),
        ]
        self.copier = Copier(bootstrap, directory / "copier.log")
        for writer in self.writers:
            writer.start()

    def watch(self, settling: float = 0.0) -> None:
        for writer in self.writers:
            writer.watch(settling)

    def wait_resumed(self, seconds: float = PATIENCE) -> bool:
        return wait_until(lambda: all(writer.resumed() for writer in self.writers), seconds)

    @property
    def gap(self) -> float:
        return max(writer.gap for writer in self.writers)

    def verify(self) -> int:
        """Lets the writers come to rest and compares everything; how many records there are."""
        for writer in self.writers:
            writer.hold()
        for writer in self.writers:
            writer.wait_quiet()
        source, copy = (Reader(self.bootstrap, topic, self._partitions) for topic in (SOURCE, COPY))
        try:
            written = source.read()
            check_source(self.ledger, written)
            caught_up = wait_until(lambda: _as_long(copy.read(), written), PATIENCE)
            check_copy(written, copy.read())
            assert caught_up
        finally:
            source.close()
            copy.close()
        for writer in self.writers:
            writer.go_on()
        return sum(map(len, written.values()))

    def close(self) -> None:
        for writer in self.writers:
            writer._finished = True
            writer.go_on()
        self.copier.close()


def _as_long(copy: dict[int, list[Found]], source: dict[int, list[Found]]) -> bool:
    return all(len(copy[index]) >= len(rows) for index, rows in source.items())


def check_source(ledger: Ledger, found: dict[int, list[Found]]) -> None:
    for index, rows in found.items():
        where = TopicPartition(SOURCE, index)
        ledger.partition(where).check(rows)
        for place, row in enumerate(rows):
            if row.offset != place:
                raise Broken(f"loss in {where}: offset {place} is missing, the next one is {row.offset}")


def check_copy(source: dict[int, list[Found]], copy: dict[int, list[Found]]) -> None:
    """The same values in the same order, each of them once."""
    for index, rows in source.items():
        wanted, got = [row.value for row in rows], [row.value for row in copy[index]]
        if wanted == got:
            continue
        twice = len(got) - len(set(got))
        at = next((n for n, pair in enumerate(zip(wanted, got, strict=False)) if pair[0] != pair[1]), None)
        raise Broken(
            f"exactly once in {COPY}-{index}: {len(wanted)} records were to be copied, {len(got)} are there, {twice} "
            f"of them twice; the first difference is at {at if at is not None else min(len(wanted), len(got))}"
        )


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Of what happens in other processes and threads, which can only be looked for."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
