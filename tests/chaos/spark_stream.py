"""The query that is killed over and over: topic `input`, every number doubled, into topic `output`, exactly once.

Runs as a process of its own. A query that fails, because the broker is away or a worker died once too often, is started
again in the same session; when the file `stop` appears in the directory given, it ends.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from moldau.spark import spark_session


def main() -> None:
    bootstrap, directory = sys.argv[1], Path(sys.argv[2])
    settings = {
        "spark.sql.shuffle.partitions": 3,
        "spark.local.dir": str(directory / "spark"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.streaming.noDataMicroBatches.enabled": False,
    }
    # A task may fail three times before the query does.
    spark = spark_session("chaos", master="local[2,4]", settings=settings)
    print("session", flush=True)
    while not (directory / "stop").exists():
        query = None
        try:
            query = (
                spark.readStream.format("moldau")
                .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": "input", "startingOffsets": "earliest"})
                .option("maxOffsetsPerTrigger", 1000)
                .load()
                .selectExpr("CAST(2 * CAST(CAST(value AS STRING) AS BIGINT) AS STRING) AS value", "key")
                .repartition(3, "key")
                .writeStream.format("moldau")
                .options(**{"kafka.bootstrap.servers": bootstrap, "topic": "output", "delivery": "exactly-once"})
                .option("checkpointLocation", str(directory / "checkpoint"))
                .start()
            )
            while query.isActive and not (directory / "stop").exists():
                query.awaitTermination(1)
        except Exception as error:
            first = [line for line in str(error).splitlines() if line.strip()]
            print(f"failed: {' | '.join(first)[:600]}", flush=True)
            time.sleep(0.5)
        finally:
            if query is not None:
                query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
