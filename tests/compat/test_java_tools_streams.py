"""An application of Kafka Streams with `group.protocol=streams`: two instances, of which one is killed."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from java_tools import JAVA, KafkaTools, find_libs
from node_process import MOLDAU, NodeProcess, StartNode
from patience import wait_until

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
]

TASKS = {f"{subtopology}_{number}" for subtopology in (0, 1) for number in range(4)}
# So that one that was killed is not waited for longer than a test should.
SETTINGS = {
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.num.standby.replicas": "1",
    "group.streams.initial.rebalance.delay.ms": "0",
}


class Instance:
    """Of WordCount.java."""

    def __init__(self, tools: KafkaTools, bootstrap: str, directory: Path, name: str) -> None:
        self.said_in = directory / f"{name}.log"
        program = str(Path(__file__).parent / "java" / "WordCount.java")
        words = (bootstrap, "words", str(directory / name), "lines", "counts")
        level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        with self.said_in.open("wb") as out:
            self.process = subprocess.Popen(
                [*JAVA, level, "-cp", tools.class_path, program, *words], stdin=subprocess.PIPE, stdout=out, stderr=out
            )

    def said(self) -> str:
        return self.said_in.read_text()

    def tasks(self, kind: str) -> set[str]:
        """Of those it runs (+) or keeps copies of (~), as it told last."""
        told = re.findall(r"^tasks (.*)$", self.said(), re.MULTILINE)
        return {word[1:] for word in told[-1].split() if word[0] == kind} if told else set()

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def node(start_node: StartNode) -> NodeProcess:
    return start_node(SETTINGS)


@pytest.fixture
def instances(node: NodeProcess, tmp_path: Path) -> Iterator[list[Instance]]:
    assert isinstance(_libs, Path)
    tools = KafkaTools(_libs)
    moldau(node, "topics", "create", "lines", "--partitions", "4")
    moldau(node, "topics", "create", "counts", "--partitions", "1")
    started = [Instance(tools, node.bootstrap, tmp_path, name) for name in ("one", "two")]
    yield started
    for each in started:
        each.kill()


def moldau(node: NodeProcess, *words: str, given: str = "") -> str:
    command = [str(MOLDAU), *words, "-b", node.bootstrap]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def counted(node: NodeProcess) -> dict[str, int]:
    """The last count of each word."""
    read = moldau(node, "consume", "counts", "--format", "{key} {value:hex}", "-q")
    return {word: int(count, 16) for word, count in (line.split() for line in read.splitlines())}


def test_two_instances_share_the_work_and_one_takes_over(node: NodeProcess, instances: list[Instance]) -> None:
    one, two = instances

    def is_shared() -> bool:
        runs = [each.tasks("+") for each in instances]
        kept = [each.tasks("~") for each in instances]
        stateful = {task for task in TASKS if task.startswith("1")}
        return runs[0] | runs[1] == TASKS and [len(each) for each in runs] == [4, 4] and kept[0] | kept[1] == stateful

    wait_until(is_shared)
    moldau(node, "produce", "lines", given="a b a\nb c\n" * 10)
    wait_until(lambda: counted(node) == {"a": 20, "b": 20, "c": 10})

    (described,) = json.loads(moldau(node, "groups", "describe", "words", "--json"))
    assert (described["type"], described["state"], described["missing_topics"]) == ("streams", "Stable", [])
    assert len({member["process"] for member in described["members"]}) == 2
    assert sorted(copy for member in described["members"] for copy in member["copies"]) == ["1_0", "1_1", "1_2", "1_3"]
    read = sorted(where for member in described["members"] for where in member["assigned"])
    assert read == [[topic, number] for topic in ("lines", "words-words-repartition") for number in range(4)]
    assert re.search(
        r"^words: streams group, Stable, 2 members, epoch \d+,", moldau(node, "groups", "describe", "words")
    )
    assert "COPIES OF TASKS" in moldau(node, "groups", "describe", "words", "--members")
    explained = json.loads(moldau(node, "explain", "group", "words", "--json"))
    assert explained["since"] is not None
    assert "Every member has what it should have." in [row["fact"] for row in explained["findings"]]
    assert isinstance(_libs, Path)
    tools, at = KafkaTools(_libs), ("--bootstrap-server", node.bootstrap)
    assert "Stable" in tools.run("StreamsGroupCommand", *at, "--describe", "--group", "words", "--state")
    shown = tools.run("StreamsGroupCommand", *at, "--describe", "--group", "words", "--members")
    assert all(process in shown for process in {member["process"] for member in described["members"]})

    two.kill()
    moldau(node, "produce", "lines", given="c d\n" * 5)
    wait_until(lambda: one.tasks("+") == TASKS)
    wait_until(lambda: counted(node) == {"a": 20, "b": 20, "c": 15, "d": 5})
    assert one.end() == 0
    assert "No instance of the application runs." in moldau(node, "explain", "group", "words")
    tools.run("StreamsGroupCommand", *at, "--delete", "--group", "words")
    assert moldau(node, "groups", "list") == ""
