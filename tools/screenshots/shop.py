"""A cluster worth looking at: a shop that takes orders, services that keep up and some that do not."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, KafkaShareConsumer, TopicPartition
from moldau.admin import NewTopic
from moldau.spark.pipeline import load
from moldau.spark.pipeline.measures import Measure
from moldau.spark.pipeline.status import StatusFile
from moldau.testing import Cluster

SETTINGS = {
    # Rules are kept, and do not concern those who ask here.
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}

# Partitions, records a second, settings.
TOPICS: dict[str, tuple[int, float, dict[str, str]]] = {
    "orders": (12, 420, {"retention.ms": "604800000", "min.insync.replicas": "2", "compression.type": "zstd"}),
    "payments": (6, 190, {"min.insync.replicas": "2"}),
    "clicks": (24, 1300, {"retention.ms": "86400000"}),
    "shipments": (6, 85, {}),
    "customers": (6, 4, {"cleanup.policy": "compact"}),
    "stock-levels": (3, 60, {"cleanup.policy": "compact"}),
    "orders.failed": (3, 1.4, {}),
    "revenue-by-minute": (3, 9, {}),
    "audit": (3, 22, {"retention.ms": "31536000000"}),
    "returns": (3, 0, {}),
}
# What they read, and how many records a second at most.
GROUPS: dict[str, tuple[list[str], float]] = {
    "billing": (["orders", "payments"], 4000),
    "fraud-check": (["payments"], 150),
    "warehouse": (["orders", "stock-levels"], 4000),
    "recommendations": (["clicks"], 1130),
    "shipping-labels": (["shipments"], 900),
}
TOWNS = ("Praha", "Mělník", "Děčín", "České Budějovice", "Český Krumlov", "Písek", "Štěchovice", "Kralupy")
ITEMS = ("kettle", "lamp", "notebook", "raincoat", "teapot", "umbrella", "boots", "map")


class Shop:
    """Everything that goes on, until it is closed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stack = ExitStack()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._began = time.monotonic()
        self.checkpoints = directory / "checkpoints"

    def __enter__(self) -> Shop:
        with ExitStack() as opened:
            cluster = opened.enter_context(Cluster(nodes=3, settings=SETTINGS, directory=self._directory / "cluster"))
            self.bootstrap = cluster.bootstrap_servers
            self._make(cluster)
            self._stack = opened.pop_all()
        for work in (self._write, self._leave_open, self._pack, self._stream, *self._readers()):
            self._threads.append(threading.Thread(target=work, daemon=True))
            self._threads[-1].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(30)
        self._stack.close()

    def _make(self, cluster: Cluster) -> None:
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
            admin.create_topics(
                [NewTopic(name, partitions, 3, topic_configs=settings)
                 for name, (partitions, _, settings) in TOPICS.items()]
            )  # fmt: skip
        with KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="search-index") as consumer:
            consumer.assign([TopicPartition("orders", index) for index in range(12)])
            for where in consumer.assignment():
                consumer.seek(where, 0)
            consumer.commit()
        secret = self._directory / "secret"
        secret.write_text("a password of the pictures\n")
        for user in ("billing", "warehouse", "reports"):
            self._command("users", "add", user, "--new-password-file", str(secret))
        self._command("acls", "add", "--user", "billing", "--consumer", "--topic", "orders", "--group", "billing")
        self._command("acls", "add", "--user", "warehouse", "--producer", "--topic", "stock-levels")
        self._command("acls", "add", "--user", "reports", "--operation", "read", "--topic", "revenue", "--prefixed")
        self._command("acls", "add", "--user", "reports", "--operation", "read", "--topic", "customers", "--deny")
        self._command("quotas", "set", "--user", "reports", "consumer_byte_rate=2000000")

    def _command(self, *words: str) -> None:
        command = [sys.executable, "-m", "moldau", *words, "--bootstrap", self.bootstrap]
        subprocess.run(command, check=True, capture_output=True)

    # ------------------------------------------------------------------------------------------------------- work

    def _swing(self, period: float, depth: float) -> float:
        """Days go up and down; here they are short."""
        return 1 + depth * math.sin((time.monotonic() - self._began) / period * math.tau)

    def _write(self) -> None:
        chance = random.Random(9)
        number = 48_100
        owed = dict.fromkeys(TOPICS, 0.0)
        with KafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=20, compression_type="lz4") as producer:
            before = time.monotonic()
            while not self._ended.wait(0.05):
                now = time.monotonic()
                for index, (name, (_, rate, _)) in enumerate(TOPICS.items()):
                    owed[name] += rate * self._swing(31 + 7 * index, 0.3) * chance.uniform(0.8, 1.2) * (now - before)
                    while owed[name] >= 1:
                        owed[name] -= 1
                        number += 1
                        key = f"customer-{chance.randrange(4000)}".encode()
                        value = json.dumps(_said(name, number, chance), ensure_ascii=False).encode()
                        producer.send(name, value, key=key, headers=[("trace", b"%08x" % chance.getrandbits(32))])
                before = now

    def _readers(self) -> list[Callable[[], None]]:
        def reader(group: str, member: int) -> Callable[[], None]:
            topics, most = GROUPS[group]

            def read() -> None:
                with KafkaConsumer(
                    *topics, bootstrap_servers=self.bootstrap, group_id=group, client_id=f"{group}-{member}",
                    auto_offset_reset="earliest", auto_commit_interval_ms=500,
                ) as consumer:  # fmt: skip
                    while not self._ended.is_set():
                        pace = most * self._swing(23, 0.35)
                        found = consumer.poll(timeout_ms=200, max_records=max(1, int(pace / 2 / 5)))
                        if found:
                            self._ended.wait(0.2)

            return read

        return [reader(group, member) for group in GROUPS for member in (1, 2)]

    def _leave_open(self) -> None:
        """A transaction whose program went away."""
        with KafkaProducer(
            bootstrap_servers=self.bootstrap, transactional_id="invoices-3", transaction_timeout_ms=900_000
        ) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send("audit", b'{"invoice": 7181}').get(30)
            self._ended.wait()
            producer.abort_transaction()

    def _pack(self) -> None:
        with KafkaShareConsumer("shipments", bootstrap_servers=self.bootstrap, group_id="packers") as consumer:
            while not self._ended.is_set():
                consumer.poll(timeout_ms=300)

    def _stream(self) -> None:
        """What a pipeline on Spark would say of itself, once a second."""
        declared = self._directory / "revenue.yaml"
        command = [sys.executable, "-m", "moldau", "pipeline", "new", declared.name]
        subprocess.run(command, check=True, capture_output=True, cwd=self._directory)
        pipeline = load(str(declared))
        file = StatusFile(pipeline, "local[4]")
        with KafkaConsumer(bootstrap_servers=self.bootstrap) as consumer:
            places = [TopicPartition("orders", index) for index in range(12)]
            batch = 0
            while not self._ended.wait(1):
                batch += 1
                ends = {str(where.partition): end for where, end in consumer.end_offsets(places).items()}
                written = sum(ends.values())
                pace = 430 * self._swing(29, 0.25)
                mark = time.strftime("%Y-%m-%dT%H:%M:00.000Z", time.gmtime(time.time() - 120))
                minutes = Measure("revenue", "running", batch, written, pace, 0.42, 3180, 1_240_000, 3, mark, 0)
                failed = Measure("failed-orders", "running", batch, written, pace * 0.98, 0.31, 0, 0, 0, None, 0)
                minutes.positions = {"orders": {index: max(0, end - 20) for index, end in ends.items()}}
                failed.positions = {"orders": {index: max(0, end - 2) for index, end in ends.items()}}
                file.write("running", [minutes, failed])


def _said(topic: str, number: int, chance: random.Random) -> dict[str, object]:
    said: dict[str, object] = {"id": number, "town": chance.choice(TOWNS)}
    if topic == "clicks":
        return {**said, "page": f"/{chance.choice(ITEMS)}", "took_ms": chance.randrange(9, 240)}
    if topic == "stock-levels":
        return {"item": chance.choice(ITEMS), "left": chance.randrange(400)}
    amount = round(chance.uniform(4, 180), 2)
    return {**said, "item": chance.choice(ITEMS), "pieces": chance.randrange(1, 5), "amount": amount}
