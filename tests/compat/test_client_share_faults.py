"""Share groups whose members and brokers die: no record is lost, and none is accepted twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from patience import wait_until

from moldau import KafkaAdminClient, KafkaProducer
from moldau.admin import ConfigResource, NewTopic
from moldau.testing import Cluster

WORKER = Path(__file__).with_name("share_worker.py")
SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.max.delivery.count.limit": "25",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.session.timeout.ms": "2000",
    "group.share.session.timeout.ms": "6000",
    "share.coordinator.state.topic.num.partitions": "6",
    "offsets.topic.num.partitions": "3",
}


class Said(NamedTuple):
    """How often each record was accepted, those of which nobody can know it, the counts each was delivered with, and
    the one it was accepted with."""

    accepted: Counter[int]
    perhaps: set[int]
    counts: dict[int, list[int]]
    last: dict[int, int]


class Group:
    """Members of a share group as processes, and what they have written."""

    def __init__(self, bootstrap: str, topic: str, directory: Path) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.directory = directory
        self.running: list[subprocess.Popen[bytes]] = []
        self.started = 0

    def join(self, one_in: int = 0) -> None:
        self.started += 1
        with (self.directory / f"{self.started}.txt").open("wb") as lines:
            command = [sys.executable, str(WORKER), self.bootstrap, self.topic, self.topic, str(one_in)]
            self.running.append(subprocess.Popen(command, stdout=lines))

    def bury(self) -> None:
        """Those that died by themselves."""
        self.running = [member for member in self.running if member.poll() is None]

    def end(self, member: subprocess.Popen[bytes], how: signal.Signals) -> None:
        self.running.remove(member)
        member.send_signal(how)
        member.wait(60)

    def said(self) -> Said:
        accepted: Counter[int] = Counter()
        perhaps: set[int] = set()
        counts: dict[int, list[int]] = {}
        last: dict[int, int] = {}
        for path in self.directory.glob("*.txt"):
            told: dict[str, dict[int, int]] = {}
            # A line that a kill cut short was said of records that nobody was told of.
            for line in path.read_text().split("\n")[:-1]:
                what, *words = line.split(" ")
                if what == "told":
                    each = (word.split(":") for word in words[1].split(","))
                    told[words[0]] = {int(value): int(count) for value, count in each}
                    for value, count in told[words[0]].items():
                        counts.setdefault(value, []).append(count)
                elif what == "accepted":
                    last |= told[words[0]]
                    accepted.update(told.pop(words[0]).keys())
                elif what == "dropped":
                    del told[words[0]]
                elif what == "failed":
                    perhaps.update(told.pop(words[0]))
            for values in told.values():
                perhaps.update(values)
        return Said(accepted, perhaps, counts, last)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(3, settings=SETTINGS) as cluster:
        yield cluster


def filled(cluster: Cluster, topic: str, partitions: int, count: int) -> None:
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, partitions, 3, topic_configs={"min.insync.replicas": "2"})])
        settings = {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": "3000",
            "share.delivery.count.limit": "25",
        }
        admin.alter_configs([ConfigResource("group", topic, settings)])
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", linger_ms=5) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, partition=number % partitions)


@pytest.mark.ours_only("the cluster is of our nodes")
def test_a_leader_that_is_killed_with_records_in_flight(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    count = 3000
    filled(cluster, topic, 6, count)
    group = Group(cluster.bootstrap_servers, topic, tmp_path)
    for _ in range(3):
        group.join()
    try:
        wait_until(lambda: sum(group.said().accepted.values()) > count // 10, "some are accepted")
        killed = cluster.leader_of(topic, 0)
        killed.kill()
        wait_until(lambda: cluster.leader_of(topic, 0) is not killed, "somebody else leads")
        wait_until(lambda: _all_known(group, count), "the rest is accepted")
        killed.start()
        accepted, perhaps, *_ = group.said()
        assert set(accepted.values()) == {1}
        assert accepted.keys() | perhaps == set(range(count))
    finally:
        for member in tuple(group.running):
            group.end(member, signal.SIGTERM)
    assert set(group.said().accepted.values()) == {1}


def _all_known(group: Group, count: int) -> bool:
    accepted, perhaps, *_ = group.said()
    return len(accepted.keys() | perhaps) == count


@pytest.mark.long
@pytest.mark.ours_only("the cluster is of our nodes")
def test_members_that_come_go_and_die(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    count, chance = 200_000, random.Random(1)
    filled(cluster, topic, 6, count)
    group = Group(cluster.bootstrap_servers, topic, tmp_path)
    ends: Counter[signal.Signals] = Counter()
    try:
        deadline = time.monotonic() + 900
        while not _all_known(group, count):
            assert time.monotonic() < deadline, f"{len(group.said().accepted)} of {count} are accepted"
            group.bury()
            while len(group.running) < 12:
                group.join(one_in=20)
            time.sleep(1)  # they work meanwhile; what is waited for is looked at above
            how = chance.choice((signal.SIGKILL, signal.SIGTERM))
            group.end(chance.choice(group.running), how)
            ends[how] += 1
    finally:
        for member in tuple(group.running):
            group.end(member, signal.SIGTERM)
    accepted, perhaps, counts, last = group.said()
    assert set(accepted.values()) == {1}
    assert accepted.keys() | perhaps == set(range(count))
    # No broker died, so none forgot a delivery: each has a count of its own, and what was accepted came no more.
    assert all(len(each) == len(set(each)) for each in counts.values())
    assert all(count == max(counts[value]) for value, count in last.items())
    assert {count for each in counts.values() for count in each} <= set(range(1, 26))
    assert any(len(each) > 1 for each in counts.values()), "nobody died with records in his hands"
    assert min(ends.values()) > 0
