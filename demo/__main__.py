"""The demonstration from the first line to the last: see the package's own words."""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from demo.evidence import Evidence, collect
from demo.orders import Event, events, write_customers
from demo.report import write_report
from demo.runner import DemoFailed, Runner
from demo.stage import Stage, bar
from moldau import KafkaProducer
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.spark.pipeline.plan import draw
from moldau.spark.pipeline.status import Status
from moldau.testing import Cluster

_PARTITIONS = {"orders": 3, "revenue": 2, "orders-dead": 1}
_PATIENCE = 600.0

Condition = Callable[[Status], bool]


def main() -> int:
    options = _arguments()
    stage = Stage()
    work = Path(options.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    stage.title("Moldau: orders to revenue, with a crash in between", f"seed {options.seed}")
    try:
        return _play(options, stage, work)
    except DemoFailed as failure:
        stage.struck("failed", str(failure))
        return 1


def _play(options: argparse.Namespace, stage: Stage, work: Path) -> int:
    with Cluster() as cluster:
        stage.done("node", f"ready at {cluster.bootstrap_servers} after {stage.seconds:.1f} s")
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
            # The orders are of a day in the past; the broker would soon clean them up.
            settings = {"retention.ms": "-1"}
            admin.create_topics(
                [NewTopic(name, count, 1, topic_configs=settings) for name, count in _PARTITIONS.items()]
            )
        write_customers(work / "customers.csv", options.seed)
        made = events(options.orders, options.seed)
        runner = Runner(work, cluster.bootstrap_servers, ["--master", options.master] if options.master else [])
        stage.done("pipeline", f"{runner.pipeline.name}: {runner.pipeline.description}")
        for line in draw(runner.pipeline)[1:]:
            stage.line(line)
        stage.line()
        feed = Feed(cluster.bootstrap_servers, made, options.seconds)
        watch = Watch(stage, runner, feed)
        try:
            runner.start()
            _act(stage, runner, feed, watch, kill=not options.peaceful)
        finally:
            feed.stop()
            runner.kill()
        evidence = collect(cluster.bootstrap_servers, work, watch.history)
    return _end(stage, evidence, work, runner)


def _act(stage: Stage, runner: Runner, feed: Feed, watch: Watch, *, kill: bool) -> None:
    """Start, stream, kill, start again, drain, stop."""
    began = stage.seconds
    feed.start()
    watch.until("spark", "starting", lambda status: all(query["batch"] >= 0 for query in status.queries))
    stage.done("spark", f"up and reading after {stage.seconds - began:.0f} s")
    if kill:
        watch.until("streaming", "", lambda status: _read(status) > feed.total * 0.3 or feed.sent > feed.total * 0.75)
        status = runner.status()
        runner.kill()
        watch.mark_kill()
        read = _read(status) if status else 0
        stage.struck("kill -9", f"driver, JVM and workers, {read:,} of {feed.total:,} records in, batches under way")
        began = stage.seconds
        runner.start()
        watch.until("restarting", "", lambda status: _read(status) > 0)
        stage.done("restarted", f"from its checkpoint, reading again after {stage.seconds - began:.0f} s")
    watch.until("streaming", "", lambda status: feed.done and watch.drained(status))
    stage.done("streamed", f"{feed.total:,} records in {feed.seconds:.0f} s, all read")
    code = runner.stop()
    if code:
        raise DemoFailed(f"The pipeline ended with status {code} when it was asked to stop; see {runner.log}.")
    stage.done("stopped", "cleanly, as Ctrl-C does")


def _end(stage: Stage, evidence: Evidence, work: Path, runner: Runner) -> int:
    for check in evidence.checks:
        (stage.done if check.holds else stage.struck)("proof", f"{check.claim}: {check.found}")
    report = write_report(work / "report.html", evidence, runner.pipeline)
    verdict = "The stream equals the batch." if evidence.holds else "THE STREAM DIFFERS FROM THE BATCH."
    stage.line()
    stage.line(f"{verdict} {stage.seconds:.0f} s in all. The report: {report}", "bold")
    stage.line()
    return 0 if evidence.holds else 1


class Feed:
    """Sends the events at an even pace from a thread; a record's time is when the order arrived at the shop."""

    def __init__(self, bootstrap: str, made: list[Event], seconds: float) -> None:
        self.total = len(made)
        self.sent = 0
        self.seconds = 0.0
        self._made = made
        self._pace = seconds
        self._bootstrap = bootstrap
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)

    @property
    def done(self) -> bool:
        return self.sent == self.total

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        with KafkaProducer(bootstrap_servers=self._bootstrap, linger_ms=20, compression_type="lz4") as producer:
            for number, event in enumerate(self._made, 1):
                milliseconds = round(event.arrives.timestamp() * 1000)
                producer.send("orders", key=event.key, value=event.value, timestamp_ms=milliseconds)
                if number % 200 == 0:
                    ahead = number / self.total * self._pace - (time.monotonic() - began)
                    if self._stopping.wait(max(0.0, ahead)):
                        return
                    self.sent = number
            producer.flush()
        self.sent = self.total
        self.seconds = time.monotonic() - began


class Watch:
    """Reads the status file again and again, shows it, and keeps what the report draws."""

    def __init__(self, stage: Stage, runner: Runner, feed: Feed) -> None:
        self.history: list[dict[str, float]] = []
        self._stage = stage
        self._runner = runner
        self._feed = feed
        self._before = 0
        self._read = 0

    def mark_kill(self) -> None:
        self.history.append({"t": self._stage.seconds, "sent": self._feed.sent, "read": self._read, "killed": 1})
        self._before = self._read

    def drained(self, status: Status) -> bool:
        """Every query stands at the end of every partition of the topic."""
        return all(sum(query["positions"].get("orders", {}).values()) >= self._feed.total for query in status.queries)

    def until(self, name: str, text: str, holds: Condition) -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            self._runner.check()
            status = self._runner.status()
            if status is None or not status.queries:
                self._keep(None)
            else:
                self._read = max(self._read, _read(status))
                self._keep(status)
                if holds(status):
                    self._keep(status, last=True)
                    return
            self._stage.moving(name, text or self._words(status))
            time.sleep(0.2)
        raise DemoFailed(f"{name} took longer than {_PATIENCE:.0f} s; see {self._runner.log}.")

    def _keep(self, status: Status | None, *, last: bool = False) -> None:
        queries = status.queries if status is not None else []
        state = sum(query["state_rows"] for query in queries)
        point = {"t": self._stage.seconds, "sent": self._feed.sent, "read": self._read, "state": state}
        if last or not self.history or self.history[-1]["t"] < point["t"] - 0.4:
            self.history.append(point)

    def _words(self, status: Status | None) -> str:
        sent = self._feed.sent
        words = f"{bar(sent / self._feed.total)} {sent:,} sent, {self._read:,} read"
        if status is not None and status.queries:
            slowest = max(query["batch_seconds"] for query in status.queries)
            rows = sum(query["state_rows"] for query in status.queries)
            words += f", batch {slowest:.1f} s, state {rows:,} rows"
        return words


def _read(status: Status) -> int:
    """Records that every query has behind it."""
    return min((sum(query["positions"].get("orders", {}).values()) for query in status.queries), default=0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--orders", type=int, default=60_000, help="how many orders (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=40.0, help="how long they stream (default %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="another day at the shop")
    parser.add_argument("--work", default="build/demo", help="where everything is written (default %(default)s)")
    parser.add_argument("--master", help="a Spark cluster instead of this machine, such as spark://host:7077")
    parser.add_argument("--peaceful", action="store_true", help="without the kill")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
