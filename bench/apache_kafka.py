"""Apache Kafka as a contender, and its own programs for measuring, from jars in the user's cache.

`tools/fetch_kafka` puts the jars there; nothing of Kafka is part of this repository. The node is set up as Kafka's
own `config/server.properties` and start script do it: broker and controller in one process, 3 network and 8 I/O
threads, 1 GB of heap, G1 with 20 ms pauses. Formatting its directory is not part of the time it takes to start.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import zipfile
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path

from bench.contenders import DELETE_DELAY_MS, NO_SETTINGS, READY_SECONDS, Contender, Running, end, log_of
from bench.conversation import Conversation
from moldau.supervision.layout import hold_ports

CLUSTER_ID = "UJGknZGyd0ra95Lz8JamMg"
TOOL_SECONDS = 90.0
LOGGING = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
SERVER = (
    *("java", "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"),
    *(LOGGING, "-cp"),
)
# The tools get what Kafka's scripts give them: the same collector and half a gigabyte.
TOOL = ("java", "-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", LOGGING, "-cp")
FORMAT = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", LOGGING, "-cp")
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.segment.delete.delay.ms={delay}
log.dirs={data}
"""


class KafkaMissing(Exception):
    """Why Apache Kafka is not among the contenders of this run, in one sentence."""


@cache
def fetch() -> Path:
    """The directory with Kafka's jars, fetched if they are not there."""
    if shutil.which("java") is None:
        raise KafkaMissing("Java is not installed")
    done = subprocess.run(["tools/fetch_kafka"], capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("moldau: ")]
        raise KafkaMissing(said[-1].removeprefix("moldau: ") if said else "tools/fetch_kafka failed")
    return Path(done.stdout.strip())


def release_of(libs: Path) -> str:
    for jar in libs.glob("kafka-clients-*.jar"):
        found = re.match(r"kafka-clients-([\d.]+)\.jar", jar.name)
        if found:
            return found[1]
    return "unknown"


def settings_of_kafka() -> str:
    """What decides how fast it can be, for the page."""
    said = dict(line.split("=", 1) for line in PROPERTIES.splitlines())
    threads = ", ".join(f"{name}={said[name]}" for name in ("num.network.threads", "num.io.threads"))
    heap, pauses = SERVER[1].removeprefix("-Xmx"), SERVER[5].rsplit("=", 1)[1]
    return f"{threads}, a heap of {heap} from the start, G1 with pauses of {pauses} ms, and the rest as its scripts do"


class Kafka(Contender):
    warming = 60.0  # a Java machine compiles in steps, and the last of them come late

    def __init__(self, libs: Path) -> None:
        super().__init__("Kafka", [])
        self.class_path = f"{libs}/*"
        self.tools = KafkaTools(libs)

    def start(self, data: Path, settings: Mapping[str, str] = NO_SETTINGS) -> Running:
        port, controller = hold_ports(2)
        data = data.absolute()
        properties = data.with_name(f"{data.name}.properties")
        text = PROPERTIES.format(port=port, controller=controller, data=data, delay=DELETE_DELAY_MS)
        if "listeners" in settings:
            listeners = settings["listeners"]
            port = int(listeners.split(",")[0].rsplit(":", 1)[1])
            settings = {**settings, "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}"}
        # Of a property that is there twice the last one counts.
        properties.write_text(text + "".join(f"{name}={value}\n" for name, value in settings.items()))
        if not (data / "meta.properties").exists():
            format_ = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)]
            subprocess.run([*FORMAT, self.class_path, *format_], check=True, stdout=subprocess.DEVNULL)
        started = time.perf_counter()
        command = [*SERVER, self.class_path, "kafka.Kafka", str(properties)]
        with log_of(data).open("ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True)
        address = ("127.0.0.1", port)
        try:
            wait_for(process, address)
        except BaseException:
            end(process)
            raise
        return Running(process, address, started, time.perf_counter())


def wait_for(process: subprocess.Popen[str], address: tuple[str, int]) -> None:
    """Until the broker answers the first question of every client. It has no line to print that would tell."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with Conversation(address) as conversation:
                conversation.versions()
                return
        except OSError:
            time.sleep(0.005)
    raise RuntimeError("Apache Kafka did not start")


class KafkaTools:
    """Kafka's programs for measuring. Each run is a new Java machine, as with Kafka's scripts."""

    def __init__(self, libs: Path) -> None:
        self._libs = libs

    @cached_property
    def _classes(self) -> dict[str, str]:
        """Where each tool is: from release to release they move between packages."""
        found: dict[str, str] = {}
        for jar in sorted(self._libs.glob("kafka*.jar")):
            for name in zipfile.ZipFile(jar).namelist():
                if re.match(r"(org/apache/kafka/tools|kafka/(tools|admin))/[A-Za-z/]+\.class$", name):
                    path = name.removesuffix(".class")
                    found[path.rsplit("/", 1)[1]] = path.replace("/", ".")
        return found

    def run(self, tool: str, *words: str) -> str:
        command = [*TOOL, f"{self._libs}/*", self._classes[tool], *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS, env=dict(os.environ))
        if done.returncode:
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            raise RuntimeError(f"{tool} ended with {done.returncode}: {' '.join(last)[:200]}")
        return done.stdout

    def produce(self, bootstrap: str, topic: str, records: int, size: int, *settings: str) -> dict[str, float]:
        words = ("--topic", topic, "--num-records", str(records), "--record-size", str(size), "--throughput", "-1")
        said = self.run("ProducerPerformance", *words, "--producer-props", f"bootstrap.servers={bootstrap}", *settings)
        return parse_produced(said)

    def consume(self, bootstrap: str, topic: str, records: int) -> dict[str, float]:
        words = ("--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(records), "--timeout", "20000")
        return parse_consumed(self.run("ConsumerPerformance", *words))

    def end_to_end(self, bootstrap: str, topic: str, records: int) -> dict[str, float]:
        words = ("--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(records))
        return parse_end_to_end(self.run("EndToEndLatency", *words, "--producer-acks", "all", "--record-size", "100"))


def parse_produced(said: str) -> dict[str, float]:
    """The last line: `N records sent, X records/sec (Y MB/sec), A ms avg latency, ..., D ms 99th, E ms 99.9th.`"""
    (line,) = [line for line in said.splitlines() if "records sent" in line and "99.9th" in line][-1:]
    rate = re.search(r"([\d.]+) records/sec", line)
    late = re.search(r"([\d.]+) ms 99th", line)
    assert rate is not None
    assert late is not None
    return {"records/s": float(rate[1]), "p99": float(late[1]) * 1000}


def parse_consumed(said: str) -> dict[str, float]:
    """A heading and a line of numbers; the rate of fetching leaves out the time until the group had settled."""
    heading, numbers = [line.split(", ") for line in said.splitlines() if ", " in line][-2:]
    found = dict(zip((word.strip() for word in heading), (word.strip() for word in numbers), strict=True))
    return {"records/s": float(found["fetch.nMsg.sec"]), "MB/s": float(found["fetch.MB.sec"]) * 1.048576}


def parse_end_to_end(said: str) -> dict[str, float]:
    """`Avg latency: X ms` and `Percentiles: 50th = A, 99th = B, 99.9th = C`, in milliseconds."""
    found = dict(re.findall(r"([\d.]+)th = ([\d.]+)", said))
    mean = re.search(r"Avg latency: ([\d.]+) ms", said)
    assert mean is not None
    return {"mean": float(mean[1]) * 1000, "p99": float(found["99"]) * 1000}
