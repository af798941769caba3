"""The file that `moldau pipeline new` writes: it works as it stands, and says what each line is for."""

from __future__ import annotations

from typing import Final

YAML: Final = """\
# A declared pipeline. `moldau pipeline validate FILE` checks it, `plan` draws it, `run` runs it on Spark.
# ${{NAME}} and ${{NAME:-default}} come from the environment or from `--set NAME=VALUE`.
pipeline: {name}
description: orders read from a topic, cleaned, summed up per minute and region
bootstrap: ${{BOOTSTRAP:-127.0.0.1:9092}}

# Where Spark keeps positions and state. Lose it and the pipeline begins again; it can be on HDFS or S3 as well.
checkpoint: checkpoints/{name}
trigger: 2s                      # how often a batch begins

restart:                         # what happens after a failure: wait 2s, 4s, 8s ... and give up after five in a row
  policy: on-failure
  max: 5
  backoff: 2s

sources:
  orders:
    topic: orders                # or a list; `pattern: orders-.*` takes all topics that fit
    starting: earliest           # where to begin when there is no checkpoint yet

  regions:                       # a small table; files (`file: regions.csv`), tables and JDBC work as well
    schema: region STRING, manager STRING
    rows:
      - [north, Libuse]
      - [south, Premysl]

steps:
  parsed:                        # bytes to columns; what does not fit goes to the dead letters with the reason
    from: orders
    parse: json
    schema: id STRING, region STRING, amount DOUBLE, at TIMESTAMP
    required: [id, at]

  sane:
    from: parsed
    expect:
      the amount is positive: amount > 0

  unique:                        # each id once; a repetition is recognised for ten minutes of event time
    from: sane
    deduplicate: id
    time: at
    within: 10 minutes

  enriched:
    from: unique
    join: regions
    using: region
    how: left

  revenue:
    from: enriched
    aggregate:
      revenue: round(sum(amount), 2)
      orders: count(*)
    by: [region, manager]
    time: at
    window: 1 minute
    watermark: 10 minutes        # how late an order may come

sinks:
  revenue:
    from: revenue
    topic: revenue               # written exactly once
    key: concat(region, ' ', window_start)
    mode: update                 # a window is written again when it changes; `append` waits until it is final

  archive:
    from: enriched
    parquet: archive/{name}
    partition_by: [region]

dead_letters:
  topic: orders-dead             # the record as it came; headers say reason, step, topic, partition and offset
"""

PYTHON: Final = '''\
"""A pipeline in Python: the same fields as in YAML, and steps that are functions.

`moldau pipeline validate FILE` checks it, `plan` draws it, `run` runs it on Spark.
"""

from moldau.spark.pipeline import Declaration, variable

pipeline = Declaration(
    "{name}",
    description="large orders, as they come",
    bootstrap=variable("BOOTSTRAP", "127.0.0.1:9092"),
    checkpoint="checkpoints/{name}",
    dead_letters={{"topic": "orders-dead"}},
)
pipeline.source("orders", topic="orders", starting="earliest")
pipeline.step(
    "parsed",
    from_="orders",
    parse="json",
    schema="id STRING, region STRING, amount DOUBLE, at TIMESTAMP",
    required=["id", "at"],
)


@pipeline.step(from_="parsed")
def large(orders):
    """Any function of DataFrames."""
    return orders.where("amount >= 1000")


pipeline.sink("large", from_="large", topic="large-orders", key="id")
'''


def template(path: str, name: str) -> str:
    return (PYTHON if path.endswith(".py") else YAML).format(name=name)
