"""What a share consumer counts, under the names Kafka gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.client.share.in_flight import Acknowledgements
    from moldau.client.share.share_membership import ShareMembership


@dataclass(slots=True)
class ShareCounters:
    fetches: int = 0
    bytes: int = 0
    records: int = 0
    acknowledgements: int = 0
    acknowledgement_errors: int = 0

    def acknowledged(self, told: Acknowledgements) -> None:
        self.acknowledgements += len(told.offsets)
        if told.error is not None:
            self.acknowledgement_errors += len(told.offsets)


def measured(counters: ShareCounters, membership: ShareMembership, assigned: int) -> dict[str, dict[str, float]]:
    return {
        "consumer-share-fetch-manager-metrics": {
            "fetch-total": counters.fetches,
            "bytes-fetched-total": counters.bytes,
            "records-fetched-total": counters.records,
            "records-per-request-avg": counters.records / counters.fetches if counters.fetches else 0.0,
            "fetch-size-avg": counters.bytes / counters.fetches if counters.fetches else 0.0,
            "acknowledgements-send-total": counters.acknowledgements,
            "acknowledgements-error-total": counters.acknowledgement_errors,
        },
        "consumer-share-coordinator-metrics": {
            "assigned-partitions": assigned,
            "heartbeat-total": membership.heartbeats,
            "rebalance-total": membership.changes,
        },
    }
