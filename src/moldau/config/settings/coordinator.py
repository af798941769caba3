"""Broker settings of the coordinators: groups of both protocols, committed offsets, transactions, producer ids."""

from __future__ import annotations

from typing import Any, Final

from moldau.config.definition import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    INT_MAX,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    SHORT,
    STRING,
    Allowed,
    Setting,
    at_least,
    between,
    each_of,
)

_DAY = 24 * 60 * 60 * 1000

_PROTOCOLS: Final[Allowed[Any]] = each_of("classic", "consumer", "share", "streams", may_be_empty=False)
_POLICIES: Final[Allowed[Any]] = Allowed(
    "one of bidirectional, upgrade, downgrade, disabled",
    lambda word: word.lower() in ("bidirectional", "upgrade", "downgrade", "disabled"),
)
# Kafka's own assignors by name, or by the class names older files use; no other class can run here.
ASSIGNORS: Final = {
    "uniform": "uniform",
    "range": "range",
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
_ASSIGNORS: Final[Allowed[Any]] = Allowed(
    "a list of uniform, range", lambda items: bool(items) and all(item in ASSIGNORS for item in items)
)


# fmt: off
class CoordinatorSettings:
    group_min_session_timeout_ms = Setting("group.min.session.timeout.ms", INT, 6000, None, MEDIUM,
        "The shortest session timeout a member of a classic group may ask for.")
    group_max_session_timeout_ms = Setting("group.max.session.timeout.ms", INT, 1_800_000, None, MEDIUM,
        "The longest session timeout a member of a classic group may ask for.")
    group_initial_rebalance_delay_ms = Setting("group.initial.rebalance.delay.ms", INT, 3000, None, MEDIUM,
        "How long a new classic group waits for further members before its first rebalance.")
    group_max_size = Setting("group.max.size", INT, INT_MAX, at_least(1), MEDIUM,
        "How many members a classic group may have.")
    group_coordinator_rebalance_protocols = Setting(
        "group.coordinator.rebalance.protocols", LIST, ("classic", "consumer", "streams"), _PROTOCOLS, MEDIUM,
        "The group protocols that are switched on; classic always is, share groups go by the feature share.version.")
    group_coordinator_append_linger_ms = Setting("group.coordinator.append.linger.ms", INT, -1, at_least(-1), MEDIUM,
        "How long a coordinator gathers records before it writes them; -1 lets it adapt to the load.",
        no_effect="offsets that are committed in one turn of the loop are written together, without waiting, "
        "everything else as soon as it is decided")

    group_consumer_session_timeout_ms = Setting("group.consumer.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "How long a member of a consumer group may be silent before it is removed.")
    group_consumer_min_session_timeout_ms = Setting(
        "group.consumer.min.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "The shortest session timeout that may be set for a consumer group.")
    group_consumer_max_session_timeout_ms = Setting(
        "group.consumer.max.session.timeout.ms", INT, 60_000, at_least(1), MEDIUM,
        "The longest session timeout that may be set for a consumer group.")
    group_consumer_heartbeat_interval_ms = Setting(
        "group.consumer.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members of a consumer group are told to send heartbeats.")
    group_consumer_min_heartbeat_interval_ms = Setting(
        "group.consumer.min.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "The shortest heartbeat interval that may be set for a consumer group.")
    group_consumer_max_heartbeat_interval_ms = Setting(
        "group.consumer.max.heartbeat.interval.ms", INT, 15_000, at_least(1), MEDIUM,
        "The longest heartbeat interval that may be set for a consumer group.")
    group_consumer_max_size = Setting("group.consumer.max.size", INT, INT_MAX, at_least(1), MEDIUM,
        "How many members a consumer group may have.")
    group_consumer_assignors = Setting("group.consumer.assignors", LIST, ("uniform", "range"), _ASSIGNORS, MEDIUM,
        "The assignors consumer groups may choose from; the first is used where a member names none.")
    group_consumer_migration_policy = Setting(
        "group.consumer.migration.policy", STRING, "bidirectional", _POLICIES, MEDIUM,
        "Which groups with members may change between the classic and the consumer protocol.")
    group_consumer_regex_refresh_interval_ms = Setting(
        "group.consumer.regex.refresh.interval.ms", INT, 600_000, at_least(10_000), MEDIUM,
        "How often the topics that match a consumer group's regular expressions are looked up again.")
    group_consumer_assignment_interval_ms = Setting(
        "group.consumer.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two new assignments of a consumer group.", CLUSTER_WIDE)
    group_consumer_min_assignment_interval_ms = Setting(
        "group.consumer.min.assignment.interval.ms", INT, 0, at_least(0), MEDIUM,
        "The shortest assignment interval that may be set for a consumer group.")
    group_consumer_max_assignment_interval_ms = Setting(
        "group.consumer.max.assignment.interval.ms", INT, 15_000, at_least(0), MEDIUM,
        "The longest assignment interval that may be set for a consumer group.")

    offset_metadata_max_bytes = Setting("offset.metadata.max.bytes", INT, 4096, None, HIGH,
        "The largest text a client may store with a committed offset.")
    offsets_load_buffer_size = Setting("offsets.load.buffer.size", INT, 5 << 20, at_least(1), HIGH,
        "How many bytes are read at a time while a partition of the offsets topic is loaded.")
    offsets_topic_replication_factor = Setting("offsets.topic.replication.factor", SHORT, 3, at_least(1), HIGH,
        "How many replicas the offsets topic gets; it is not created while there are fewer brokers.")
    offsets_topic_num_partitions = Setting("offsets.topic.num.partitions", INT, 50, at_least(1), HIGH,
        "How many partitions the offsets topic gets; not to be changed afterwards.")
    offsets_topic_segment_bytes = Setting("offsets.topic.segment.bytes", INT, 100 << 20, at_least(1), HIGH,
        "The segment size of the offsets topic; small ones load and compact faster.")
    offsets_topic_compression_codec = Setting("offsets.topic.compression.codec", INT, 0, between(0, 4), HIGH,
        "The codec of the offsets topic, by number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.")
    offsets_retention_minutes = Setting("offsets.retention.minutes", INT, 7 * 24 * 60, at_least(1), HIGH,
        "How long committed offsets are kept once their group is empty or no longer subscribed to the topic.")
    offsets_retention_check_interval_ms = Setting(
        "offsets.retention.check.interval.ms", LONG, 600_000, at_least(1), HIGH,
        "How often expired offsets are looked for.")
    offsets_commit_timeout_ms = Setting("offsets.commit.timeout.ms", INT, 5000, at_least(1), HIGH,
        "How long a coordinator waits until what it wrote is replicated.")

    transactional_id_expiration_ms = Setting("transactional.id.expiration.ms", INT, 7 * _DAY, at_least(1), HIGH,
        "How long a transactional id without transactions is remembered.")
    transaction_max_timeout_ms = Setting("transaction.max.timeout.ms", INT, 900_000, at_least(1), HIGH,
        "The longest transaction timeout a client may ask for.")
    transaction_state_log_min_isr = Setting("transaction.state.log.min.isr", INT, 2, at_least(1), HIGH,
        "The `min.insync.replicas` of the transaction topic.")
    transaction_state_log_load_buffer_size = Setting(
        "transaction.state.log.load.buffer.size", INT, 5 << 20, at_least(1), HIGH,
        "How many bytes are read at a time while a partition of the transaction topic is loaded.")
    transaction_state_log_replication_factor = Setting(
        "transaction.state.log.replication.factor", SHORT, 3, at_least(1), HIGH,
        "How many replicas the transaction topic gets; it is not created while there are fewer brokers.")
    transaction_state_log_num_partitions = Setting("transaction.state.log.num.partitions", INT, 50, at_least(1), HIGH,
        "How many partitions the transaction topic gets; not to be changed afterwards.")
    transaction_state_log_segment_bytes = Setting(
        "transaction.state.log.segment.bytes", INT, 100 << 20, at_least(1), HIGH,
        "The segment size of the transaction topic; small ones load and compact faster.")
    transaction_abort_timed_out_transaction_cleanup_interval_ms = Setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10_000, at_least(1), LOW,
        "How often transactions that timed out are aborted.")
    transaction_remove_expired_transaction_cleanup_interval_ms = Setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3_600_000, at_least(1), LOW,
        "How often transactional ids that expired are forgotten.")
    transaction_partition_verification_enable = Setting(
        "transaction.partition.verification.enable", BOOLEAN, True, None, LOW,
        "Whether a transactional write is checked against the coordinator before the first append to a partition.",
        CLUSTER_WIDE)
    transaction_two_phase_commit_enable = Setting("transaction.two.phase.commit.enable", BOOLEAN, False, None, LOW,
        "Whether clients may keep transactions open without timeout for a commit in two phases.")
    add_partitions_to_txn_retry_backoff_ms = Setting(
        "add.partitions.to.txn.retry.backoff.ms", INT, 20, at_least(1), HIGH,
        "The pause before the broker asks the transaction coordinator again to add a partition.")
    add_partitions_to_txn_retry_backoff_max_ms = Setting(
        "add.partitions.to.txn.retry.backoff.max.ms", INT, 100, at_least(0), HIGH,
        "How long the broker goes on asking the transaction coordinator to add a partition.")
    producer_id_expiration_ms = Setting("producer.id.expiration.ms", INT, _DAY, at_least(1), LOW,
        "How long a partition remembers a producer that no longer writes.", CLUSTER_WIDE)
    producer_id_expiration_check_interval_ms = Setting(
        "producer.id.expiration.check.interval.ms", INT, 600_000, at_least(1), LOW,
        "How often producers to forget are looked for.", internal=True)
