"""Broker settings of replication: followers, leaders, elections, orderly shutdown, quotas."""

from __future__ import annotations

from typing import Final

from moldau.config.definition import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LONG,
    LONG_MAX,
    LOW,
    MEDIUM,
    STRING,
    Setting,
    at_least,
    optional,
)

# Why a setting does nothing.
_BY_SYSTEM: Final = "the operating system chooses the buffers of connections between brokers"
_NO_SAMPLES: Final = "the rate of replication is held over every answer, without samples"


# fmt: off
class ReplicationSettings:
    default_replication_factor = Setting("default.replication.factor", INT, 1, None, MEDIUM,
        "How many replicas a topic's partitions get when its creator does not say.")
    min_insync_replicas = Setting("min.insync.replicas", INT, 1, at_least(1), HIGH,
        "How many replicas must be in sync for a write with acks=all to be accepted. With eligible leaders, as new "
        "clusters have them, what the first controller's file says is written into the metadata; from then on it is "
        "the same for all brokers and changed there only.", CLUSTER_WIDE)
    unclean_leader_election_enable = Setting("unclean.leader.election.enable", BOOLEAN, False, None, HIGH,
        "Whether a replica that is not in sync may lead when no other is left, at the price of lost records.",
        CLUSTER_WIDE)
    unclean_leader_election_interval_ms = Setting(
        "unclean.leader.election.interval.ms", LONG, 5 * 60_000, at_least(1), MEDIUM,
        "How often the controller looks for partitions that wait for an unclean election.", internal=True)
    auto_leader_rebalance_enable = Setting("auto.leader.rebalance.enable", BOOLEAN, True, None, HIGH,
        "Whether leadership returns to the preferred replicas by itself.")
    leader_imbalance_check_interval_seconds = Setting(
        "leader.imbalance.check.interval.seconds", LONG, 300, at_least(1), HIGH,
        "How often the controller looks for leaders that should move back.")

    replica_lag_time_max_ms = Setting("replica.lag.time.max.ms", LONG, 30_000, None, HIGH,
        "How long a follower may lag behind the end of the leader's log before it leaves the in-sync replicas.")
    replica_socket_timeout_ms = Setting("replica.socket.timeout.ms", INT, 30_000, None, HIGH,
        "How long a follower waits for an answer; at least `replica.fetch.wait.max.ms`.")
    replica_socket_receive_buffer_bytes = Setting("replica.socket.receive.buffer.bytes", INT, 64 << 10, None, HIGH,
        "The receive buffer of a follower's connection to a leader.", no_effect=_BY_SYSTEM)
    replica_fetch_max_bytes = Setting("replica.fetch.max.bytes", INT, 1 << 20, at_least(0), MEDIUM,
        "The bytes a follower asks for per partition; a larger batch at the front is still sent.")
    replica_fetch_wait_max_ms = Setting("replica.fetch.wait.max.ms", INT, 500, None, HIGH,
        "How long a leader may hold a follower's fetch; at most `replica.lag.time.max.ms`.")
    replica_fetch_min_bytes = Setting("replica.fetch.min.bytes", INT, 1, None, HIGH,
        "How many bytes a follower waits for, up to `replica.fetch.wait.max.ms`.")
    replica_fetch_response_max_bytes = Setting("replica.fetch.response.max.bytes", INT, 10 << 20, at_least(0), MEDIUM,
        "The bytes a follower asks for in all; a larger batch at the front is still sent.")
    replica_fetch_backoff_ms = Setting("replica.fetch.backoff.ms", INT, 1000, at_least(0), MEDIUM,
        "The pause after a failed fetch of a partition.")
    num_replica_fetchers = Setting("num.replica.fetchers", INT, 1, at_least(1), HIGH,
        "How many connections a follower has to each leader, which share its partitions.", CLUSTER_WIDE)
    replica_high_watermark_checkpoint_interval_ms = Setting(
        "replica.high.watermark.checkpoint.interval.ms", LONG, 5000, None, HIGH,
        "How often the high watermarks are written down.")
    replica_selector_class = Setting("replica.selector.class", optional(STRING), None, None, MEDIUM,
        "How the replica a consumer reads from is chosen; the only class known here is "
        "org.apache.kafka.common.replica.RackAwareReplicaSelector, and without it consumers read from the leader.")

    controlled_shutdown_enable = Setting("controlled.shutdown.enable", BOOLEAN, True, None, MEDIUM,
        "Whether a broker hands over its leaderships before it stops.")

    quota_window_num = Setting("quota.window.num", INT, 11, at_least(1), LOW,
        "How many samples the measurement of client quotas keeps.")
    quota_window_size_seconds = Setting("quota.window.size.seconds", INT, 1, at_least(1), LOW,
        "How long a sample of client quotas lasts.")
    replication_quota_window_num = Setting("replication.quota.window.num", INT, 11, at_least(1), LOW,
        "How many samples the measurement of replication quotas keeps.", no_effect=_NO_SAMPLES)
    replication_quota_window_size_seconds = Setting("replication.quota.window.size.seconds", INT, 1, at_least(1), LOW,
        "How long a sample of replication quotas lasts.", no_effect=_NO_SAMPLES)
    alter_log_dirs_replication_quota_window_num = Setting(
        "alter.log.dirs.replication.quota.window.num", INT, 11, at_least(1), LOW,
        "How many samples the measurement of moves between log directories keeps.",
        no_effect="the rate of moves is held over every piece, without samples")
    alter_log_dirs_replication_quota_window_size_seconds = Setting(
        "alter.log.dirs.replication.quota.window.size.seconds", INT, 1, at_least(1), LOW,
        "How long a sample of moves between log directories lasts.",
        no_effect="the rate of moves is held over every piece, without samples")
    controller_quota_window_num = Setting("controller.quota.window.num", INT, 11, at_least(1), LOW,
        "How many samples the measurement of controller mutation quotas keeps.")
    controller_quota_window_size_seconds = Setting("controller.quota.window.size.seconds", INT, 1, at_least(1), LOW,
        "How long a sample of controller mutation quotas lasts.")
    leader_replication_throttled_rate = Setting(
        "leader.replication.throttled.rate", LONG, LONG_MAX, at_least(0), MEDIUM,
        "The bytes a second a leader sends to throttled followers.", CLUSTER_WIDE)
    follower_replication_throttled_rate = Setting(
        "follower.replication.throttled.rate", LONG, LONG_MAX, at_least(0), MEDIUM,
        "The bytes a second throttled followers fetch.", CLUSTER_WIDE)
    replica_alter_log_dirs_io_max_bytes_per_second = Setting(
        "replica.alter.log.dirs.io.max.bytes.per.second", LONG, LONG_MAX, at_least(0), MEDIUM,
        "The bytes a second of moves between log directories.", CLUSTER_WIDE)
