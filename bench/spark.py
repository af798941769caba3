"""Spark on our node: topic to count, to nothing, to a topic, to Parquet, and a scan of the log's own files.

With `--peers` Spark's own Kafka connector does the same in the same session on the same node, in turn with ours, so
that both see the same machine, the same JVM and the same broker. Rows per second are counted over the whole query, from
planning to the last row; CPU is that of Spark, its Python workers and the node together.

    python -m bench.spark [--quick] [--peers] [--json FILE] [words from the titles of rows]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from moldau.client.admin.offsets import LATEST, FoundOffset, list_offsets
from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster as Client
from moldau.client.producing import deliver
from moldau.protocol.records import encode_batch
from moldau.spark import spark_session
from moldau.testing import Cluster
from moldau.types import TopicPartition

TOPIC = "rows"
PARTITIONS = 2
VALUE = 100
# A topic of many partitions with next to nothing in each: what a task, a range and a connection cost by themselves.
SMALL, SMALL_PARTITIONS, SMALL_ROWS = "small", 200, 100
FEW = SMALL_PARTITIONS * SMALL_ROWS
# The connector waits half a second at the end of every range, unless it is told otherwise.
TUNED = {"kafka.fetch.max.wait.ms": "5"}
# What a producer sends that was left at its defaults: batches of 16 KiB.
BATCH_ROWS = 150
# Small enough that most of the topic lies in sealed segments.
SEGMENT = str(16 * 1024 * 1024)
OURS, THEIRS = "moldau", "kafka"

_numbers = count()


@dataclass
class Bench:
    """What a row needs: the session, the node, how many records the topic has, and a place for files."""

    spark: Any
    node: Cluster
    records: int
    directory: Path

    def read(self, contender: str, schema: str | None = None, topic: str = TOPIC, **options: str) -> Any:
        reader = self.spark.read.format(contender).option("kafka.bootstrap.servers", self.node.bootstrap_servers)
        return (reader.schema(schema) if schema else reader).options(subscribe=topic, **options).load()

    def stream(self, contender: str, **options: Any) -> Any:
        reader = self.spark.readStream.format(contender).option("kafka.bootstrap.servers", self.node.bootstrap_servers)
        return reader.options(subscribe=TOPIC, startingOffsets="earliest", **options).load()

    def path(self) -> str:
        return str(self.directory / str(next(_numbers)))

    def new_topic(self, partitions: int = PARTITIONS) -> str:
        name = f"out-{next(_numbers)}"
        with Client(self.node.bootstrap_servers) as client:
            client.run(create_topics([NewTopic(name, partitions, 1)]))
        return name

    def written(self, topic: str, records: int, count: int = PARTITIONS) -> int:
        """All records, if the topic has at least so many offsets: a transaction ends with an offset of its own."""
        partitions = [TopicPartition(topic, number) for number in range(count)]
        with Client(self.node.bootstrap_servers) as client:
            ends = client.run(list_offsets(dict.fromkeys(partitions, LATEST)))
        offsets = sum(end.offset for end in ends.values() if isinstance(end, FoundOffset))
        return min(offsets, records)

    def cpu_seconds(self) -> float:
        """Of the JVM, the workers below it, and the node."""
        jvm = self.spark.sparkContext._gateway.proc.pid
        node = self.node.nodes[0].pid
        return _cpu_of_tree(jvm) + (_cpu_of_tree(node) if node else 0.0)


@dataclass
class Row:
    """`ours` and `theirs` do the work and return how many rows they saw, which are all unless `partial`."""

    title: str
    ours: Callable[[Bench], int]
    theirs: Callable[[Bench], int]
    goal: float | None = None
    partial: bool = False
    # How many rows there are; those of the large topic if it is not said.
    records: int | None = None
    # By contender and repetition: rows per second, and seconds of CPU per million rows.
    rates: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


# ---------------------------------------------------------------------------------------------------------- the rows


def counted(contender: str) -> Callable[[Bench], int]:
    return lambda bench: int(bench.read(contender).count())


def values_only(bench: Bench) -> int:
    return int(bench.read(OURS, "value binary").selectExpr("sum(length(value))").first()[0]) // VALUE


def summed(contender: str) -> Callable[[Bench], int]:
    return lambda bench: int(bench.read(contender).selectExpr("sum(length(value))").first()[0]) // VALUE


def streamed(contender: str, batches: int) -> Callable[[Bench], int]:
    def job(bench: Bench) -> int:
        frame = bench.stream(contender, maxOffsetsPerTrigger=bench.records // batches)
        writer = frame.writeStream.format("noop").option("checkpointLocation", bench.path())
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        # Not numInputRows, which Spark's listeners lose now and then on a busy machine.
        return sum(json.loads(query.lastProgress.sources[0].endOffset)[TOPIC].values())

    return job


def to_topic(reader: str, writer: str, **options: str) -> Callable[[Bench], int]:
    def job(bench: Bench) -> int:
        name = bench.new_topic()
        frame = bench.read(reader).select("key", "value").write.format(writer).mode("append")
        frame.option("kafka.bootstrap.servers", bench.node.bootstrap_servers).option("topic", name).options(
            **options
        ).save()
        return bench.written(name, bench.records)

    return job


def small_counted(contender: str, **options: str) -> Callable[[Bench], int]:
    return lambda bench: int(bench.read(contender, topic=SMALL, **options).count())


def small_to_topic(contender: str, read: dict[str, str], **options: str) -> Callable[[Bench], int]:
    """Each row goes where it came from, so every task of the sink has a few partitions to write to."""

    def job(bench: Bench) -> int:
        name = bench.new_topic(SMALL_PARTITIONS)
        frame = bench.read(contender, topic=SMALL, **read).select("value", "partition").write.format(contender)
        frame = frame.mode("append").option("kafka.bootstrap.servers", bench.node.bootstrap_servers)
        frame.option("topic", name).options(**options).save()
        return bench.written(name, FEW, SMALL_PARTITIONS)

    return job


def to_parquet(contender: str) -> Callable[[Bench], int]:
    def job(bench: Bench) -> int:
        bench.read(contender).write.parquet(path := bench.path())
        written = bench.spark.read.parquet(path).count()
        shutil.rmtree(path)
        return int(written)

    return job


def segments(bench: Bench) -> int:
    """The sealed ones: the last segment belongs to the node while it runs."""
    reader = bench.spark.read.format("moldau-log").option("path", str(bench.node.nodes[0].directory / "data"))
    return int(reader.option("subscribe", TOPIC).load().count())


ROWS = [
    Row("topic to count", counted(OURS), counted(THEIRS), goal=3e6),
    Row("topic to sum of lengths", summed(OURS), summed(THEIRS)),
    Row("topic to sum of lengths, values only", values_only, summed(THEIRS)),
    Row("stream to nothing, 1 batch", streamed(OURS, 1), streamed(THEIRS, 1)),
    Row("stream to nothing, 10 batches", streamed(OURS, 10), streamed(THEIRS, 10)),
    Row("topic to topic, at least once", to_topic(OURS, OURS), to_topic(THEIRS, THEIRS)),
    Row("topic to topic, exactly once", to_topic(OURS, OURS, delivery="exactly-once"), to_topic(THEIRS, THEIRS)),
    Row("topic to Parquet", to_parquet(OURS), to_parquet(THEIRS)),
    Row("log segments to count", segments, counted(THEIRS), partial=True),
    Row(
        "200 small partitions to count",
        small_counted(OURS),
        small_counted(THEIRS, **TUNED),
        records=FEW,
    ),
    Row(
        "200 small partitions to topic, at least once",
        small_to_topic(OURS, {}),
        small_to_topic(THEIRS, TUNED),
        records=FEW,
    ),
    Row(
        "200 small partitions to topic, exactly once",
        small_to_topic(OURS, {}, delivery="exactly-once"),
        small_to_topic(THEIRS, TUNED),
        records=FEW,
    ),
]

FOOTNOTE = """
{records:,} records of {VALUE} bytes in {PARTITIONS} partitions, batches of {BATCH_ROWS}.
{cores} cores for Spark (local[2]) and the node; the load of the machine when it ended: {load:.1f}.
Medians of {repetitions} runs after one to warm up, least and most in brackets; contenders take turns.
The connector has no exactly-once sink and cannot read segments: beside those rows stands what it does instead.
Small partitions have {SMALL_ROWS} rows each: seconds for all; the connector has kafka.fetch.max.wait.ms=5 there."""


# ------------------------------------------------------------------------------------------------------- measuring


def measure(bench: Bench, row: Row, contenders: list[str], repetitions: int) -> None:
    """One run of each to warm up, then in turn. Who fails is named in the table and not asked again."""
    for repetition in range(repetitions + 1):
        for contender in contenders:
            if contender in row.failures:
                continue
            cpu, began = bench.cpu_seconds(), time.perf_counter()
            try:
                found = (row.ours if contender == OURS else row.theirs)(bench)
            except Exception as error:
                row.failures[contender] = (str(error).splitlines() or [type(error).__name__])[0]
                continue
            seconds, spent = time.perf_counter() - began, bench.cpu_seconds() - cpu
            expected = row.records or bench.records
            if found != expected and not (row.partial and found):
                row.failures[contender] = f"saw {found} rows of {expected}"
            elif repetition:
                row.rates.setdefault(contender, []).append(found / seconds)
                row.cpu.setdefault(contender, []).append(spent / found * 1e6)


def heading(contenders: list[str]) -> str:
    head = ["row", *(f"{name}: rows/s, CPU s per million" for name in contenders)]
    head += ["ours / theirs: rows/s, CPU"] if THEIRS in contenders else []
    return f"{_line(head)}\n{_line(['---'] * len(head))}"


def result(row: Row, contenders: list[str]) -> str:
    cells = [row.title]
    for name in contenders:
        if name in row.failures or name not in row.rates:
            cells.append(f"failed: {row.failures.get(name, 'never ran')}")
            continue
        rates = sorted(row.rates[name])
        middle, cpu = statistics.median(rates), statistics.median(row.cpu[name])
        if row.records:  # a rate says nothing about these
            times = [row.records / rate for rate in (middle, rates[-1], rates[0])]
            cells.append(f"{times[0]:.2f} s ({times[1]:.2f} to {times[2]:.2f}), {cpu * row.records / 1e6:.2f} s")
        else:
            cells.append(f"{middle / 1e6:.2f} M ({rates[0] / 1e6:.2f} to {rates[-1] / 1e6:.2f}), {cpu:.2f}")
    if THEIRS in contenders and not row.failures:
        ratios = (statistics.median(each[OURS]) / statistics.median(each[THEIRS]) for each in (row.rates, row.cpu))
        cells.append(", ".join(f"{ratio:.2f}" for ratio in ratios))
    return _line(cells)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def fill(bootstrap: str, records: int) -> None:
    now = int(time.time() * 1000)  # records of years ago would be gone with the first check of the retention time
    batch = encode_batch([(now + n, None, b"x" * VALUE, []) for n in range(BATCH_ROWS)])
    with Client(bootstrap) as client:
        client.run(create_topics([NewTopic(TOPIC, PARTITIONS, 1, configs={"segment.bytes": SEGMENT})]))
        for _ in range(records // BATCH_ROWS // PARTITIONS):
            where = {TopicPartition(TOPIC, number): batch for number in range(PARTITIONS)}
            answers = client.run(deliver(where))
            assert all(isinstance(answer, int) for answer in answers.values()), answers
        client.run(create_topics([NewTopic(SMALL, SMALL_PARTITIONS, 1)]))
        few = encode_batch([(now + n, None, b"x" * VALUE, []) for n in range(SMALL_ROWS)])
        client.run(deliver({TopicPartition(SMALL, number): few for number in range(SMALL_PARTITIONS)}))


def _cpu_of_tree(pid: int) -> float:
    """What a process and all below it have used, those that ended included."""
    parents: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            text = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        parents.setdefault(int(fields[1]), []).append(int(entry))
        spent[int(entry)] = sum(int(each) for each in fields[11:15])
    total, open_ = 0, [pid]
    while open_:
        each = open_.pop()
        total += spent.get(each, 0)
        open_ += parents.get(each, [])
    return total / os.sysconf("SC_CLK_TCK")


def connector_jars() -> list[str]:
    script = Path(__file__).parent.parent / "tools" / "fetch_spark_connector"
    found = subprocess.run([str(script)], stdout=subprocess.PIPE, text=True)
    if found.returncode:
        raise SystemExit("Spark's own connector could not be fetched, see above; without --peers ours runs alone.")
    return sorted(str(path) for path in Path(found.stdout.strip()).glob("*.jar"))


@contextmanager
def prepared(records: int, jars: list[str]) -> Iterator[Bench]:
    # What is installed is there compiled. In a checkout, under this setting, every process that Spark starts would
    # compile it again, which is a quarter of a second for each query that no user has to wait.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    directory = Path(tempfile.mkdtemp(prefix="moldau-bench-"))
    settings = {"spark.jars": ",".join(jars)} if jars else {}
    spark = spark_session("bench", master="local[2]", settings={**settings, "spark.local.dir": str(directory)})
    try:
        with Cluster() as node:
            fill(node.bootstrap_servers, records)
            yield Bench(spark, node, records, directory)
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    options = arguments()
    records = options.records or (1_200_000 if options.quick else 6_000_000)
    records -= records % (BATCH_ROWS * PARTITIONS)
    repetitions = options.repetitions or (3 if options.quick else 5)
    contenders = [OURS, THEIRS] if options.peers else [OURS]
    rows = [row for row in ROWS if not options.rows or any(word in row.title for word in options.rows)]
    with prepared(records, connector_jars() if options.peers else []) as bench:
        print(heading(contenders), flush=True)
        for row in rows:
            measure(bench, row, contenders, repetitions)
            print(result(row, contenders), flush=True)
    print(
        FOOTNOTE.format(
            records=records, repetitions=repetitions, cores=os.cpu_count(), load=os.getloadavg()[0], **globals()
        )
    )
    for row in rows:
        if row.goal and OURS in row.rates:
            rate = statistics.median(row.rates[OURS])
            print(f"Goal for {row.title}: {row.goal / 1e6:g} M rows/s, {'met' if rate >= row.goal else 'missed'}.")
    if options.json:
        measured = {
            row.title: {"rows/s": row.rates, "CPU s per million": row.cpu, "failures": row.failures} for row in rows
        }
        options.json.write_text(json.dumps({"records": records, "rows": measured}, indent=2) + "\n")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer records and repetitions; less certain")
    parser.add_argument("--peers", action="store_true", help="beside Spark's own Kafka connector (fetched with Maven)")
    parser.add_argument("--records", type=int, help="how many records the topic has")
    parser.add_argument("--repetitions", type=int, help="how often each row is measured")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    parser.add_argument("rows", nargs="*", help="words from the titles of the rows to measure; all by default")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
