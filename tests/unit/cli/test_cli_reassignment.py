"""Plans as Kafka's own tool writes and reads them, and what is refused before anybody is asked."""

from __future__ import annotations

import pytest
from moldau_command import RunMoldau

from moldau.cli.failure import Failure
from moldau.cli.reassignment import broker_ids, plan_json, read_plan
from moldau.client.admin.throttles import ReplicaMove
from moldau.types import TopicPartition

PLAN = """{"version":1,"partitions":[
    {"topic":"t","partition":1,"replicas":[2,3],"log_dirs":["any","any"]},
    {"topic":"t","partition":0,"replicas":[1]}]}"""


def test_kafkas_plans() -> None:
    plan = read_plan(PLAN)
    assert plan == {TopicPartition("t", 1): (2, 3), TopicPartition("t", 0): (1,)}
    assert plan_json(plan) == {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": 0, "replicas": [1]},
            {"topic": "t", "partition": 1, "replicas": [2, 3]},
        ],
    }


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"partitions": [{"topic": "t"}]}', '{"partitions": [{"topic": "t", "partition": "x"}]}']
)
def test_what_is_no_plan(text: str) -> None:
    with pytest.raises(Failure, match="That is not a plan"):
        read_plan(text)


@pytest.mark.parametrize("replicas", ["[]", "[1, 1]"])
def test_plans_that_no_cluster_takes(replicas: str) -> None:
    with pytest.raises(Failure, match="at least one broker, and each of them once"):
        read_plan(f'{{"partitions": [{{"topic": "t", "partition": 0, "replicas": {replicas}}}]}}')


def test_what_is_copied_and_dropped() -> None:
    move = ReplicaMove((1, 2, 3), (2, 4))
    assert (move.adding, move.removing) == ((4,), (1, 3))


def test_broker_ids() -> None:
    assert broker_ids("3,1,3") == [3, 1]
    with pytest.raises(ValueError, match="not a list of broker ids"):
        broker_ids("1,x")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["topics", "reassign"], "Name topics and where to move them"),
        (["topics", "reassign", "t"], "Name topics and where to move them"),
        (["topics", "reassign", "t", "--plan", "p"], "--plan says all there is to say"),
        (["topics", "reassign", "--verify", "--replicas", "2"], "--verify and --cancel take topics"),
        (["topics", "elect-leaders", "--unclean"], "name the topics it is for"),
        (["topics", "elect-leaders", "--partition", "1"], "--partition belongs to one topic"),
        (["quorum", "add"], "Give --server, or the ID with --directory-id and --endpoint"),
        (["quorum", "add", "4", "--endpoint", "node-4:9093"], "is not an endpoint; write it as in CONTROLLER://"),
        (["quorum", "remove", "4", "--directory-id", "x"], "is not a Kafka id"),
    ],
)
def test_what_is_refused_before_anybody_is_asked(moldau: RunMoldau, arguments: list[str], sentence: str) -> None:
    result = moldau(*arguments)
    assert result.returncode == 2
    assert sentence in result.stderr.decode()
    assert result.stderr.count(b"\n") == 1


def test_a_plan_that_cannot_be_read(moldau: RunMoldau) -> None:
    result = moldau("topics", "reassign", "--plan", "/no/such/plan", "-b", "127.0.0.1:1")
    assert (result.returncode, result.stderr) == (1, b"moldau: /no/such/plan: No such file or directory.\n")
