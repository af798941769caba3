"""What a consumer counts, under the names Kafka gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.client.consumer.committer import Committer
    from moldau.client.consumer.fetcher import Fetcher
    from moldau.client.consumer.rebalancing import Rebalancer

Measures = dict[str, dict[str, float]]


@dataclass(slots=True)
class Counters:
    """Of all fetches."""

    fetches: int = 0
    bytes: int = 0
    records: int = 0


def measured(fetcher: Fetcher, rebalancer: Rebalancer | None, committer: Committer | None) -> Measures:
    counters = fetcher.counters
    with fetcher.changed:
        assigned = len(fetcher.readings)
        lags = {
            reading.where: max(0, reading.end - reading.position)
            for reading in fetcher.readings.values()
            if reading.position is not None and reading.end >= 0
        }
    found: Measures = {
        "consumer-fetch-manager-metrics": {
            "fetch-total": counters.fetches,
            "bytes-consumed-total": counters.bytes,
            "records-consumed-total": counters.records,
            "fetch-size-avg": counters.bytes / counters.fetches if counters.fetches else 0.0,
            "records-lag-max": max(lags.values(), default=0),
        }
    }
    for where, lag in lags.items():
        found[f"consumer-fetch-manager-metrics.{where}"] = {"records-lag": lag}
    if rebalancer is not None and committer is not None:
        found["consumer-coordinator-metrics"] = {
            "assigned-partitions": assigned,
            "commit-total": committer.commits,
            "heartbeat-total": rebalancer.membership.heartbeats,
            "rebalance-total": rebalancer.membership.rounds,
        }
    return found
