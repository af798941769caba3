"""Spark's own Kafka connector beside ours on one node, in a process of its own: its jars must be there at the start.

    python connector_program.py BOOTSTRAP DIRECTORY JAR...

Prints one line of JSON: what each of them saw.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import functions as F

from moldau.spark import spark_session


def main() -> None:
    bootstrap, directory, *jars = sys.argv[1:]
    settings = {"spark.jars": ",".join(jars), "spark.sql.shuffle.partitions": "2", "spark.local.dir": directory}
    spark = spark_session("connector", master="local[2]", settings=settings)

    def reader(source: Any, name: str, topic: str, **options: str) -> Any:
        made = source.format(name).option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
        return made.options(**{key.replace("__", "."): value for key, value in options.items()}).load()

    def seen(frame: Any) -> list[str]:
        text = frame.select(F.to_json(F.struct(*sorted(frame.columns))).alias("row"))
        return sorted(row.row for row in text.collect())

    def run(frame: Any, checkpoint: str, batches: list[int]) -> None:
        def take(batch: Any, _id: int) -> None:
            batches.extend(int(row.offset) for row in batch.select("offset").collect())

        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", f"{directory}/{checkpoint}")
        writer.trigger(availableNow=True).start().awaitTermination()

    found: dict[str, Any] = {}
    for name in ("kafka", "moldau"):
        everything = reader(spark.read, name, "rivers", includeHeaders="true")
        committed = reader(spark.read, name, "rivers", kafka__isolation__level="read_committed")
        found[name] = {"schema": everything.schema.json(), "all": seen(everything), "committed": seen(committed)}

    # The connector writes, in batches and as a stream.
    rows = reader(spark.read, "kafka", "rivers", includeHeaders="true").select("key", "value", "headers")
    sink = {"kafka.bootstrap.servers": bootstrap, "includeHeaders": "true"}
    rows.write.format("kafka").options(**sink, topic="lakes").save()
    stream = reader(spark.readStream, "kafka", "rivers", startingOffsets="earliest").select("key", "value")
    writer = stream.writeStream.format("kafka").options(**sink, topic="seas", checkpointLocation=f"{directory}/seas")
    writer.trigger(availableNow=True).start().awaitTermination()
    columns = ["key", "value", "headers"]
    found["written"] = {
        topic: [
            seen(reader(spark.read, name, topic, includeHeaders="true").select(columns)) for name in ("kafka", "moldau")
        ]
        for topic in ("lakes", "seas")
    }

    # A stream begun by the connector is continued by ours from the same checkpoint.
    before: list[int] = []
    after: list[int] = []
    first = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "4"}
    run(reader(spark.readStream, "kafka", "moved", **first), "moved", before)
    found["moved before"] = sorted(before)
    rows.limit(7).select("value").write.format("kafka").options(**sink, topic="moved").save()
    run(reader(spark.readStream, "moldau", "moved", startingOffsets="latest"), "moved", after)
    found["moved after"] = sorted(after)
    # And the other way: the notes in our offsets are nothing to it.
    back: list[int] = []
    rows.limit(3).select("value").write.format("kafka").options(**sink, topic="moved").save()
    run(reader(spark.readStream, "kafka", "moved", startingOffsets="latest"), "moved", back)
    found["moved back"] = sorted(back)
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
