"""Share partitions that this broker leads: how much of each is in flight, and the sessions of who reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from moldau.metrics.exposition import GAUGE, Family, Sample, gauge, labels
from moldau.server.share.share_partition import SharePartition
from moldau.server.share.share_partitions import SharePartitions

_PARTITION: Final = "kafka_server_sharepartitionmetrics_"
_SESSIONS: Final = "kafka_server_sharesessioncache_"


def families(shares: SharePartitions) -> Iterator[Family]:
    yield gauge(_SESSIONS + "sharesessionscount", "Sessions of members of share groups.", len(shares.sessions))
    yield gauge("moldau_share_partitions", "Share partitions that are led here and known.", len(shares))
    records = "Records of a share partition between what is done with and what nobody was given yet."
    yield Family(_PARTITION + "inflightmessagecount", GAUGE, records, _of_each(shares, lambda state: state.in_flight))
    runs = "Runs of records of a share partition that are in one state."
    yield Family(_PARTITION + "inflightbatchcount", GAUGE, runs, _of_each(shares, lambda state: len(state.runs)))


def _of_each(shares: SharePartitions, value: Callable[[SharePartition], int]) -> Iterator[Sample | None]:
    for led in shares.led():
        state = led.state
        if state is not None:
            topic, partition = led.partition.topic_partition
            yield "", labels(group=led.key.group_id, topic=topic, partition=partition), value(state)
        yield None
