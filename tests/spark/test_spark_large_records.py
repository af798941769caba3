"""Records of a megabyte, more of them than the memory of a JVM: in and out in pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moldau.testing import Cluster

RECORDS = 1400
SIZE = 1_000_000


def test_more_large_records_than_memory(spark: Any, node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic(max_message_bytes="2097152")
    at = {"kafka.bootstrap.servers": node.bootstrap_servers}
    frame = spark.range(0, RECORDS, 1, 1).selectExpr(f"repeat('x', {SIZE}) AS value")
    settings = {"topic": topic, "kafka.compression.type": "lz4", "delivery": "exactly-once"}
    frame.write.format("moldau").mode("append").options(**at, **settings).save()
    reader = (
        spark.read.format("moldau").options(**at, subscribe=topic).option("kafka.isolation.level", "read_committed")
    )
    (found,) = reader.load().selectExpr("count(*) AS records", "sum(length(value)) AS bytes").collect()
    assert (found.records, found.bytes) == (RECORDS, RECORDS * SIZE)
