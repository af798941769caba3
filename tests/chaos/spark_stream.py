"""The query that is killed over and over: topic `input`, every number doubled, into topic `output`, exactly once.

Runs as a process of its own. A query that fails, because the broker is away, a worker died once too often or its
checkpoint is not what it was, is started again in the same session; when the file `stop` appears in the directory, it
ends. Two further files there are looked at before each start: `checkpoint-name` says which checkpoint it uses, and
while there is a file `slow` its tasks take longer together than their transactions may be open, once `go` is in it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from moldau.spark import spark_session

# Rows reach the sink when a task has slept. Two of three tasks run at the same time, so the first transaction is open
# for as long as the third one sleeps.
SLOW_SECONDS = 25
SLOW_TIMEOUT_MS = 20_000

# Numbers may be followed by spaces, as many as make a large record; those go on to the output.
DOUBLED = (
    "concat(CAST(2 * CAST(trim(CAST(value AS STRING)) AS BIGINT) AS STRING), "
    "repeat(' ', length(CAST(value AS STRING)) - length(trim(CAST(value AS STRING))))) AS value"
)


def sleepy(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches
    time.sleep(SLOW_SECONDS)


def start(spark: Any, bootstrap: str, directory: Path, slow: bool) -> Any:
    frame = (
        spark.readStream.format("moldau")
        .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": "input", "startingOffsets": "earliest"})
        .option("maxOffsetsPerTrigger", 1000)
        .option("fetchOffset.retryIntervalMs", 200)
        .load()
        .selectExpr(DOUBLED, "key")
        .repartition(3, "key")
    )
    if slow:
        frame = frame.mapInArrow(sleepy, frame.schema)
    writer = (
        frame.writeStream.format("moldau")
        .options(**{"kafka.bootstrap.servers": bootstrap, "topic": "output", "delivery": "exactly-once"})
        .option("checkpointLocation", str(directory / (directory / "checkpoint-name").read_text()))
    )
    if slow:
        writer = writer.option("kafka.transaction.timeout.ms", SLOW_TIMEOUT_MS)
    return writer.start()


def main() -> None:
    bootstrap, directory = sys.argv[1], Path(sys.argv[2])
    settings = {
        "spark.sql.shuffle.partitions": 3,
        "spark.driver.memory": "1g",
        "spark.local.dir": str(directory / "spark"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.streaming.noDataMicroBatches.enabled": False,
    }
    # A task may fail three times before the query does.
    spark = spark_session("chaos", master="local[2,4]", settings=settings)
    print("session", flush=True)
    while not (directory / "stop").exists():
        query = None
        slow = (directory / "slow").exists()
        if slow:
            print("about to be slow", flush=True)
            while "go" not in (directory / "slow").read_text():
                time.sleep(0.1)
        try:
            query = start(spark, bootstrap, directory, slow)
            while query.isActive and not (directory / "stop").exists() and (directory / "slow").exists() == slow:
                query.awaitTermination(1)
        except Exception as error:
            first = [line for line in str(error).splitlines() if line.strip()]
            print(f"failed: {' | '.join(first)[:3000]}", flush=True)
            time.sleep(0.5)
        finally:
            if query is not None:
                query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
