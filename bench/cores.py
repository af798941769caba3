"""What a node for each core brings: `moldau start` and `moldau start --nodes N`, taking turns under the same loads.

    python -m bench.cores --nodes 2

The load generator runs on the same machine and wants its share of the cores: a node more is worth less here than on a
machine whose clients are elsewhere. Each node leads a partition; there is one replica of each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench import load
from bench.frames import Frame, produce_frame
from bench.load import Group
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.protocol.records import Compression

TOPIC = "cores"
KIB = 1024
# By load: bytes of a batch (0: one record), connections, requests in flight on each.
LOADS = {"1 record per request, 50 connections": (0, 50, 1), "64 KiB batches of 100 B records": (64 * KIB, 10, 5)}
VERSION = 9


class Contender:
    def __init__(self, addresses: list[tuple[str, int]]) -> None:
        self.addresses = addresses
        self.found: dict[str, list[tuple[float, float]]] = {name: [] for name in LOADS}

    def measure(self, name: str, frame: Frame, directory: Path, seconds: float) -> None:
        _, connections, depth = LOADS[name]
        ports = tuple(port for _, port in self.addresses)
        group = Group("load", frame, connections=connections, depth=depth, ports=ports if len(ports) > 1 else ())
        done = load.run(self.addresses[0], [group], warmup=0.3, seconds=seconds, directory=directory)["load"]
        self.found[name].append((done.per_second, done.p99_us))


@contextmanager
def started(nodes: int, partitions: int, data: Path) -> Iterator[Contender]:
    command = [sys.executable, "-m", "moldau", "start", "--listen", "127.0.0.1:0", "--data", str(data)]
    command += ["--nodes", str(nodes)] if nodes > 1 else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            words = process.stdout.readline().split()
            if not words or words[0] != "ready":
                raise SystemExit("the nodes did not start")
            with KafkaAdminClient(bootstrap_servers=words[1]) as admin:
                brokers = sorted((each["broker_id"], each["port"]) for each in admin.describe_cluster()["brokers"])
                leaders = {index: [brokers[index % len(brokers)][0]] for index in range(partitions)}
                admin.create_topics([NewTopic(TOPIC, replica_assignments=leaders)])
            yield Contender([("127.0.0.1", port) for _, port in brokers])
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cores", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=os.cpu_count() or 1, help="as many as there are cores otherwise")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    given = parser.parse_args()
    if given.nodes < 2:
        parser.error("it takes two nodes to compare them with one")
    load.build()
    with ExitStack() as opened:
        place = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="moldau-cores-")))
        contenders = {
            nodes: opened.enter_context(started(nodes, given.nodes, place / str(nodes))) for nodes in (1, given.nodes)
        }
        for turn in range(-1, given.rounds):
            for name, (size, _, _) in LOADS.items():
                frame = produce_frame(TOPIC, size, VERSION, -1, partitions=given.nodes, codec=Compression.NONE)
                for nodes in sorted(contenders, reverse=turn % 2 == 0):
                    contenders[nodes].measure(name, frame, place, given.seconds)
            if turn < 0:  # to warm up
                for each in contenders.values():
                    each.found = {name: [] for name in LOADS}
    for name in LOADS:
        print(name)
        medians = {}
        for nodes, each in contenders.items():
            rates, slowest = zip(*each.found[name], strict=True)
            medians[nodes] = median(rates)
            spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
            who = "1 node " if nodes == 1 else f"{nodes} nodes"
            print(f"  {who} {medians[nodes]:9,.0f} requests/s ({spread}), p99 {median(slowest):,.0f} us")
        print(f"  {given.nodes} nodes do {medians[given.nodes] / medians[1]:.2f} times as much")


if __name__ == "__main__":
    main()
