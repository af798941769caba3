"""Three nodes that let nobody in without a login, not even each other: PLAIN at controllers, SCRAM at brokers, or
whatever the settings say instead."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from node_process import MOLDAU
from secured_node import MODULES

from moldau.supervision.layout import hold_ports

CLUSTER = "q1Sh-9_ISia_zwGINzRvyQ"
NODES = (1, 2, 3)
# So short that every connection between nodes has to be renewed while the test looks on.
SESSION_MS = 3000
PATIENCE = 60.0


def voters_at(ports: list[int]) -> str:
    return ",".join(f"{number}@127.0.0.1:{port}" for number, port in zip(NODES, ports, strict=True))


def settings_of(number: int, brokers: list[int], controllers: list[int], **more: str) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": str(number),
        "listeners": f"SASL://127.0.0.1:{brokers[number - 1]},CONTROLLER://127.0.0.1:{controllers[number - 1]}",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "SASL",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(
            f"{n}@127.0.0.1:{port}" for n, port in zip(NODES, controllers, strict=True)
        ),
        "listener.name.sasl.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": (
            f'{MODULES}.scram.ScramLoginModule required username="node" password="of-nodes";'
        ),
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": (
            f'{MODULES}.plain.PlainLoginModule required username="node" password="of-controllers" '
            'user_node="of-controllers";'
        ),
        "connections.max.reauth.ms": str(SESSION_MS),
        "offsets.topic.num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
        **more,
    }


def format_node(data: Path, settings: dict[str, str]) -> None:
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    users = ["SCRAM-SHA-512=[name=node,password=of-nodes]", "SCRAM-SHA-512=[name=jan,password=secret]"]
    scram = [word for user in users for word in ("--add-scram", user)]
    done = subprocess.run(
        [str(MOLDAU), "storage", "format", "--cluster-id", CLUSTER, "--data", str(data), *given, *scram],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


class Trio:
    def __init__(self, directory: Path, environment: Mapping[str, str] | None = None, **more: str) -> None:
        ports = hold_ports(2 * len(NODES))
        brokers, controllers = ports[: len(NODES)], ports[len(NODES) :]
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in brokers)
        self.voters = voters_at(controllers)
        settings = [settings_of(number, brokers, controllers, **more) for number in NODES]
        for number, given in zip(NODES, settings, strict=True):
            format_node(directory / f"node{number}", given)
        # Two of them are needed before any is ready, so they are started side by side.
        started = [
            subprocess.Popen(
                [
                    *(str(MOLDAU), "start", "--data", str(directory / f"node{number}")),
                    *(word for name, value in given.items() for word in ("--set", f"{name}={value}")),
                ],
                stdout=subprocess.PIPE,
                stderr=(directory / f"node{number}.log").open("wb"),
                env={**os.environ, **(environment or {})},
            )
            for number, given in zip(NODES, settings, strict=True)
        ]
        self.processes = started
        self.logs = [directory / f"node{number}.log" for number in NODES]
        for process in started:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith(b"ready "), self.tail()

    def tail(self) -> str:
        return "\n".join(log.read_text(errors="replace")[-1500:] for log in self.logs)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
