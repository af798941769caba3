"""`moldau consume` as a member of a consumer group and of a share group: what it goes on with, and how it leaves."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from clients.interface import eventually
from node_process import MOLDAU

from moldau import KafkaAdminClient, KafkaProducer
from moldau.admin import ConfigResource, NewTopic


def moldau(bootstrap: str, *words: str) -> tuple[int, list[str], str]:
    done = subprocess.run([str(MOLDAU), *words, "-b", bootstrap], capture_output=True, text=True, timeout=90)
    return done.returncode, done.stdout.splitlines(), done.stderr


def shown(bootstrap: str, *words: str) -> Any:
    done = subprocess.run([str(MOLDAU), *words, "-b", bootstrap, "--json"], capture_output=True, timeout=90, check=True)
    return json.loads(done.stdout)


@contextmanager
def consuming(bootstrap: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([str(MOLDAU), "consume", *words, "-b", bootstrap], stdout=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.kill()


def fill(bootstrap: str, topic: str, first: int, count: int) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(first, first + count):
            producer.send(topic, b"%d" % number, partition=number % 2)


@pytest.fixture
def filled(share_bootstrap: str, topic: str) -> str:
    """A topic of two partitions with ten records, and the share group of its name begins with the oldest."""
    with KafkaAdminClient(bootstrap_servers=share_bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 2, 1)])
        admin.alter_configs([ConfigResource("group", topic, {"share.auto.offset.reset": "earliest"})])
    fill(share_bootstrap, topic, 0, 10)
    return topic


def numbers(lines: list[str]) -> list[int]:
    return sorted(map(int, lines))


def test_a_group_goes_on_where_it_stood(share_bootstrap: str, filled: str) -> None:
    words = ("consume", filled, "--group", f"{filled}-billing", "--max")
    status, first, said = moldau(share_bootstrap, *words, "4")
    assert (status, len(first)) == (0, 4), said
    assert "4 records" in said
    status, rest, said = moldau(share_bootstrap, *words, "6")
    assert (status, numbers(first + rest)) == (0, list(range(10))), said
    fill(share_bootstrap, filled, 10, 2)
    status, new, said = moldau(share_bootstrap, *words, "2", "--json")
    assert (status, sorted(json.loads(line)["value"] for line in new)) == (0, ["10", "11"]), said
    (described,) = shown(share_bootstrap, "groups", "describe", f"{filled}-billing")
    assert (described["lag"], described["members"]) == (0, [])


def test_where_a_new_group_begins(share_bootstrap: str, filled: str) -> None:
    words = ("consume", filled, "--group", f"{filled}-late", "--from", "latest", "--idle", "300ms")
    assert moldau(share_bootstrap, *words)[:2] == (0, [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_consumer_group_is_left_in_order(share_bootstrap: str, filled: str, number: signal.Signals) -> None:
    """Its session would keep its partitions from others for most of a minute."""
    group = f"{filled}-left"
    with consuming(share_bootstrap, filled, "--group", group) as run:
        assert run.stdout is not None
        assert numbers([run.stdout.readline() for _ in range(10)]) == list(range(10))
        (described,) = shown(share_bootstrap, "groups", "describe", group)
        assert len(described["members"]) == 1
        eventually(lambda: shown(share_bootstrap, "groups", "describe", group)[0]["lag"] == 0)
        run.send_signal(number)
        assert run.wait(60) == 128 + number
    (described,) = shown(share_bootstrap, "groups", "describe", group)
    assert (described["state"], described["members"], described["lag"]) == ("Empty", [], 0)


def test_a_share_group_is_left_in_order(share_bootstrap: str, filled: str) -> None:
    with consuming(share_bootstrap, filled, "--share-group", filled) as run:
        assert run.stdout is not None
        assert numbers([run.stdout.readline() for _ in range(10)]) == list(range(10))
        (described,) = shown(share_bootstrap, "share-groups", "describe", filled)
        assert len(described["members"]) == 1
        run.terminate()
        assert run.wait(60) == 128 + signal.SIGTERM
    (described,) = shown(share_bootstrap, "share-groups", "describe", filled)
    assert (described["state"], described["members"]) == ("Empty", [])


def test_sigterm_without_a_group(share_bootstrap: str, filled: str) -> None:
    """What was read is written out, however much of it there is."""
    with consuming(share_bootstrap, filled, "--follow") as run:
        assert run.stdout is not None
        assert numbers([run.stdout.readline() for _ in range(10)]) == list(range(10))
        run.terminate()
        assert run.wait(60) == 128 + signal.SIGTERM


@pytest.mark.parametrize("kind", ["--group", "--share-group"])
def test_a_topic_that_is_not_there_is_not_waited_for(share_bootstrap: str, topic: str, kind: str) -> None:
    status, _, said = moldau(share_bootstrap, "consume", topic, kind, topic)
    assert (status, said) == (1, f"moldau: There is no topic '{topic}'.\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--from", "5"], "A group goes on where it stands."),
        (["--tail", "3"], "--tail is the group's matter"),
        (["--until", "latest"], "--until is the group's matter"),
        (["--partition", "0"], "--partition is the group's matter"),
        (["--share-group", "other"], "Argument --share-group: not allowed with argument --group"),
    ],
)
def test_what_the_group_decides(share_bootstrap: str, topic: str, words: list[str], expected: str) -> None:
    status, _, said = moldau(share_bootstrap, "consume", topic, "--group", "any", *words)
    assert (status, expected in said) == (2, True), said
