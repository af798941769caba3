"""The settings of the share coordinator, resolved once."""

from __future__ import annotations

from typing import NamedTuple

from moldau.config.broker import BrokerConfig


class ShareCoordinatorSettings(NamedTuple):
    updates_per_snapshot: int = 500
    cold_snapshot_ms: int = 300_000
    prune_interval_ms: int = 300_000
    load_buffer: int = 5 << 20
    write_timeout_ms: int = 5000
    compression: int = 0

    @classmethod
    def of(cls, config: BrokerConfig) -> ShareCoordinatorSettings:
        return cls(
            updates_per_snapshot=config.share_coordinator_snapshot_update_records_per_snapshot,
            cold_snapshot_ms=config.share_coordinator_cold_partition_snapshot_interval_ms,
            prune_interval_ms=config.share_coordinator_state_topic_prune_interval_ms,
            load_buffer=config.share_coordinator_load_buffer_size,
            write_timeout_ms=config.share_coordinator_write_timeout_ms,
            compression=config.share_coordinator_state_topic_compression_codec,
        )
