"""An exactly-once stream whose driver, Python workers and broker are killed at random: each record once, none missing.

Among the kills are other misfortunes: a checkpoint copy that is put back, batches that take longer than transactions
may be open, a topic that is deleted and made anew, records of nearly a megabyte. After each the query goes on, or it
stops and says why, with nothing half visible, and goes on when what it asks for is done.

MOLDAU_KILLS says how often (50), MOLDAU_SEED repeats a run's choices. Progress goes to stderr.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
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
LARGE_RECORDS = 120
LARGE_BYTES = 900_000
KINDS = {"driver": 1, "worker": 3, "broker": 3, "checkpoint": 1, "slow": 1, "topic": 1, "large": 1}
REFUSALS = ("was written before, with other rows", "has been committed already")


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

    def said(self, *sentences: str, since: int = 0) -> bool:
        """Whether its log has one of these, behind so many bytes."""
        text = self.log.read_bytes()[since:].decode(errors="replace") if self.log.exists() else ""
        return any(sentence in text for sentence in sentences)

    @property
    def words(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

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


class Run:
    """A node, a query, and what was written for it to read."""

    def __init__(self, directory: Path, chance: random.Random) -> None:
        self.directory = directory
        self.chance = chance
        self.node = MortalNode(directory / "data", FEW_PARTITIONS)
        self.driver = Driver(self.node.bootstrap, directory)
        self.numbers = iter(range(1 << 40))
        self.written = 0
        self.topics = 0
        self.use_checkpoint("checkpoint")

    @property
    def checkpoint(self) -> Path:
        return self.directory / (self.directory / "checkpoint-name").read_text()

    def use_checkpoint(self, name: str) -> None:
        (self.directory / "checkpoint-name").write_text(name)

    def produce(self, count: int = RECORDS_PER_KILL, size: int = 0) -> None:
        self.written = produce(self.node.bootstrap, self.numbers, count, size)

    def go_on(self, seconds: float = START_SECONDS) -> None:
        """Until everything that was written is visible, each record once."""
        wait_for(self.node, self.written, seconds, self.driver)
        twice = [number for number, times in Counter(committed(self.node)).items() if times > 1]
        assert not twice, f"{len(twice)} records are there more than once, such as {twice[:5]}"

    # --------------------------------------------------------------------------------------------------- misfortunes

    def strike(self, kind: str) -> bool:
        strike: Callable[[], bool] = getattr(self, f"_{kind}")
        return strike()

    def _broker(self) -> bool:
        self.node.kill()
        time.sleep(self.chance.uniform(0.0, 1.5))
        self.node.start()
        return True

    def _driver(self) -> bool:
        self.driver.kill()
        # A session takes long to start; what is killed meanwhile would not have mattered.
        self.driver.ensure()
        before = visible(self.node)
        self.produce()
        wait_for_more(self.node, before)
        return True

    def _worker(self) -> bool:
        workers = self.driver.workers()
        return bool(workers) and _kill(self.chance.choice(workers))

    def _checkpoint(self) -> bool:
        """A copy that is some batches old is put back, and then new records come."""
        self.go_on()
        older, newest = self.directory / "older", self.directory / "newest"
        copy_checkpoint(self.checkpoint, older)
        self.produce()
        self.go_on()
        self.driver.kill()
        shutil.rmtree(newest, ignore_errors=True)
        self.checkpoint.rename(newest)
        older.rename(self.checkpoint)
        self.produce()
        since, before = self.driver.words, len(committed(self.node))
        self.driver.ensure()
        until(lambda: self.driver.said(*REFUSALS, since=since), "the query did not refuse an older checkpoint")
        assert len(committed(self.node)) == before, "a query that refuses has written something"
        self.driver.kill()
        shutil.rmtree(self.checkpoint)
        newest.rename(self.checkpoint)
        self.driver.ensure()
        self.go_on()
        return True

    def _slow(self) -> bool:
        """Waves of tasks take longer than their transactions may be open."""
        self.go_on()
        slow = self.directory / "slow"
        slow.touch()
        since, before = self.driver.words, len(committed(self.node))
        until(lambda: self.driver.said("about to be slow", since=since), "the query did not stop")
        self.produce()
        slow.write_text("go")
        until(
            lambda: self.driver.said("transactions could not have been", since=since),
            "a batch was decided whose transactions were gone",
        )
        assert len(committed(self.node)) == before, "a batch that was refused is visible in part"
        slow.unlink()
        self.go_on()
        return True

    def _topic(self) -> bool:
        """The input is deleted and made anew, with more records than it had; a new checkpoint reads those."""
        self.go_on()
        since, before = self.driver.words, len(committed(self.node))
        with KafkaAdminClient(bootstrap_servers=self.node.bootstrap) as admin:
            admin.delete_topics(["input"])
            admin.create_topics([NewTopic("input", 3, 1)])
        self.produce(self.written + RECORDS_PER_KILL - self.topics)
        until(
            lambda: self.driver.said("was deleted and made anew", "are no longer there", since=since),
            "the query went on with another topic",
        )
        assert len(committed(self.node)) == before
        self.topics = before
        self.use_checkpoint(f"checkpoint-{before}")
        self.go_on()
        return True

    def _large(self) -> bool:
        self.produce(LARGE_RECORDS, LARGE_BYTES)
        self.go_on()
        return True


def test_each_record_once_whatever_is_killed(tmp_path: Path) -> None:
    seed = int(os.environ.get("MOLDAU_SEED", str(random.randrange(1 << 30))))
    say(f"seed {seed}, {KILLS} kills")
    chance = random.Random(seed)
    run = Run(tmp_path, chance)
    node, driver = run.node, run.driver
    node.start()
    kills: Counter[str] = Counter()
    # Each at least once, if there are so many, and then as it comes.
    first = chance.sample(sorted(KINDS), len(KINDS))
    try:
        with KafkaAdminClient(bootstrap_servers=node.bootstrap) as admin:
            admin.create_topics([NewTopic("input", 3, 1), NewTopic("output", 3, 1)])
        run.produce()
        driver.ensure()
        run.go_on()
        say("the query runs")
        while kills.total() < KILLS:
            run.produce()
            driver.ensure()
            kind = first[-1] if first else chance.choices([*KINDS], [*KINDS.values()])[0]
            time.sleep(chance.uniform(0.2, 3.0))
            say(f"{kills.total() + 1}: {kind}")
            if not run.strike(kind):
                continue
            if first:
                first.pop()
            kills[kind] += 1
            say(f"{kills.total()}: {kind}; {run.written} records sent, {visible(node)} offsets visible")
        say(f"all kills done: {dict(kills)}; waiting for the rest")
        run.produce()
        run.go_on(END_SECONDS)
        (tmp_path / "stop").touch()
        check(node, run.written)
        say(f"{run.written} records, each once; the driver was started {driver.starts} times")
        assert node.tracebacks() == ""
    except BaseException:
        say(f"seed {seed}; the driver's log ends with:\n{driver.log.read_text(errors='replace')[-4000:]}")
        raise
    finally:
        (tmp_path / "stop").touch()
        driver.end()
        node.kill()


def copy_checkpoint(source: Path, target: Path) -> None:
    """A copy as whole as one of a running query can be: made again until nothing changed meanwhile."""
    while True:
        shutil.rmtree(target, ignore_errors=True)
        before = sorted(source.rglob("*"))
        try:
            shutil.copytree(source, target)
        except (OSError, shutil.Error):
            continue
        if sorted(source.rglob("*")) == before:
            return


def until(done: Callable[[], bool], otherwise: str, seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.5)


def produce(bootstrap: str, numbers: Iterator[int], count: int, size: int = 0) -> int:
    """Sends the next numbers, each with spaces up to `size`; how many there are in all."""
    number = -1
    with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5) as producer:
        futures = []
        for _ in range(count):
            number = next(numbers)
            futures.append(producer.send("input", (b"%d" % number).ljust(size), b"%d" % (number % 97)))
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
