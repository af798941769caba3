"""Voters that change, as processes: fixed ones that are upgraded, ones that join by themselves or move."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mixed_cluster import QUORUM_VOTERS, MoldauNode
from node_process import MOLDAU
from patience import wait_until

from moldau.client.admin import describe_cluster
from moldau.client.admin.quorum import ControllerEndpoint, add_voter, remove_voter
from moldau.client.cluster import Cluster
from moldau.errors import MoldauError
from moldau.supervision.layout import hold_ports
from moldau.types import uuid_from_text

pytestmark = pytest.mark.long
BOOTSTRAP = "controller.quorum.bootstrap.servers"
# Times in which a voter comes or goes and somebody is killed.
ROUNDS = 8
AUTO_JOIN = {"controller.quorum.auto.join.enable": "true"}


class Nodes:
    """Three nodes of ours, each broker and controller, by number."""

    def __init__(self, directory: Path) -> None:
        ports = iter(hold_ports(6))
        self._nodes = {
            number: MoldauNode(
                number, "broker,controller", directory, {"PLAINTEXT": next(ports), "CONTROLLER": next(ports)}
            )
            for number in (1, 2, 3)
        }

    def __getitem__(self, number: int) -> MoldauNode:
        return self._nodes[number]

    @property
    def controllers(self) -> list[str]:
        return [node.address("CONTROLLER") for node in self._nodes.values()]

    @property
    def fixed(self) -> dict[str, str]:
        return {QUORUM_VOTERS: ",".join(f"{number}@{place}" for number, place in enumerate(self.controllers, 1))}

    @property
    def changing(self) -> dict[str, str]:
        return {BOOTSTRAP: ",".join(self.controllers)}

    def run(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        bootstrap = ",".join(node.address("PLAINTEXT") for node in self._nodes.values())
        command = [str(MOLDAU), *words, "--json", "-b", bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == status, done.stderr
        return done

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address("PLAINTEXT") for node in self._nodes.values())

    def tried(self, *words: str) -> bool:
        nothing = subprocess.DEVNULL
        command = [str(MOLDAU), *words, "-b", self.bootstrap]
        return subprocess.run(command, stdout=nothing, stderr=nothing, timeout=120, check=False).returncode == 0

    def key(self, number: int) -> tuple[bytes, list[ControllerEndpoint]]:
        """The directory of a controller, and where it is reached."""
        lines = (self._nodes[number].data / "meta.properties").read_text().splitlines()
        text = next(line.partition("=")[2] for line in lines if line.startswith("directory.id="))
        port = self._nodes[number].ports["CONTROLLER"]
        return uuid_from_text(text), [ControllerEndpoint("CONTROLLER", "127.0.0.1", port)]

    def voters_as_known_to(self, number: int) -> list[int]:
        command = [str(MOLDAU), "quorum", "describe", "--json", "-b", self._nodes[number].address("PLAINTEXT")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return [row["id"] for row in json.loads(done.stdout)["voters"]] if done.returncode == 0 else []

    def quorum(self) -> dict[str, Any]:
        described: dict[str, Any] = json.loads(self.run("quorum", "describe").stdout)
        return described

    def wait_for_voters(self, *numbers: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def are_there() -> bool:
            found[:] = self.quorum()["voters"]
            return [row["id"] for row in found] == list(numbers)

        wait_until(are_there, f"{numbers} vote")
        return found

    def write(self, topic: str) -> None:
        """The quorum decides: it creates a topic."""
        self.run("topics", "create", topic, "-p", "1", "-r", "1")

    def start(self) -> None:
        for node in self._nodes.values():
            node.begin()
        for node in self._nodes.values():
            node.wait()

    def close(self) -> None:
        for node in self._nodes.values():
            node.kill()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path)
    yield nodes
    nodes.close()


def test_fixed_voters_are_upgraded(nodes: Nodes) -> None:
    for number in (1, 2, 3):
        nodes[number].configure(nodes.fixed)
        nodes[number].format()
    nodes.start()
    assert "moldau quorum upgrade" in nodes.run("quorum", "remove", "3", status=1).stderr
    assert all(row["directory_id"] is None for row in nodes.quorum()["voters"])

    def is_upgraded() -> bool:
        command = [str(MOLDAU), "quorum", "upgrade", "-b", nodes[1].address("PLAINTEXT")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 or "has not told this leader yet" in done.stderr, done.stderr
        return done.returncode == 0

    wait_until(is_upgraded, "every voter has told the leader about itself")
    voters = nodes.wait_for_voters(1, 2, 3)
    assert all(row["directory_id"] is not None for row in voters)
    assert [row["endpoints"][0]["port"] for row in voters] == [nodes[n].ports["CONTROLLER"] for n in (1, 2, 3)]
    assert nodes.quorum()["observers"] == []
    features = json.loads(nodes.run("cluster", "describe", "--apis").stdout)["features"]
    assert features["kraft.version"] == 1
    # One after the other with the new setting; each remembers from its log who votes.
    for number in (1, 2, 3):
        nodes[number].stop()
        nodes[number].configure(nodes.changing)
        nodes[number].start()
    nodes.wait_for_voters(1, 2, 3)
    nodes.run("quorum", "remove", "3")
    nodes.wait_for_voters(1, 2)
    nodes.run("quorum", "add", "--server", str(nodes[3].properties))
    nodes.wait_for_voters(1, 2, 3)
    nodes[nodes.quorum()["leader"]].kill()
    nodes.write("afterwards")


def join(nodes: Nodes) -> list[dict[str, Any]]:
    """One that votes alone, and two that ask for it."""
    nodes[1].configure(nodes.changing)
    nodes[1].format("--standalone")
    for number in (2, 3):
        nodes[number].configure({**nodes.changing, **AUTO_JOIN})
        nodes[number].format("--no-initial-controllers")
    nodes.start()
    return nodes.wait_for_voters(1, 2, 3)


def test_controllers_join_by_themselves(nodes: Nodes) -> None:
    before = join(nodes)
    # With another disk it is another voter, and the one it was will never come back.
    nodes[3].kill()
    shutil.rmtree(nodes[3].data)
    nodes[3].format("--no-initial-controllers")
    nodes[3].start()

    def votes_anew() -> bool:
        return [row["directory_id"] for row in nodes.quorum()["voters"] if row["id"] == 3] not in (
            [],
            [before[2]["directory_id"]],
        )

    wait_until(votes_anew, "node 3 votes with its new disk")
    assert [row["id"] for row in nodes.quorum()["voters"]] == [1, 2, 3]
    nodes[2].kill()
    nodes.write("afterwards")


def test_a_voter_that_moved_tells_the_leader(nodes: Nodes) -> None:
    join(nodes)
    leader = nodes.quorum()["leader"]
    for number in [*(n for n in (1, 2, 3) if n != leader), leader]:
        # The last one leads until it stops: another leader has to be told, or it comes to lead again.
        nodes[number].stop()
        [nodes[number].ports["CONTROLLER"]] = hold_ports(1)
        nodes[number].configure(nodes.changing)
        nodes[number].start()

        def is_known(number: int = number) -> bool:
            [row] = [row for row in nodes.quorum()["voters"] if row["id"] == number]
            return [e["port"] for e in row["endpoints"]] == [nodes[number].ports["CONTROLLER"]]

        wait_until(is_known, f"the voters know where node {number} is reached now")
    nodes.write("afterwards")


class Asking:
    """A request to change the voters, on its way from the moment this is made."""

    def __init__(self, nodes: Nodes, who: int, joins: bool) -> None:
        directory, endpoints = nodes.key(who)
        self._change = add_voter(who, directory, endpoints) if joins else remove_voter(who, directory)
        self._client = Cluster(nodes.bootstrap, timeout=60.0)
        self._client.run(describe_cluster())  # so that a connection is there already
        self.was_done = False
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        with suppress(MoldauError):
            self._client.run(self._change)
            self.was_done = True

    @property
    def is_open(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join(120)
        assert not self.is_open
        self._client.close()


def test_voters_change_while_nodes_are_killed(nodes: Nodes, tell: Callable[[str], None]) -> None:
    """Whoever leads, joins, leaves or looks on is killed while it is asked for; asked again it is done, and all agree.

    `MOLDAU_SEED=n` repeats the choices of a run, not its timing.
    """
    seed = int(os.environ.get("MOLDAU_SEED", str(time.time_ns() % 1_000_000)))
    tell(f"MOLDAU_SEED={seed}")
    random = Random(seed)
    nodes[1].configure(nodes.changing)
    nodes[1].format("--standalone")
    for number in (2, 3):
        nodes[number].configure(nodes.changing)
        nodes[number].format("--no-initial-controllers")
    nodes.start()
    inside = 0
    for turn in range(ROUNDS):
        described = nodes.quorum()
        voting = [row["id"] for row in described["voters"]]
        who = random.choice([n for n in (1, 2, 3) if n not in voting] if len(voting) == 1 else voting)
        joins = who not in voting
        words = ("add", "--server", str(nodes[who].properties)) if joins else ("remove", str(who))
        victim = random.choice((described["leader"], who, random.choice((1, 2, 3))))
        asking = Asking(nodes, who, joins)
        time.sleep(random.uniform(0.0, 0.03))  # about when it is asked, decided, answered
        nodes[victim].kill()
        inside += asking.is_open
        nodes[victim].start()
        asking.wait()
        wanted = sorted({*voting, who}) if joins else [n for n in voting if n != who]
        now = [row["id"] for row in nodes.quorum()["voters"]]
        assert now in (wanted, voting), f"round {turn}: {words} of {voting} made them {now}"
        assert not asking.was_done or now == wanted, f"round {turn}: it was said to be done, and {now} vote"
        if now != wanted:
            wait_until(lambda: nodes.tried("quorum", *words), "it can be asked for again")  # noqa: B023
        nodes.wait_for_voters(*wanted)
        nodes.write(f"afterwards-{turn}")
        for number in (1, 2, 3):
            wait_until(lambda: nodes.voters_as_known_to(number) == wanted, f"node {number} knows who votes")  # noqa: B023
    tell(f"{inside} of {ROUNDS} times somebody died before the answer was there")
