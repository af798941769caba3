"""A cluster of 5,000 partitions and 1,000 groups: the pages are there, each of a bounded size, in bounded memory.

`pytest -s -m long tests/console/test_console_large.py` prints how long each takes; docs/operating/console.md quotes it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from console_process import PATIENCE, ConsoleProcess
from program import Program

from moldau import KafkaAdminClient, KafkaProducer
from moldau.admin import NewTopic
from moldau.client.admin.groups import commit_positions
from moldau.client.cluster import Cluster as Line
from moldau.testing import Cluster
from moldau.types import TopicPartition

pytestmark = pytest.mark.long

TOPICS, PARTITIONS, GROUPS = 500, 10, 1000
# Pages, and words that are on them when they are complete.
PAGES = {
    "/": "5,000 partitions",
    "/topics": "50 of 500 topics",
    "/topics?sort=-size&q=07": "topic-0007",
    "/topics/topic-0001": "group-0501",
    "/topics/topic-0001/records": "20 records",
    "/groups": "50 of 1,000 groups",
    "/groups?sort=-lag&page=20": "1,000 of 1,000 groups",
    "/group?name=group-0500": "topic-0000",
    "/share-groups": "No share group yet",
    "/transactions": "No transaction yet",
    "/brokers": "Brokers",
    "/brokers/1": "50 of 5,004 replicas",
    "/quorum": "Quorum",
    "/settings": "Settings",
    "/explain": "Groups that nobody is in",
}
LOOKS = 7


@pytest.fixture(scope="module")
def large() -> Iterator[Cluster]:
    with Cluster() as cluster:
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
            for first in range(0, TOPICS, 50):
                admin.create_topics([NewTopic(f"topic-{n:04}", PARTITIONS, 1) for n in range(first, first + 50)])
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for number in range(TOPICS * PARTITIONS * 2):
                producer.send(f"topic-{number % TOPICS:04}", b"%d" % number, partition=number // TOPICS % PARTITIONS)
            producer.flush()
        line = Line(cluster.bootstrap_servers)
        for number in range(GROUPS):
            topic = f"topic-{number % TOPICS:04}"
            places = {TopicPartition(topic, partition): 1 for partition in range(PARTITIONS)}
            line.run(commit_positions(f"group-{number:04}", places))
        line.close()
        yield cluster


def test_every_page_is_bounded(large: Cluster) -> None:
    with ConsoleProcess(large.bootstrap_servers) as console:
        program = Program(console.address)
        deadline = time.monotonic() + PATIENCE
        while "5,000 partitions" not in program.get("/").text and time.monotonic() < deadline:
            time.sleep(0.1)
        assert "1,000 groups" in program.get("/").text
        assert "10,000</b><span>behind" in program.get("/").text
        for path, words in PAGES.items():
            answer = program.get(path)
            assert words in answer.text, path
            assert len(answer.text) < 100_000, path
        took = {path: sorted(seconds(program, path) for _ in range(LOOKS)) for path in PAGES}
        print()
        for path, times in took.items():
            print(f"{path:28} {times[LOOKS // 2] * 1000:6.1f} ms, at most {times[-1] * 1000:6.1f}")
        status = Path(f"/proc/{console.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        assert int(found[1]) < 150_000


def seconds(program: Program, path: str) -> float:
    began = time.monotonic()
    assert program.get(path).status == 200
    return time.monotonic() - began
