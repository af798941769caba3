"""Broker settings of the share coordinator, which keeps the state of share groups."""

from __future__ import annotations

from moldau.config.definition import INT, MEDIUM, SHORT, Setting, at_least, between

_MINUTE = 60_000


# fmt: off
class ShareCoordinatorSettings:
    share_coordinator_state_topic_num_partitions = Setting(
        "share.coordinator.state.topic.num.partitions", INT, 50, at_least(1), MEDIUM,
        "How many partitions the topic of share group states gets; not to be changed afterwards.")
    share_coordinator_state_topic_replication_factor = Setting(
        "share.coordinator.state.topic.replication.factor", SHORT, 3, at_least(1), MEDIUM,
        "How many replicas the topic of share group states gets; it is not created while there are fewer brokers.")
    share_coordinator_state_topic_min_isr = Setting(
        "share.coordinator.state.topic.min.isr", SHORT, 2, at_least(1), MEDIUM,
        "The `min.insync.replicas` of the topic of share group states.")
    share_coordinator_state_topic_segment_bytes = Setting(
        "share.coordinator.state.topic.segment.bytes", INT, 100 << 20, at_least(1), MEDIUM,
        "The segment size of the topic of share group states; small ones load faster.")
    share_coordinator_state_topic_compression_codec = Setting(
        "share.coordinator.state.topic.compression.codec", INT, 0, between(0, 4), MEDIUM,
        "The codec of the topic of share group states, by number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.")
    share_coordinator_state_topic_prune_interval_ms = Setting(
        "share.coordinator.state.topic.prune.interval.ms", INT, 5 * _MINUTE, at_least(1), MEDIUM,
        "How often records of the topic of share group states that nobody needs any more are deleted.", internal=True)
    share_coordinator_snapshot_update_records_per_snapshot = Setting(
        "share.coordinator.snapshot.update.records.per.snapshot", INT, 500, between(0, 500), MEDIUM,
        "After so many updates of a share partition its whole state is written.")
    share_coordinator_cold_partition_snapshot_interval_ms = Setting(
        "share.coordinator.cold.partition.snapshot.interval.ms", INT, 5 * _MINUTE, at_least(1), MEDIUM,
        "After so long the state of a share partition is written again, so that the records before can be deleted.",
        internal=True)
    share_coordinator_load_buffer_size = Setting(
        "share.coordinator.load.buffer.size", INT, 5 << 20, at_least(1), MEDIUM,
        "How many bytes are read at a time while a partition of the topic of share group states is loaded.")
    share_coordinator_write_timeout_ms = Setting("share.coordinator.write.timeout.ms", INT, 5000, at_least(1), MEDIUM,
        "How long the share coordinator waits until what it wrote is replicated.")
# fmt: on
