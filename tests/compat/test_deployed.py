"""What `deploy/` says, done: three nodes with the variables of the manifests, and the health check of the image.

The container itself is Debian, a user and a volume, and needs a builder: docs/operating/deploying.md says where it was
built and tried."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from node_process import MOLDAU, READY_SECONDS, STOP_SECONDS
from patience import wait_until

from clients import EARLIEST, ConfluentKafka, Message
from deploy_files import DEPLOY, settings_of_the_image, variables
from moldau.supervision.layout import reserve

pytestmark = pytest.mark.ours_only("it is about how our nodes are deployed")
IS_READY = DEPLOY / "container" / "is-ready"


class Pod:
    """One node of the stateful set, where the names and the ports of pods are other ports of this machine."""

    def __init__(self, ordinal: int, ports: dict[str, int], directory: Path) -> None:
        here = {name: self._here(value, ports, ordinal) for name, value in variables(ordinal).items()}
        # The image's own file, with the volume somewhere else.
        properties = directory / f"server-{ordinal}.properties"
        given = settings_of_the_image() | {"log.dirs": str(directory / f"data-{ordinal}")}
        given["metrics.listener"] = f"127.0.0.1:{ports[f'{ordinal}:9404']}"
        properties.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
        self.metrics = given["metrics.listener"]
        self.log = directory / f"node-{ordinal}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(MOLDAU), "start", str(properties), "--env"],
                env={**os.environ, **here},
                stdout=subprocess.PIPE,
                stderr=log,
            )

    @staticmethod
    def _here(value: str, ports: dict[str, int], ordinal: int) -> str:
        """An address of a pod, or of this one on all of its interfaces."""
        value = re.sub(r"//:", f"//moldau-{ordinal}.moldau-nodes:", value)
        return re.sub(
            r"moldau-(\d)\.moldau-nodes[\w.]*:(\d+)",
            lambda place: f"127.0.0.1:{ports[f'{place[1]}:{place[2]}']}",
            value,
        )

    def wait_ready(self) -> str:
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], READY_SECONDS)
        line = self.process.stdout.readline().decode() if readable else ""
        assert line.startswith("ready "), self.log.read_text()
        return line.removeprefix("ready ").strip()

    def health(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, IS_READY],
            env={**os.environ, "KAFKA_METRICS_LISTENER": self.metrics},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[list[Pod]]:
    with ExitStack() as stack:
        places = {
            f"{ordinal}:{port}": stack.enter_context(reserve()).getsockname()[1]
            for ordinal in range(3)
            for port in (9092, 9093, 9404)
        }
        found = []
        for ordinal in range(3):
            found.append(Pod(ordinal, places, tmp_path))
            stack.callback(found[-1].close)
        yield found


def test_three_nodes_start_and_end_with_the_variables_of_the_manifests(pods: list[Pod]) -> None:
    bootstrap = ",".join([pod.wait_ready() for pod in pods])
    client = ConfluentKafka(bootstrap)
    client.produce("rivers", [Message(value=b"vltava")])
    assert client.consume("rivers", EARLIEST, 1)[0].value == b"vltava"
    described = subprocess.run(
        [str(MOLDAU), "topics", "describe", "rivers", "--json", "--bootstrap", bootstrap],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert re.findall(r'"replicas": \[\s*\d,\s*\d,\s*\d\s*\]', described.stdout)

    health = pods[0].health()
    assert (health.returncode, health.stderr) == (0, ""), health.stdout
    pods[0].process.send_signal(signal.SIGTERM)
    assert pods[0].process.wait(STOP_SECONDS) == 0
    gone = pods[0].health()
    assert gone.returncode == 1
    assert "nothing answers" in gone.stderr


def test_a_node_that_is_not_ready_is_not_healthy(pods: list[Pod]) -> None:
    """One voter of three that is there alone: it lives, and nobody should be sent to it."""
    for pod in pods[1:]:
        pod.close()
    wait_until(lambda: "/metrics" in pods[0].log.read_text())
    health = pods[0].health()
    assert health.returncode == 1
    assert health.stdout.strip(), health.stderr
