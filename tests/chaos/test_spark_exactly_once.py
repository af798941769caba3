"""An exactly-once stream whose driver, Python workers and broker are killed at random: each record once, none missing.

MOLDAU_KILLS says how often (50), MOLDAU_SEED repeats a run's choices. Progress goes to stderr.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from mortal_node import MortalNode

pytest.importorskip("pyspark", reason="needs the extra: pip install 'moldau[spark]'")

from moldau import KafkaConsumer, KafkaProducer
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.client.admin.transactions import list_transactions
from moldau.client.cluster import Cluster
from moldau.types import TopicPartition

pytestmark = pytest.mark.long

KILLS = int(os.environ.get("MOLDAU_KILLS", "50"))
RECORDS_PER_KILL = 500
START_SECONDS = 600.0
END_SECONDS = 900.0
FEW_PARTITIONS = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "4"}


class Driver:
    """The query's process, with its JVM and their Python workers."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.log = directory / "driver.log"
        self._command = [sys.executable, str(Path(__file__).with_name("spark_stream.py")), bootstrap, str(directory)]
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def ensure(self) -> None:
        if self._process is None or self._process.poll() is not None:
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
            self.starts += 1

    def workers(self) -> list[int]:
        """Python processes that Spark started, the one that forks the others included."""
        assert self._process is not None
        return [pid for pid in _descendants(self._process.pid) if b"pyspark" in _command_line(pid)]

    def kill(self) -> None:
        """The driver and its JVM; workers are left to find out by themselves, as zombies would be."""
        if self._process is None:
            return
        victims = [pid for pid in _descendants(self._process.pid) if b"java" in _command_line(pid).split(b"\0")[0]]
        self._process.kill()
        for pid in victims:
            _kill(pid)
        self._process.wait()

    def end(self) -> None:
        if self._process is None:
            return
        everybody = _descendants(self._process.pid)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pid in everybody:
            _kill(pid)


def test_each_record_once_whatever_is_killed(tmp_path: Path) -> None:
    seed = int(os.environ.get("MOLDAU_SEED", str(random.randrange(1 << 30))))
    say(f"seed {seed}, {KILLS} kills")
    chance = random.Random(seed)
    node = MortalNode(tmp_path / "data", FEW_PARTITIONS)
    node.start()
    driver = Driver(node.bootstrap, tmp_path)
    numbers = iter(range(1 << 40))
    kills: Counter[str] = Counter()
    try:
        with KafkaAdminClient(bootstrap_servers=node.bootstrap) as admin:
            admin.create_topics([NewTopic("input", 3, 1), NewTopic("output", 3, 1)])
        written = produce(node.bootstrap, numbers, RECORDS_PER_KILL)
        driver.ensure()
        wait_for(node, written, START_SECONDS)
        say("the query runs")
        while kills.total() < KILLS:
            written = produce(node.bootstrap, numbers, RECORDS_PER_KILL)
            driver.ensure()
            kind = chance.choices(["driver", "worker", "broker"], [1, 3, 3])[0]
            time.sleep(chance.uniform(0.2, 3.0))
            if not strike(kind, node, driver, chance):
                continue
            kills[kind] += 1
            say(f"{kills.total()}: {kind}; {written} records sent, {visible(node)} offsets visible")
            if kind == "driver":
                # A session takes long to start; what is killed meanwhile would not have mattered.
                driver.ensure()
                before = visible(node)
                produce(node.bootstrap, numbers, RECORDS_PER_KILL)
                wait_for_more(node, before)
        say(f"all kills done: {dict(kills)}; waiting for the rest")
        written = produce(node.bootstrap, numbers, RECORDS_PER_KILL)
        wait_for(node, written, END_SECONDS, driver)
        (tmp_path / "stop").touch()
        check(node, written)
        say(f"{written} records, each once; the driver was started {driver.starts} times")
        assert node.tracebacks() == ""
    except BaseException:
        say(f"seed {seed}; the driver's log ends with:\n{driver.log.read_text(errors='replace')[-4000:]}")
        raise
    finally:
        (tmp_path / "stop").touch()
        driver.end()
        node.kill()


def strike(kind: str, node: MortalNode, driver: Driver, chance: random.Random) -> bool:
    if kind == "broker":
        node.kill()
        time.sleep(chance.uniform(0.0, 1.5))
        node.start()
        return True
    if kind == "driver":
        driver.kill()
        return True
    workers = driver.workers()
    return bool(workers) and _kill(chance.choice(workers))


def produce(bootstrap: str, numbers: Iterator[int], count: int) -> int:
    """Sends the next numbers; how many there are in all."""
    number = -1
    with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5) as producer:
        futures = []
        for _ in range(count):
            number = next(numbers)
            futures.append(producer.send("input", b"%d" % number, b"%d" % (number % 97)))
        for future in futures:
            future.get(60)
    return number + 1


def visible(node: MortalNode) -> int:
    """How far readers of committed records get, all partitions together."""
    with KafkaConsumer(bootstrap_servers=node.bootstrap, isolation_level="read_committed", group_id=None) as consumer:
        return sum(consumer.end_offsets([TopicPartition("output", index) for index in range(3)]).values())


def committed(node: MortalNode) -> list[int]:
    found: list[int] = []
    partitions = [TopicPartition("output", index) for index in range(3)]
    with KafkaConsumer(
        bootstrap_servers=node.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest", group_id=None
    ) as consumer:
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(where) < ends[where] for where in partitions):
            for records in consumer.poll(timeout_ms=500).values():
                found += [int(record.value) for record in records]
    return found


def wait_for(node: MortalNode, written: int, seconds: float, driver: Driver | None = None) -> None:
    deadline = time.monotonic() + seconds
    count = -1
    while time.monotonic() < deadline:
        if driver is not None:
            driver.ensure()
        count = len(committed(node))
        if count >= written:
            return
        time.sleep(1.0)
    raise AssertionError(f"{count} of {written} records were there after {seconds:.0f} seconds")


def wait_for_more(node: MortalNode, before: int) -> None:
    """Until the query writes again."""
    deadline = time.monotonic() + START_SECONDS
    while visible(node) <= before:
        assert time.monotonic() < deadline, "the query did not go on after its driver was started again"
        time.sleep(0.5)


def check(node: MortalNode, written: int) -> None:
    found = Counter(committed(node))
    twice = sorted(number for number, times in found.items() if times > 1)
    missing = sorted({2 * number for number in range(written)} - set(found))
    assert not twice, f"{len(twice)} records are there more than once, such as {twice[:5]}"
    assert not missing, f"{len(missing)} records are missing, such as {missing[:5]}"
    assert len(found) == written
    with Cluster(node.bootstrap) as cluster:
        still_open = cluster.run(list_transactions(states=["Ongoing"]))
    assert still_open == []


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        more = children.get(waiting.pop(), [])
        found += more
        waiting += more
    return found


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
