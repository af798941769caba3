"""Two processes with one node.id among voters of the settings: the second one finds the first at its own address."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from moldau.config.broker import BrokerConfig
from moldau.deferred import Deferred
from moldau.links.errors import ConnectionFailed
from moldau.node.identity import NodeError
from moldau.node.own_address import OwnAddress, voter_address
from moldau.protocol.messages.api_versions import ApiVersionsResponse
from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import VirtualClock
from moldau.simulation.loop import Schedule, SimulatedLoop

VOTERS = "3@one:9093,4@two:9093,5@three:9093"


def config(node_id: int = 3, voters: str = VOTERS, roles: str = "controller") -> BrokerConfig:
    broker = "PLAINTEXT://127.0.0.1:0" if "broker" in roles else ""
    controller = "CONTROLLER://127.0.0.1:0" if "controller" in roles else ""
    return BrokerConfig.parse(
        {
            "process.roles": roles,
            "node.id": str(node_id),
            "listeners": ",".join(filter(None, (broker, controller))),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
        }
    )


def test_only_who_votes_with_others_by_the_settings_has_an_address_to_look_at() -> None:
    assert str(voter_address(config())) == "one:9093"
    assert str(voter_address(config(4, roles="broker,controller"))) == "two:9093"
    assert voter_address(config(voters="3@one:9093")) is None
    assert voter_address(config(7, roles="broker")) is None
    assert voter_address(BrokerConfig.parse({})) is None


class Stage:
    """One controller, and whatever is at its address."""

    def __init__(self, settings: BrokerConfig) -> None:
        self.schedule = Schedule(VirtualClock())
        runtime = SimpleNamespace(loop=SimulatedLoop(self.schedule), random=SeededRandom(1))
        self.services: Any = SimpleNamespace(runtime=runtime, own_call=None)
        self.asked: list[tuple[Any, Deferred[Any]]] = []
        self.forgotten: list[Any] = []
        self.failures: list[NodeError] = []
        self.own = OwnAddress(settings, self, self.services, self.failures.append)  # type: ignore[arg-type]

    def ask(self, address: Any, request: Any, *, timeout: float, line: str) -> Deferred[Any]:
        assert str(address) == "one:9093"
        answer: Deferred[Any] = Deferred()
        self.asked.append((request.decode(request.encode(4), 4), answer))
        return answer

    def forget(self, address: Any, line: str) -> None:
        self.forgotten.append(address)


@pytest.fixture
def stage() -> Stage:
    return Stage(config())


def test_who_hears_its_own_call_is_content(stage: Stage) -> None:
    stage.own.check()
    ((request, answer),) = stage.asked
    stage.services.own_call.hear("4.1")
    stage.services.own_call.hear(request.client_software_version)
    answer.resolve(ApiVersionsResponse())
    stage.schedule.run_for(600)
    assert (len(stage.asked), stage.failures, len(stage.forgotten)) == (1, [], 1)


def test_who_is_answered_by_another_ends(stage: Stage) -> None:
    stage.own.check()
    stage.services.own_call.hear("4.1")
    stage.asked[0][1].resolve(ApiVersionsResponse())
    (failure,) = stage.failures
    assert "node 3 is reached at one:9093, but another process answers there" in str(failure)


def test_where_nobody_answers_it_is_tried_again_until_somebody_does(stage: Stage) -> None:
    stage.own.check()
    for number in range(20):
        stage.asked[number][1].fail(ConnectionFailed("nobody"))
        stage.schedule.run_for(5.1)
        assert len(stage.asked) == number + 2
    stage.asked[-1][1].resolve(ApiVersionsResponse())
    assert len(stage.failures) == 1


def test_once_closed_it_asks_and_says_nothing(stage: Stage) -> None:
    stage.own.check()
    stage.asked[0][1].fail(ConnectionFailed("nobody"))
    stage.own.close()
    stage.schedule.run_for(60)
    assert len(stage.asked) == 1
    late = Stage(config())
    late.own.check()
    late.own.close()
    late.asked[0][1].resolve(ApiVersionsResponse())
    assert late.failures == []


def test_who_has_no_such_address_calls_nobody() -> None:
    stage = Stage(config(voters="3@one:9093"))
    stage.own.check()
    assert (stage.asked, stage.services.own_call) == ([], None)


# ---------------------------------------------------------------------------------------------------- with processes


def command(data: Path, node_id: int, port: int, ports: list[int]) -> list[str]:
    settings = {
        "process.roles": "controller",
        "node.id": str(node_id),
        "listeners": f"CONTROLLER://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(f"{3 + index}@127.0.0.1:{each}" for index, each in enumerate(ports)),
    }
    given = [text for name, value in settings.items() for text in ("--set", f"{name}={value}")]
    return [
        sys.executable,
        "-m",
        "moldau",
        "start",
        "--data",
        str(data),
        "--cluster-id",
        "MkU3OEVBNTcwNTJENDM2Qg",
        *given,
    ]


def test_a_second_process_with_the_id_of_a_voter_ends_with_a_sentence(tmp_path: Path) -> None:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    first = subprocess.Popen(command(tmp_path / "a", 3, ports[0], ports), stderr=subprocess.PIPE, text=True)
    assert first.stderr is not None
    try:
        # It listens when it says so: the quorum is joined after that.
        while "moldau.raft" not in first.stderr.readline():
            assert first.poll() is None
        second = subprocess.run(
            command(tmp_path / "b", 3, 0, ports), capture_output=True, text=True, timeout=60, check=False
        )
        assert second.returncode == 1
        assert second.stderr.rstrip().splitlines()[-1] == (
            f"moldau: controller.quorum.voters says that node 3 is reached at 127.0.0.1:{ports[0]}, but another "
            "process answers there: every node needs a node.id and an address of its own."
        )
        assert first.poll() is None
    finally:
        first.terminate()
        first.communicate(timeout=60)
