"""`make profile ROW=...`: a flame graph of our node under the load of one row, so that the next step is visible.

    python -m bench.profile "produce 1 MiB batches of 100 B records, acks=all, none, 1 partition"

Words from a title are enough; the first row that has them all is taken. With `--lost results.json` every row is taken
that was lost in that run, and `--into` keeps what was seen before a change apart from what is seen after it.

py-spy looks at the node from outside, with its compiled kernels and the C library (`--native`), and also while it waits
for the kernel. Where py-spy is missing `perf` is tried, which shows the kernel as well but not the names of Python
functions.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import load
from bench.__main__ import DIRECTORY, allow_many_files, versions_of
from bench.clusters import cluster_of
from bench.contenders import MOLDAU, fresh, stop
from bench.results import Results
from bench.rows import FURTHER, ROWS, named
from bench.rows.row import Plan, Row
from bench.secured import start_secured
from bench.standing import main_peer, standing

BUILD = Path("build")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="words from the title of a row")
    parser.add_argument("--lost", type=Path, metavar="RESULTS.JSON", help="all rows that were lost in this run")
    parser.add_argument("--into", type=Path, default=BUILD, help="where the graphs go (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--tool", choices=["py-spy", "perf"], help="py-spy where it is installed, else perf")
    options = parser.parse_args()
    if options.lost is not None:
        rows = lost(Results.read(options.lost))
    else:
        rows = [row for row in [find(" ".join(options.words))] if row is not None and options.words]
    if not rows:
        print("no row of that name; these can be profiled:", *(row.title for row in profiled()), sep="\n  ")
        return 1
    load.build()
    allow_many_files()
    options.into.mkdir(parents=True, exist_ok=True)
    status = 0
    for row in rows:
        print(f"{row.title}, {options.seconds} s", flush=True)
        status |= profile(row, options.seconds, options.tool or ("py-spy" if spy() else "perf"), options.into)
    return status


def profiled() -> list[Row]:
    rows = [row for row in [*ROWS, *FURTHER] if not row.needs_kafka]
    return [row for row in rows if (row.measure or row.secured or row.cluster) is not None]


def lost(results: Results) -> list[Row]:
    """Those of the rows that were lost which can be looked at: not starts, and not loads of Kafka's own programs."""
    peer = main_peer(results)
    titles = [row.title for row in standing(results, peer).behind] if peer is not None else []
    return [row for title in titles for row in profiled() if row.title == title]


def find(text: str) -> Row | None:
    """The first row that the words stand for."""
    return next((row for row in named([text]) if row in profiled()), None)


def spy() -> str | None:
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def profile(row: Row, seconds: int, tool: str, into: Path) -> int:
    # The load lasts longer than the recording, so that only work is seen.
    directory = fresh(DIRECTORY / "profile")
    plan = Plan(0.5, seconds + 2.0, 2_000_000, directory, [versions_of(MOLDAU, directory / "versions")])
    name = re.sub(r"[^a-z0-9]+", "-", row.title.lower()).strip("-")
    with working(row, DIRECTORY / "profile" / "data", plan) as (pid, measure):
        worker = threading.Thread(target=lambda: tell(measure()), daemon=True)
        worker.start()
        worker.join(1.0)
        record = with_py_spy if tool == "py-spy" else with_perf
        status = record(pid, seconds, into / f"profile-{name}.svg")
        worker.join(120)
    return status


@contextmanager
def working(row: Row, data: Path, plan: Plan) -> Iterator[tuple[int, Callable[[], dict[str, float]]]]:
    """The process of a node, of three that which leads the first partition, and its work."""
    secured, clustered, measure = row.secured, row.cluster, row.measure
    if secured is not None:
        guarded = start_secured(MOLDAU, data)
        try:
            yield guarded.running.process.pid, lambda: secured(MOLDAU, guarded, plan)
        finally:
            stop(guarded.running)
        return
    if clustered is not None:
        with cluster_of(MOLDAU, data) as cluster:
            leader = cluster.nodes[0].pid
            assert leader is not None
            yield leader, lambda: clustered(MOLDAU, cluster, plan)
        return
    assert measure is not None
    with MOLDAU.run(fresh(data)) as broker:
        yield broker.process.pid, lambda: measure(MOLDAU, broker, plan)


def tell(found: dict[str, float]) -> None:
    print(", ".join(f"{name} {value:,.2f}" for name, value in found.items()))


def with_py_spy(process: int, seconds: int, path: Path) -> int:
    program = spy()
    assert program is not None
    command = [program, "record", "--pid", str(process), "--duration", str(seconds), "--rate", "250"]
    for native in (["--native"], []):
        done = subprocess.run([*command, *native, "--output", str(path)], capture_output=True, text=True, check=False)
        if done.returncode == 0 and path.exists():
            print(f"written: {path}")
            return 0
    print(done.stderr.strip())
    print(
        "py-spy could not look at the node; it needs the right to trace (as root, or sysctl kernel.yama.ptrace_scope=0)"
    )
    return 1


def with_perf(process: int, seconds: int, path: Path) -> int:
    if shutil.which("perf") is None:
        print("neither py-spy (pip install py-spy) nor perf (apt-get install linux-perf) is installed")
        return 1
    data, text = path.with_suffix(".perf"), path.with_suffix(".txt")
    command = [
        "perf",
        "record",
        "-q",
        "-F",
        "499",
        "-g",
        "-p",
        str(process),
        "-o",
        str(data),
        "--",
        "sleep",
        str(seconds),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr.strip())
        return 1
    shown = ["perf", "report", "-i", str(data), "--stdio", "--no-children", "-g", "none", "--percent-limit", "0.5"]
    report = subprocess.run(shown, capture_output=True, text=True, check=False)
    text.write_text(report.stdout)
    print(f"written: {text} (perf has no flame graph of its own; `perf report -i {data}` walks through it)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
