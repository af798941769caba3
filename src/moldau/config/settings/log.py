"""Broker settings of the log: where it lies, how it rolls, how long it is kept, how it is cleaned.

Most of them are the defaults of a topic setting (see `topic`), which is why most of them may be changed while the
broker runs.
"""

from __future__ import annotations

from typing import Any, Final

from moldau.config.definition import (
    BOOLEAN,
    CLUSTER_WIDE,
    DOUBLE,
    DOUBLE_MAX,
    HIGH,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    LOW,
    MEDIUM,
    PER_BROKER,
    STRING,
    Allowed,
    Setting,
    at_least,
    between,
    distinct,
    each_of,
    one_of,
    optional,
)
from moldau.config.topic import COMPRESSION_TYPES, GZIP_LEVELS

_HOUR = 60 * 60 * 1000

# Settings of one thing in different units; the first of a row that is set is the one that counts.
LOG_SYNONYMS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
)

_POLICIES: Final[Allowed[Any]] = each_of("compact", "delete", may_be_empty=True, may_repeat=True)


# fmt: off
class LogSettings:
    log_dir = Setting("log.dir", LIST, ("/tmp/kafka-logs",), distinct(may_be_empty=False), HIGH,
        "The directory of the logs where `log.dirs` is not set.")
    log_dirs = Setting("log.dirs", optional(LIST), None, distinct(may_be_empty=False), HIGH,
        "The directories of the logs, separated by commas; a new partition goes to the one with the fewest.")
    cordoned_log_dirs = Setting("cordoned.log.dirs", LIST, (), distinct(may_be_empty=True), MEDIUM,
        "The log directories that take no new partitions; `*` stands for all of them.", PER_BROKER)
    num_partitions = Setting("num.partitions", INT, 1, at_least(1), MEDIUM,
        "How many partitions a topic gets when its creator does not say.")
    auto_create_topics_enable = Setting("auto.create.topics.enable", BOOLEAN, True, None, HIGH,
        "Whether asking for a topic that does not exist creates it.")
    delete_topic_enable = Setting("delete.topic.enable", BOOLEAN, True, None, HIGH,
        "Whether topics may be deleted.")
    num_recovery_threads_per_data_dir = Setting("num.recovery.threads.per.data.dir", INT, 2, at_least(1), HIGH,
        "How many logs of a directory are recovered at the same time after an unclean stop.", CLUSTER_WIDE,
        no_effect="each directory is recovered on one worker")
    log_dir_failure_timeout_ms = Setting("log.dir.failure.timeout.ms", LONG, 30_000, at_least(1), LOW,
        "How long the broker goes on without being able to tell the controller that a log directory failed.",
        no_effect="the next heartbeat that arrives tells the controller; if none does, it fences this broker")
    log_initial_task_delay_ms = Setting("log.initial.task.delay.ms", LONG, 30_000, at_least(0), LOW,
        "How long after the start retention, flushing and checkpoints begin.", internal=True)

    log_segment_bytes = Setting("log.segment.bytes", INT, 1 << 30, at_least(1 << 20), HIGH,
        "The size at which a segment file is closed and the next one started.", CLUSTER_WIDE)
    log_roll_ms = Setting("log.roll.ms", optional(LONG), None, None, HIGH,
        "The age at which a segment is closed even if it is not full; `log.roll.hours` where it is not set.",
        CLUSTER_WIDE)
    log_roll_hours = Setting("log.roll.hours", INT, 168, at_least(1), HIGH,
        "The age in hours at which a segment is closed, where `log.roll.ms` is not set.")
    log_roll_jitter_ms = Setting("log.roll.jitter.ms", optional(LONG), None, None, HIGH,
        "The most by which a segment's age is shortened at random; `log.roll.jitter.hours` where it is not set.",
        CLUSTER_WIDE)
    log_roll_jitter_hours = Setting("log.roll.jitter.hours", INT, 0, at_least(0), HIGH,
        "The same in hours, where `log.roll.jitter.ms` is not set.")
    log_index_size_max_bytes = Setting("log.index.size.max.bytes", INT, 10 << 20, at_least(4), MEDIUM,
        "The size of the index files of a segment; a full index closes the segment.", CLUSTER_WIDE)
    log_index_interval_bytes = Setting("log.index.interval.bytes", INT, 4096, at_least(0), MEDIUM,
        "How many bytes of records lie between two entries of the index.", CLUSTER_WIDE)
    log_preallocate = Setting("log.preallocate", BOOLEAN, False, None, MEDIUM,
        "Whether a segment's file is given its full size when it is created.", CLUSTER_WIDE)

    log_retention_ms = Setting("log.retention.ms", optional(LONG), None, None, HIGH,
        "The age after which segments are deleted, -1 for never; `log.retention.minutes` where it is not set.",
        CLUSTER_WIDE)
    log_retention_minutes = Setting("log.retention.minutes", optional(INT), None, None, HIGH,
        "The same in minutes, where `log.retention.ms` is not set; `log.retention.hours` where this is not set either.")
    log_retention_hours = Setting("log.retention.hours", INT, 168, None, HIGH,
        "The same in hours, where neither `log.retention.ms` nor `log.retention.minutes` is set.")
    log_retention_bytes = Setting("log.retention.bytes", LONG, -1, None, HIGH,
        "The size of a partition above which its oldest segments are deleted; -1 means no limit.", CLUSTER_WIDE)
    log_retention_check_interval_ms = Setting("log.retention.check.interval.ms", LONG, 5 * 60_000, at_least(1), MEDIUM,
        "How often the logs are searched for segments to delete.")
    log_segment_delete_delay_ms = Setting("log.segment.delete.delay.ms", LONG, 60_000, at_least(0), HIGH,
        "How long the files of a deleted segment stay on disk, so that readers that hold them can finish.",
        CLUSTER_WIDE)
    log_cleanup_policy = Setting("log.cleanup.policy", LIST, ("delete",), _POLICIES, MEDIUM,
        "What happens to old segments: deleted, compacted, both, or, with an empty list, nothing.", CLUSTER_WIDE)

    log_flush_interval_messages = Setting("log.flush.interval.messages", LONG, LONG_MAX, at_least(1), HIGH,
        "How many records may be written before a log is forced to disk. With 1 an acknowledgement waits until its "
        "record has been forced to disk (durable mode); waiting requests share one fsync.", CLUSTER_WIDE)
    log_flush_interval_ms = Setting("log.flush.interval.ms", optional(LONG), None, None, HIGH,
        "How long records may lie in a log before it is forced to disk; `log.flush.scheduler.interval.ms` where it is "
        "not set.", CLUSTER_WIDE)
    log_flush_scheduler_interval_ms = Setting("log.flush.scheduler.interval.ms", LONG, LONG_MAX, None, HIGH,
        "How often the broker looks for logs that must be forced to disk.")
    log_flush_offset_checkpoint_interval_ms = Setting(
        "log.flush.offset.checkpoint.interval.ms", INT, 60_000, at_least(0), HIGH,
        "How often the recovery points are written down; recovery starts from there after an unclean stop.")
    log_flush_start_offset_checkpoint_interval_ms = Setting(
        "log.flush.start.offset.checkpoint.interval.ms", INT, 60_000, at_least(0), HIGH,
        "How often the log start offsets are written down.")

    message_max_bytes = Setting("message.max.bytes", INT, (1 << 20) + 12, at_least(0), HIGH,
        "The largest record batch that may be written, after compression.", CLUSTER_WIDE)
    compression_type = Setting("compression.type", STRING, "producer", one_of(*COMPRESSION_TYPES), HIGH,
        "The codec batches are stored with; `producer` keeps them as they were sent.", CLUSTER_WIDE)
    compression_gzip_level = Setting("compression.gzip.level", INT, -1, GZIP_LEVELS, MEDIUM,
        "The level for gzip where the broker compresses; -1 is the codec's own default.", CLUSTER_WIDE)
    compression_lz4_level = Setting("compression.lz4.level", INT, 9, between(1, 17), MEDIUM,
        "The level for lz4 where the broker compresses.", CLUSTER_WIDE)
    compression_zstd_level = Setting("compression.zstd.level", INT, 3, between(-131072, 22), MEDIUM,
        "The level for zstd where the broker compresses.", CLUSTER_WIDE)
    log_message_timestamp_type = Setting(
        "log.message.timestamp.type", STRING, "CreateTime", one_of("CreateTime", "LogAppendTime"), MEDIUM,
        "Whether records keep the time their producer gave them or get the time of the append.", CLUSTER_WIDE)
    log_message_timestamp_before_max_ms = Setting(
        "log.message.timestamp.before.max.ms", LONG, LONG_MAX, at_least(0), MEDIUM,
        "How far before the broker's clock a record's timestamp may lie; only for `CreateTime`.", CLUSTER_WIDE)
    log_message_timestamp_after_max_ms = Setting("log.message.timestamp.after.max.ms", LONG, _HOUR, at_least(0), MEDIUM,
        "How far after the broker's clock a record's timestamp may lie; only for `CreateTime`.", CLUSTER_WIDE)

    log_cleaner_enable = Setting("log.cleaner.enable", BOOLEAN, True, None, MEDIUM,
        "Whether compacted topics are compacted; without it they grow for ever.")
    log_cleaner_threads = Setting("log.cleaner.threads", INT, 1, at_least(0), MEDIUM,
        "How many logs are compacted at the same time.", CLUSTER_WIDE)
    log_cleaner_io_max_bytes_per_second = Setting(
        "log.cleaner.io.max.bytes.per.second", DOUBLE, DOUBLE_MAX, None, MEDIUM,
        "The bytes a second that compaction reads and writes at most.", CLUSTER_WIDE)
    log_cleaner_dedupe_buffer_size = Setting("log.cleaner.dedupe.buffer.size", LONG, 128 << 20, None, MEDIUM,
        "The memory for the map of keys while compacting, shared by all that compact.", CLUSTER_WIDE)
    log_cleaner_io_buffer_size = Setting("log.cleaner.io.buffer.size", INT, 512 << 10, at_least(0), MEDIUM,
        "The memory for reading and writing while compacting, shared by all that compact.", CLUSTER_WIDE)
    log_cleaner_io_buffer_load_factor = Setting("log.cleaner.io.buffer.load.factor", DOUBLE, 0.9, None, MEDIUM,
        "How full the map of keys may become; a fuller one takes more records in one pass.", CLUSTER_WIDE)
    log_cleaner_backoff_ms = Setting("log.cleaner.backoff.ms", LONG, 15_000, at_least(0), MEDIUM,
        "How long compaction rests when there is nothing to compact.", CLUSTER_WIDE)
    log_cleaner_min_cleanable_ratio = Setting("log.cleaner.min.cleanable.ratio", DOUBLE, 0.5, between(0, 1), MEDIUM,
        "The share of a log that must be uncompacted before it is compacted.", CLUSTER_WIDE)
    log_cleaner_delete_retention_ms = Setting("log.cleaner.delete.retention.ms", LONG, 24 * _HOUR, at_least(0), MEDIUM,
        "How long compaction keeps a tombstone, so that slow readers still see the deletion.", CLUSTER_WIDE)
    log_cleaner_min_compaction_lag_ms = Setting("log.cleaner.min.compaction.lag.ms", LONG, 0, at_least(0), MEDIUM,
        "How long a record stays out of reach of compaction.", CLUSTER_WIDE)
    log_cleaner_max_compaction_lag_ms = Setting(
        "log.cleaner.max.compaction.lag.ms", LONG, LONG_MAX, at_least(1), MEDIUM,
        "How long a record may wait before its segment is compacted whatever the ratio says.", CLUSTER_WIDE)
