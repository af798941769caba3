"""What is measured. A row runs one load against one contender.

`ROWS` are those of the table, what matters most to those who run a broker first: small requests, latency, bulk, groups,
whole clients, starting, clusters. The others say more about the same work (`--all`), and each can be asked for by words
from its title; they draw the page's charts of how cost grows. Hostile requests (`worst`) take more than an hour beside
Kafka, and are one line of the table where they have been measured.
"""

from __future__ import annotations

from bench.rows import (
    cluster,
    connections,
    consume,
    durable,
    growth,
    hostile,
    latency,
    produce,
    secured,
    share,
    start,
    tools,
)
from bench.rows.row import Row

EVERYTHING: list[Row] = [
    *connections.ROWS,
    *latency.ROWS,
    *produce.ROWS,
    *consume.ROWS,
    *growth.ROWS,
    *share.ROWS,
    *durable.ROWS,
    *tools.ROWS,
    *start.ROWS,
    *hostile.ROWS,
    *secured.ROWS,
    *cluster.ROWS,
]

BY_IMPORTANCE = (
    "1 record per request, 50 connections",
    "1 record per request, 1 connection",
    "1 record per request, 250 connections",
    "one record beside two 1 MiB streams",
    "end to end: sent until a waiting fetch has it",
    "one record, 10,000 requests/s on 50 connections",
    "produce 16 KiB batches of 100 B records, acks=all, none, 1 partition",
    "produce 64 KiB batches of 100 B records, acks=all, none, 1 partition",
    "produce 1 MiB batches of 100 B records, acks=all, none, 1 partition",
    "fetch 1 MiB, 1 connection, through 200 MB",
    "fetch 1 MiB, 10 connections, through 200 MB",
    "fetch 16 KiB anywhere in a log of 100 MB",
    "2,000 groups commit offsets on 10 connections",
    *(row.title for row in share.ROWS),
    "1 record per request, forced to disk first, 1 connection",
    "1 record per request, forced to disk first, 50 connections",
    "Kafka's kafka-producer-perf-test, 100 B",
    "Kafka's kafka-consumer-perf-test, 100 B",
    "Kafka's kafka-e2e-latency, 100 B",
    "confluent-kafka produces, 1 KB",
    "confluent-kafka consumes, 1 KB",
    "produce 64 KiB batches of 1 KB records, acks=all, lz4, 12 partitions",
    "produce 64 KiB batches of 1 KB records, acks=all, zstd, 12 partitions",
    "TLS: small writes on 50 connections",
    "TLS: 64 KiB batches written",
    "TLS: 1 MiB at a time read",
    "TLS and SCRAM: new connections",
    "1,000 partitions, 4,000 one-record requests/s",
    "50 busy connections beside 2,000 idle ones",
    "start, empty",
    "start, 500 partitions with data after a clean stop",
    "memory, idle and after work",
    "from a test: a cluster is asked for, a client connects and has a record acknowledged",
    *(row.title for row in cluster.ROWS),
)

_titled = {row.title: row for row in EVERYTHING}
ROWS: list[Row] = [_titled[title] for title in BY_IMPORTANCE]
FURTHER: list[Row] = [row for row in EVERYTHING if row not in ROWS]


def named(words: list[str]) -> list[Row]:
    """The rows that these stand for, each for those with it in their title, or else with all its words in any order."""
    rows = [*ROWS, *FURTHER]
    found = [row for each in words for row in _titles_with(each.lower(), rows)]
    return [row for row in rows if row in found]


def _titles_with(words: str, rows: list[Row]) -> list[Row]:
    exact = [row for row in rows if words in row.title.lower()]
    return exact or [row for row in rows if all(word in row.title.lower() for word in words.split())]
