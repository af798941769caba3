"""The replica a consumer reads from (KIP-392): one in its own rack, if the leader is not and one there is in sync."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau.metadata.image import MetadataImage
from moldau.replica.partition import NO_REPLICA, Partition

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class RackAwareSelector:
    def __init__(self, broker_id: int, image: Callable[[], MetadataImage]) -> None:
        self._broker_id = broker_id
        self._image = image

    def select(self, partition: Partition, rack: str, offset: int) -> int:
        """The broker to read from `offset` on instead of this one, which leads; NO_REPLICA if this one is best."""
        if not rack or not partition.is_leader or self._is_in(self._broker_id, rack):
            return NO_REPLICA
        best: tuple[int, int, int] | None = None
        for broker_id, follower in partition.followers.items():
            if (
                broker_id in partition.isr
                and follower.log_start_offset <= offset <= follower.end_offset
                and self._is_in(broker_id, rack)
            ):
                candidate = follower.end_offset, follower.caught_up_ms, broker_id
                best = candidate if best is None else max(best, candidate)
        return NO_REPLICA if best is None else best[2]

    def _is_in(self, broker_id: int, rack: str) -> bool:
        broker = self._image().cluster.brokers.get(broker_id)
        return broker is not None and not broker.fenced and broker.rack == rack
