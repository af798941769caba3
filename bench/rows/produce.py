"""Producing as fast as the broker takes it: every size of batch and record, acks, codec and number of partitions.

One connection with five requests in flight, as a producer's default is. The batches are built beforehand, so what is
compared is brokers and not clients. MB/s counts the values of the records before compression.
"""

from __future__ import annotations

import itertools

from bench.contenders import Contender, Running
from bench.frames import produce_frame
from bench.load import Group
from bench.rows.row import CPU_GB, KIB, MB_S, MIB, P50, P99, P999, Measure, Plan, Row, latencies, load, topic
from moldau.protocol.records import Compression

CHAPTER = "Produce"
SIZES = {"16 KiB": 16 * KIB, "64 KiB": 64 * KIB, "1 MiB": MIB - 100}
RECORDS = {"100 B": 100, "1 KB": 1000}
ACKS = {"acks=1": 1, "acks=all": -1}
CODECS = {"none": Compression.NONE, "lz4": Compression.LZ4, "zstd": Compression.ZSTD}
PARTITIONS = {"1 partition": 1, "12 partitions": 12}


def produce(size: int, record: int, acks: int, codec: Compression, partitions: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        with topic(broker, partitions) as name:
            frame = produce_frame(
                name, size, plan.produce_version, acks, record=record, codec=codec, partitions=partitions
            )
            before = broker.cpu_seconds()
            result = load(broker, plan, [Group("produce", frame, depth=5)])["produce"]
            cpu = broker.cpu_seconds() - before
        rate = result.per_second * frame.payload
        spent = cpu / (rate * (plan.seconds + plan.warmup) / 1e9)
        return {"MB/s": rate / 1e6, "CPU s/GB": spent, **latencies(result)}

    return measure


def _rows() -> list[Row]:
    rows = []
    for size, record, acks, codec, partitions in itertools.product(SIZES, RECORDS, ACKS, CODECS, PARTITIONS):
        title = f"produce {size} batches of {record} records, {acks}, {codec}, {partitions}"
        measure = produce(SIZES[size], RECORDS[record], ACKS[acks], CODECS[codec], PARTITIONS[partitions])
        plain = (record, acks, partitions) == ("100 B", "acks=all", "1 partition")
        quick = plain and (codec == "none" or size == "64 KiB")
        rows.append(Row(CHAPTER, title, [MB_S, P50, P99, P999, CPU_GB], measure, quick=quick))
    return rows


ROWS = _rows()
