"""Pipelines on Spark, as their files tell of them: written by what writes them when a pipeline runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser
from console_process import PATIENCE, ConsoleProcess
from program import Program

from moldau import KafkaAdminClient, KafkaProducer
from moldau.admin import NewTopic
from moldau.testing import Cluster

# A process that says what a running pipeline says, until it is killed.
SAYS = """
import sys
from moldau.spark.pipeline import load
from moldau.spark.pipeline.measures import Measure
from moldau.spark.pipeline.status import StatusFile
file = StatusFile(load(sys.argv[1]), "local[2]")
measure = Measure("revenue", "running", 7, 1234, 99.6, 0.31, 12, 2048, 3, "2026-05-04T08:00:00.000Z", 0)
measure.positions = {"piped": {"0": 2}}
print("ready", flush=True)
for line in sys.stdin:
    file.write("running", [measure], error=line.strip() or None, restarts=1)
    print("said", flush=True)
"""


class Saying:
    def __init__(self, declared: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SAYS, str(declared)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._hear()

    def say(self, error: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{error}\n")
        self.process.stdin.flush()
        self._hear()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline()


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("pipelines")
    words = [sys.executable, "-m", "moldau", "pipeline", "new", "orders.yaml"]
    subprocess.run(words, cwd=here, check=True, capture_output=True)
    return here / "orders.yaml"


@pytest.fixture(scope="module")
def saying(declared: Path) -> Iterator[Saying]:
    saying = Saying(declared)
    with saying.process:
        yield saying
        saying.process.kill()


@pytest.fixture(scope="module")
def watching(cluster: Cluster, declared: Path) -> Iterator[ConsoleProcess]:
    with ConsoleProcess(cluster.bootstrap_servers, "--pipelines", str(declared.parent)) as console:
        yield console


def test_progress_of_a_pipeline_is_shown_and_a_killed_one_is_known(
    chromium: Browser, watching: ConsoleProcess, saying: Saying, admin: KafkaAdminClient, producer: KafkaProducer
) -> None:
    admin.create_topics([NewTopic("piped", 1, 1)])
    for number in range(5):
        producer.send("piped", str(number).encode())
    producer.flush()
    chromium.base = watching.address
    chromium.open("/pipelines", "Pipelines")
    chromium.see("No pipeline has run yet")
    saying.say()
    chromium.see("orders", "running", "1,234", "100/s")
    chromium.click("orders")
    chromium.heading("orders")
    # Behind by what the topic has now, not by what it had at the last batch.
    chromium.see("revenue", "3 too late", "12 rows", "2026-05-04T08:00:00.000Z", "local[2]", "restarted 1 time")
    chromium.wait(lambda: chromium.one("//main//tbody/tr[1]/td[7]").text == "3", "three records behind")
    chromium.click("piped")
    chromium.heading("piped")
    chromium.driver.back()
    saying.say("<img src=x onerror=alert(1)>")
    chromium.see("The last failure: <img src=x onerror=alert(1)>")
    saying.process.kill()
    saying.process.wait()
    chromium.see("its process is gone", "killed")
    assert chromium.complaints() == []


def test_what_is_no_status_harms_nobody(watching: ConsoleProcess, declared: Path) -> None:
    program = Program(watching.address)
    os.mkfifo(declared.parent / "pipe.status.json")
    huge = {"pipeline": "huge", "state": "finished", "pid": 10**400, "started": 1e300,
            "queries": [{"query": 5, "rows": 10**30, "lag": True, "positions": {"a": {"x": 1}}}, 7]}  # fmt: skip
    for name, content in (
        ("cut", b'{"pipeline": "cu'),
        ("list", b"[]"),
        ("deep", b"[" * 100_000),
        ("bytes", bytes(range(256))),
        ("huge", json.dumps(huge).encode()),
    ):
        (declared.parent / f"{name}.status.json").write_bytes(content)
    deadline = time.monotonic() + PATIENCE
    while "huge" not in (page := program.get("/pipelines").text) and time.monotonic() < deadline:
        pass
    assert "huge" in page
    assert "cut" not in page
    assert "finished" in page
    path = (declared.parent / "huge.status.json").resolve()
    assert program.get(f"/pipeline?file={path}").status == 200
    # Only what was found may be looked at.
    assert program.get("/pipeline?file=/etc/passwd").status == 404


def test_nothing_is_looked_for_unless_somebody_says_where(program: Program) -> None:
    assert "--pipelines DIR" in program.get("/pipelines").text
