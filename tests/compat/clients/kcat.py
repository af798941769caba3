"""kcat, the tool people reach for in a shell. It has no admin operations: topics appear by being asked for."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import IO, Any, ClassVar

from .confluent import librdkafka_properties
from .interface import (
    EARLIEST,
    LATEST,
    PATIENCE_SECONDS,
    Client,
    Cluster,
    Message,
    ProduceFailed,
    Received,
    Start,
    Timestamp,
    eventually,
)

# Numbers first, then the raw bytes they measure, so that any key and value can be read back.
FORMAT = "%p %o %T %K %S %k%s%h\\n"


class Kcat(Client):
    name: ClassVar[str] = "kcat"
    sends_any_record: ClassVar[bool] = False

    @classmethod
    def unavailable(cls) -> str | None:
        return (
            None if shutil.which("kcat") else "kcat is not installed and could not be (apt-get install kcat, as root)"
        )

    @property
    def _secured(self) -> list[str]:
        properties = {} if self.tls is None else librdkafka_properties(self.tls)
        return [word for name, value in properties.items() for word in ("-X", f"{name}={value}")]

    def _run(self, *arguments: str, given: bytes = b"") -> bytes:
        command = ["kcat", "-b", self.bootstrap, *self._secured, *arguments]
        done = subprocess.run(command, input=given, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
        if done.returncode != 0 or b"ERROR" in done.stderr:
            raise ProduceFailed(done.stderr.decode(errors="replace"))
        return done.stdout

    def _metadata(self, *arguments: str) -> Any:
        return json.loads(self._run("-L", "-J", *arguments))

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        assert partitions == 1, "kcat creates topics only by asking for them, with the broker's defaults"
        assert not configs, "kcat creates topics only by asking for them, with the broker's defaults"
        eventually(lambda: bool(self._metadata("-t", topic)["topics"][0]["partitions"]))

    def produce(
        self,
        topic: str,
        messages: Iterable[Message],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> None:
        for (partition, headers), group in groupby(messages, lambda message: (message.partition, message.headers)):
            lines = b"".join(_line(message) for message in group)
            self._run(
                "-P",
                *("-t", topic, "-p", str(partition), "-K", "\\t"),
                *([] if codec == "none" else ["-z", codec]),
                *("-X", f"acks={acks}", "-X", f"enable.idempotence={str(idempotent).lower()}"),
                *(argument for name, value in headers for argument in ("-H", f"{name}={value.decode()}")),
                given=lines,
            )

    def consume(
        self, topic: str, start: Start, count: int, *, partition: int = 0, ready: Callable[[], None] | None = None
    ) -> list[Received]:
        process = subprocess.Popen(
            [
                *("kcat", "-b", self.bootstrap, *self._secured, "-C", "-t", topic, "-p", str(partition), "-u"),
                *("-o", _position(start), "-c", str(count), "-f", FORMAT),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            if ready is not None:
                assert process.stderr is not None
                _wait_for_end_of_topic(process.stderr)
                ready()
            out, said = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 0, said.decode(errors="replace")
        return _parse(out)

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        earliest, latest = (self._run("-Q", "-t", f"{topic}:{partition}:{which}") for which in (-2, -1))
        return int(earliest.split()[-1]), int(latest.split()[-1])

    def topics(self) -> dict[str, int]:
        return {topic["topic"]: len(topic["partitions"]) for topic in self._metadata()["topics"]}

    def cluster(self) -> Cluster:
        brokers = {}
        for broker in self._metadata()["brokers"]:
            host, port = broker["name"].rsplit(":", 1)
            brokers[broker["id"]] = (host, int(port))
        return Cluster("", brokers)  # kcat does not show the cluster's id


def _line(message: Message) -> bytes:
    assert message.value is not None
    assert message.timestamp is None
    key = b"" if message.key is None else message.key + b"\t"
    return key + message.value + b"\n"


def _position(start: Start) -> str:
    if start == EARLIEST:
        return "beginning"
    if start == LATEST:
        return "end"
    if isinstance(start, Timestamp):
        return f"s@{start.ms}"
    return str(start)


def _wait_for_end_of_topic(said: IO[bytes]) -> None:
    for line in said:
        if b"Reached end of topic" in line:
            return
    raise AssertionError("kcat stopped before it reached the end of the topic")


def _parse(out: bytes) -> list[Received]:
    received = []
    at = 0
    while at < len(out):
        after = at
        for _ in range(5):
            after = out.index(b" ", after) + 1
        partition, offset, timestamp, key_size, value_size = map(int, out[at:after].split())
        key = None if key_size < 0 else out[after : after + key_size]
        after += max(key_size, 0)
        value = None if value_size < 0 else out[after : after + value_size]
        after += max(value_size, 0)
        end = out.index(b"\n", after)
        pairs = (pair.split("=", 1) for pair in out[after:end].decode().split(",") if pair)
        headers = tuple((name, content.encode()) for name, content in pairs)
        received.append(Received(partition, offset, timestamp, key, value, headers))
        at = end + 1
    return received
