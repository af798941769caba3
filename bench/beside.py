"""What a change costs on the hot path: nodes of this checkout and of another, taking turns under the same small load.

    git worktree add --detach /tmp/before COMMIT && (cd /tmp/before && python setup.py -q build_ext --inplace)
    python -m bench.beside /tmp/before

Both run all the while. A machine is not equally fast all day, so they take turns, in changing order, and what is
compared is the time a node's process spends on a request: what else goes on changes it least.
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
from bench.frames import produce_frame
from bench.load import Group
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.protocol.records import Compression

TOPIC = "beside"
LOADS = {"1 record per request, 50 connections": 50, "1 record per request, 1 connection": 1}


class Beside:
    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        host, _, port = address.rpartition(":")
        self.address = host, int(port)
        # By load: requests a second, and microseconds of CPU each.
        self.found: dict[str, list[tuple[float, float]]] = {name: [] for name in LOADS}

    def measure(self, name: str, group: Group, directory: Path, seconds: float) -> None:
        before = self._cpu()
        result = load.run(self.address, [group], warmup=0.2, seconds=seconds, directory=directory)["load"]
        spent = self._cpu() - before
        self.found[name].append((result.per_second, spent / (result.per_second * (seconds + 0.2)) * 1e6))

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def node(source: Path, data: Path) -> Iterator[Beside]:
    command = [sys.executable, "-m", "moldau", "start", "--listen", "127.0.0.1:0", "--data", str(data)]
    environment = {**os.environ, "PYTHONPATH": str(source / "src")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as it:
        try:
            assert it.stdout is not None
            words = it.stdout.readline().split()
            if not words or words[0] != "ready":
                raise SystemExit(f"the node of {source} did not start")
            yield Beside(it, words[1])
        finally:
            it.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__)
    parser.add_argument("other", type=Path, help="another checkout, with its kernels built")
    parser.add_argument("--this", type=Path, default=Path(), help="instead of this checkout")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    load.build()
    with ExitStack() as opened:
        place = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="moldau-beside-")))
        sources = {"other": given.other.resolve(), "this": given.this.resolve()}
        nodes = {name: opened.enter_context(node(source, place / name)) for name, source in sources.items()}
        for each in nodes.values():
            with KafkaAdminClient(bootstrap_servers=f"{each.address[0]}:{each.address[1]}") as admin:
                admin.create_topics([NewTopic(TOPIC, 1, 1)])
        frame = produce_frame(TOPIC, 0, 9, -1, partitions=1, codec=Compression.NONE)
        for turn in range(-1, given.rounds):
            for name, connections in LOADS.items():
                group = Group("load", frame, connections=connections)
                for each in sorted(nodes, reverse=turn % 2 == 0):
                    nodes[each].measure(name, group, place, given.seconds)
            if turn < 0:  # to warm up
                for each in nodes:
                    nodes[each].found = {name: [] for name in LOADS}
    for name in LOADS:
        print(name)
        costs = {}
        for each, beside in nodes.items():
            rates, spent = zip(*beside.found[name], strict=True)
            costs[each] = median(spent)
            spread = f"{min(spent):.2f} to {max(spent):.2f}"
            print(f"  {each:6} {median(rates):9,.0f} requests/s  {costs[each]:6.2f} us of CPU each ({spread})")
        print(f"  this is {costs['this'] / costs['other'] - 1:+.1%} of CPU")


if __name__ == "__main__":
    main()
