"""A topic becomes a table, and what is large in it goes to another topic, exactly once."""

from __future__ import annotations

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
BOOTSTRAP = os.environ.get("BOOTSTRAP", "127.0.0.1:9092")


@dp.table
def orders() -> DataFrame:
    records = (
        spark.readStream.format("moldau")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .load()
    )
    parsed = F.from_json(F.col("value").cast("string"), "id STRING, region STRING, amount DOUBLE")
    return records.select(parsed.alias("order")).select("order.*")


@dp.materialized_view
def revenue() -> DataFrame:
    return spark.read.table("orders").groupBy("region").agg(F.sum("amount").alias("revenue"))


dp.create_sink(
    "large_orders",
    "moldau",
    {"kafka.bootstrap.servers": BOOTSTRAP, "topic": "large-orders", "delivery": "exactly-once"},
)


@dp.append_flow(target="large_orders")
def large() -> DataFrame:
    orders = spark.readStream.table("orders").where("amount >= 100")
    return orders.select(
        F.col("id").cast("binary").alias("key"), F.to_json(F.struct("*")).cast("binary").alias("value")
    )
