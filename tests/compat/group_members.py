"""Members of a consumer group, each a real client in a thread of its own, and the ledger they write to.

The ledger knows who owns which partition from what the clients say in their rebalance callbacks, and which records
anybody has seen. A partition that is assigned while another member still owns it is a mistake of the coordinator.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable
from typing import Any

import aiokafka
import kafka
from confluent_kafka import Consumer

SESSION_MS = 10_000
HEARTBEAT_MS = 200


class Ledger:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.owners: dict[int, str] = {}
        self.seen: set[tuple[int, int]] = set()
        self.mistakes: list[str] = []
        self.assignments = 0

    def assigned(self, member: str, partitions: Iterable[int]) -> None:
        with self._lock:
            self.assignments += 1
            for partition in partitions:
                owner = self.owners.get(partition)
                if owner not in (None, member):
                    self.mistakes.append(f"partition {partition} was given to {member} while {owner} had it")
                self.owners[partition] = member

    def revoked(self, member: str, partitions: Iterable[int]) -> None:
        with self._lock:
            for partition in partitions:
                if self.owners.get(partition) == member:
                    del self.owners[partition]

    def gone(self, member: str) -> None:
        self.revoked(member, [partition for partition, owner in list(self.owners.items()) if owner == member])

    def record(self, records: Iterable[tuple[int, int]]) -> None:
        with self._lock:
            self.seen.update(records)

    def settled(self, partitions: int) -> bool:
        with self._lock:
            return len(self.owners) == partitions


class Member:
    """`leave` closes the client properly and waits for it."""

    def __init__(self, name: str, bootstrap: str, group: str, topic: str, ledger: Ledger) -> None:
        self.name, self.bootstrap, self.group, self.topic, self.ledger = name, bootstrap, group, topic, ledger
        self._stop = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, name=name, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), f"{self.name} does not end"
        if self.failure is not None:
            raise self.failure

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.failure = error
        finally:
            self.ledger.gone(self.name)

    def _run(self) -> None:
        raise NotImplementedError


class ConfluentMember(Member):
    protocol: dict[str, Any] = {
        "group.protocol": "classic",
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS,
    }

    def _run(self) -> None:
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": self.group,
            "client.id": self.name,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 500,
            "fetch.queue.backoff.ms": 1,
            **self.protocol,
        }
        consumer = Consumer(settings)
        consumer.subscribe(
            [self.topic],
            on_assign=lambda _, parts: self.ledger.assigned(self.name, [each.partition for each in parts]),
            on_revoke=lambda _, parts: self.ledger.revoked(self.name, [each.partition for each in parts]),
            on_lost=lambda _, parts: self.ledger.revoked(self.name, [each.partition for each in parts]),
        )
        try:
            while not self._stop.is_set():
                messages = consumer.consume(500, timeout=0.1)
                self.ledger.record((each.partition(), each.offset()) for each in messages if not each.error())
        finally:
            consumer.close()


class ConfluentCooperativeMember(ConfluentMember):
    protocol = {**ConfluentMember.protocol, "partition.assignment.strategy": "cooperative-sticky"}


class ConfluentConsumerMember(ConfluentMember):
    """The protocol in which the coordinator assigns."""

    protocol = {"group.protocol": "consumer"}


class KafkaPythonMember(Member):
    def _run(self) -> None:
        ledger, name = self.ledger, self.name

        class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_assigned(self, assigned: Any) -> None:
                ledger.assigned(name, [each.partition for each in assigned])

            def on_partitions_revoked(self, revoked: Any) -> None:
                ledger.revoked(name, [each.partition for each in revoked])

        consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=self.group,
            client_id=name,
            auto_offset_reset="earliest",
            auto_commit_interval_ms=500,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
        )
        consumer.subscribe([self.topic], listener=Listener())
        try:
            while not self._stop.is_set():
                for records in consumer.poll(timeout_ms=100, max_records=500).values():
                    ledger.record((each.partition, each.offset) for each in records)
        finally:
            consumer.close()


class AioMember(Member):
    def _run(self) -> None:
        asyncio.run(self._consume())

    async def _consume(self) -> None:
        ledger, name, leaving = self.ledger, self.name, self._stop

        class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]
            async def on_partitions_assigned(self, assigned: Any) -> None:
                if not leaving.is_set():
                    ledger.assigned(name, [each.partition for each in assigned])

            async def on_partitions_revoked(self, revoked: Any) -> None:
                ledger.revoked(name, [each.partition for each in revoked])

        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=self.group,
            client_id=name,
            auto_offset_reset="earliest",
            auto_commit_interval_ms=500,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
        )
        consumer.subscribe([self.topic], listener=Listener())
        await consumer.start()
        try:
            while not self._stop.is_set():
                for records in (await consumer.getmany(timeout_ms=100, max_records=500)).values():
                    ledger.record((each.partition, each.offset) for each in records)
        finally:
            # It tells no listener that it leaves, and others have its share before it has ended.
            ledger.gone(name)
            await consumer.stop()


MEMBERS: dict[str, type[Member]] = {
    "confluent": ConfluentMember,
    "confluent-cooperative": ConfluentCooperativeMember,
    "confluent-consumer-protocol": ConfluentConsumerMember,
    "kafka-python": KafkaPythonMember,
    "aiokafka": AioMember,
}


def wait_for(condition: Any, what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:.0f} s"
        time.sleep(0.05)
