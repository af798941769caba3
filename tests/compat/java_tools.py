"""Apache Kafka's own programs: its command line tools, and a broker of its own, run from its jars.

The jars are looked for in MOLDAU_KAFKA_LIBS, else in the user's cache, where tools/fetch_kafka puts them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import zipfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from moldau.supervision.layout import hold_ports

TOOL_SECONDS = 90.0
START_SECONDS = 60.0
# What a tool costs is mostly the start of its machine: without the second compiler it is up in half the time.
JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")


def find_libs() -> Path | str:
    """The directory with Kafka's jars, the newest release if there are several, or why there is none."""
    if shutil.which("java") is None:
        return "Kafka's tools need Java (java is not installed)"
    named = os.environ.get("MOLDAU_KAFKA_LIBS")
    if named:
        return Path(named) if release_of(Path(named)) else f"MOLDAU_KAFKA_LIBS={named} has no kafka-clients-*.jar"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "moldau"
    found = [libs for libs in cache.glob("kafka-*/libs") if release_of(libs)]
    if not found:
        return "Kafka's jars are not there: `make compat-java` fetches them, or set MOLDAU_KAFKA_LIBS"
    return max(found, key=release_of)


def release_of(libs: Path) -> tuple[int, ...]:
    """(4, 3, 0); empty where there are no jars."""
    for jar in libs.glob("kafka-clients-*.jar"):
        numbers = re.match(r"kafka-clients-(\d+)\.(\d+)\.(\d+)", jar.name)
        if numbers:
            return tuple(int(number) for number in numbers.groups())
    return ()


class KafkaTools:
    def __init__(self, libs: Path) -> None:
        self.libs = libs
        self.release = release_of(libs)
        self.class_path = f"{libs}/*"

    @cached_property
    def _classes(self) -> dict[str, str]:
        """Where each tool is: from release to release they move between packages."""
        found: dict[str, str] = {}
        for jar in sorted(self.libs.glob("kafka*.jar")):
            for name in zipfile.ZipFile(jar).namelist():
                if re.match(r"(org/apache/kafka/tools|kafka/(tools|admin))/[A-Za-z/]+\.class$", name):
                    path = name.removesuffix(".class")
                    found[path.rsplit("/", 1)[1]] = path.replace("/", ".")
        return found

    def java(self, *words: str, level: str = "off", given: str = "") -> tuple[int, str]:
        """Exit status and everything it printed."""
        command = [*JAVA, f"-Dorg.slf4j.simpleLogger.defaultLogLevel={level}", "-cp", self.class_path, *words]
        done = subprocess.run(
            command, input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TOOL_SECONDS
        )
        return done.returncode, done.stdout

    def run(self, tool: str, *words: str, given: str = "") -> str:
        """What the tool printed; it has to succeed."""
        status, output = self.java(self._classes[tool], *words, given=given)
        assert status == 0, f"{tool} {' '.join(words)} ended with {status}:\n{output}"
        return output

    def tried(self, tool: str, *words: str) -> tuple[int, str]:
        """For what may have to be tried again: the exit status, and what the tool printed."""
        return self.java(self._classes[tool], *words)

    def refused(self, tool: str, *words: str) -> str:
        status, output = self.java(self._classes[tool], *words)
        assert status != 0, f"{tool} {' '.join(words)} was not refused:\n{output}"
        return output


def write_records(tools: KafkaTools, bootstrap: str, topic: str, count: int, *settings: str) -> str:
    words = ("--topic", topic, "--num-records", str(count), "--record-size", "100", "--throughput", "-1")
    return tools.run("ProducerPerformance", *words, "--producer-props", f"bootstrap.servers={bootstrap}", *settings)


def read_as_group(tools: KafkaTools, bootstrap: str, topic: str, group: str, count: int, protocol: str) -> list[str]:
    words = ("--topic", topic, "--group-id", group, "--group-protocol", protocol, "--max-messages", str(count))
    said = tools.run(
        "VerifiableConsumer", "--bootstrap-server", bootstrap, *words, "--reset-policy", "earliest"
    ).splitlines()
    events = [json.loads(line) for line in said if line.startswith("{")]
    assert sum(event["count"] for event in events if event["name"] == "records_consumed") == count
    assert all(event["success"] for event in events if event["name"] == "offsets_committed")
    return [event["name"] for event in events]


class ApacheKafka:
    """One Apache Kafka node, broker and controller, as a process of its own.

    `listeners` are further ones, by name with their security protocol; `address` tells where each of them is.
    """

    def __init__(
        self,
        tools: KafkaTools,
        data: Path,
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
    ) -> None:
        self.tools = tools
        self.data = data
        self.log = data.with_name(data.name + ".kafka.log")
        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **(listeners or {})}
        self._ports = dict(zip(protocols, hold_ports(len(protocols)), strict=True))
        self.bootstrap = self.address("PLAINTEXT")
        self.properties = data.with_name(data.name + ".properties")
        everything = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{self.address('CONTROLLER')}",
            "listeners": ",".join(f"{name}://{self.address(name)}" for name in protocols),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "log.dirs": str(data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            **(settings or {}),
        }
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in everything.items()))

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self._ports[listener]}"

    def format(self, cluster_id: str, *more: str, alone: bool = False) -> None:
        """`alone`: with all that it has by itself."""
        # Features that a node here does not have keep it from starting on the same files: it says so and stops.
        without = [] if alone else ["eligible.leader.replicas.version=0"]
        if self.tools.release >= (4, 2) and not alone:
            without += ["share.version=0", "streams.version=0"]
        words = [word for feature in without for word in ("--feature", feature)]
        self.tools.run("StorageTool", "format", "-t", cluster_id, "-c", str(self.properties), *words, *more)

    def start(self) -> None:
        command = [*JAVA, "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-cp", self.tools.class_path]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*command, "kafka.Kafka", str(self.properties)], stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while "Kafka Server started" not in self.said():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"Apache Kafka did not start:\n{self.said()[-4000:]}")
            time.sleep(0.2)

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def errors(self) -> list[str]:
        return [line for line in self.said().splitlines() if re.match(r"(\[\S+\] )?(ERROR|FATAL)\b", line)]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=START_SECONDS)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
