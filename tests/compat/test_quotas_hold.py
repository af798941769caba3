"""Two clients compete for ten seconds, one with a quota: it gets what that allows, and the other one what it got alone.

How fast the other one is depends on the machine and is printed, not judged; that nobody told it to wait is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from node_process import StartNode
from quota_load import TOPIC, VALUE
from test_quotas_through_clients import limit

from moldau import KafkaProducer

pytestmark = [pytest.mark.long, pytest.mark.ours_only("Kafka gives ten seconds' worth in advance")]

SECONDS = 10
# As much as each of them can do on a busy machine.
BOUNDS = {"confluent": 2_000_000, "kafka-python": 200_000}
KEYS = {"produce": "producer_byte_rate", "consume": "consumer_byte_rate"}
STORED = 60_000
PATIENCE = 120


class Outcome(NamedTuple):
    rate: float
    waited: float


def compete(work: str, client: str, bootstrap: str, *names: str) -> dict[str, Outcome]:
    program = str(Path(__file__).with_name("quota_load.py"))
    running = {
        name: subprocess.Popen(
            [sys.executable, program, work, client, bootstrap, name, str(SECONDS)], stdout=subprocess.PIPE, text=True
        )
        for name in names
    }
    found = {}
    for name, process in running.items():
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        numbers = json.loads(said)
        found[name] = Outcome(numbers["bytes"] / SECONDS, numbers["waited"])
    return found


@pytest.mark.parametrize("client", BOUNDS)
@pytest.mark.parametrize("work", KEYS)
def test_a_quota_holds_beside_a_client_without_one(
    start_node: StartNode, capsys: pytest.CaptureFixture[str], work: str, client: str
) -> None:
    bound, bootstrap = BOUNDS[client], start_node({}).bootstrap
    if work == "consume":
        with KafkaProducer(bootstrap_servers=bootstrap) as producer:
            for _ in range(STORED):
                producer.send(TOPIC, VALUE, partition=0)
    limit(bootstrap, {"client-id": "bound"}, **{KEYS[work]: bound})
    alone = compete(work, client, bootstrap, "free")["free"]
    both = compete(work, client, bootstrap, "bound", "free")
    with capsys.disabled():
        print(
            f"\n{client} {work}: {both['bound'].rate / bound:.0%} of {bound / 1e6:.1f} MB/s; the one without a quota "
            f"{both['free'].rate / 1e6:.1f} MB/s beside it, {alone.rate / 1e6:.1f} alone"
        )
    assert both["free"].waited == 0
    assert 0.9 * bound <= both["bound"].rate <= 1.1 * bound
