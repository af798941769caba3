"""The settings of a topic: their table, their resolved form, and the rules they must keep together.

A topic's setting falls back to a broker setting, usually one with another name (`retention.ms` to `log.retention.ms`,
then to `log.retention.minutes`, then to `log.retention.hours`); `Setting.synonyms` lists them in the order in which
they are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from moldau.config.definition import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    MEDIUM,
    STRING,
    Allowed,
    ConfigError,
    Setting,
    at_least,
    between,
    closest,
    each_of,
    one_of,
    optional,
    settings_of,
)
from moldau.dataclass import dataclass, replace

_HOUR = 60 * 60 * 1000
_DAY = 24 * _HOUR
_NO_TIERS = "there is no tiered storage"

COMPRESSION_TYPES: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
GZIP_LEVELS: Final[Allowed[int]] = Allowed("-1 or from 1 to 9", lambda level: level == -1 or 1 <= level <= 9)


def _is_replica_list(items: Any) -> bool:
    if tuple(items) in ((), ("*",)):
        return True
    pairs = [item.split(":") for item in items if item.isascii()]
    return len(pairs) == len(items) and all(len(pair) == 2 and all(map(str.isdigit, pair)) for pair in pairs)


THROTTLED_REPLICAS: Final[Allowed[Any]] = Allowed("* or a list of partition:broker", _is_replica_list)


# fmt: off
class TopicSettings:
    """The table. Two lines a row: what a program needs to know, what a person needs to know."""

    segment_bytes = Setting("segment.bytes", INT, 1 << 30, at_least(1 << 20), MEDIUM,
        "The size at which a segment file is closed and the next one started.",
        synonyms=("log.segment.bytes",))
    segment_ms = Setting("segment.ms", LONG, 7 * _DAY, at_least(1), MEDIUM,
        "The age at which a segment is closed even if it is not full, so that retention and compaction can reach it.",
        synonyms=("log.roll.ms", "log.roll.hours"))
    segment_jitter_ms = Setting("segment.jitter.ms", LONG, 0, at_least(0), MEDIUM,
        "The most by which the age in `segment.ms` is shortened at random, so that many logs do not roll at once.",
        synonyms=("log.roll.jitter.ms", "log.roll.jitter.hours"))
    segment_index_bytes = Setting("segment.index.bytes", INT, 10 << 20, at_least(4), MEDIUM,
        "The size of the index files of a segment; a full index closes the segment.",
        synonyms=("log.index.size.max.bytes",))
    flush_messages = Setting("flush.messages", LONG, LONG_MAX, at_least(1), MEDIUM,
        "How many records may be written before the log is forced to disk. With 1 an acknowledgement waits until its "
        "record has been forced to disk (durable mode); waiting requests share one fsync.",
        synonyms=("log.flush.interval.messages",))
    flush_ms = Setting("flush.ms", LONG, LONG_MAX, at_least(0), MEDIUM,
        "How long records may lie in the log before it is forced to disk.",
        synonyms=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"))
    retention_bytes = Setting("retention.bytes", LONG, -1, None, MEDIUM,
        "The size of a partition above which its oldest segments are deleted; -1 means no limit.",
        synonyms=("log.retention.bytes",))
    retention_ms = Setting("retention.ms", LONG, 7 * _DAY, at_least(-1), MEDIUM,
        "The age after which segments are deleted; -1 means never.",
        synonyms=("log.retention.ms", "log.retention.minutes", "log.retention.hours"))
    max_message_bytes = Setting("max.message.bytes", INT, (1 << 20) + 12, at_least(0), MEDIUM,
        "The largest record batch that may be written, after compression.",
        synonyms=("message.max.bytes",))
    index_interval_bytes = Setting("index.interval.bytes", INT, 4096, at_least(0), MEDIUM,
        "How many bytes of records lie between two entries of the index.",
        synonyms=("log.index.interval.bytes",))
    delete_retention_ms = Setting("delete.retention.ms", LONG, _DAY, at_least(0), MEDIUM,
        "How long compaction keeps a tombstone, so that slow readers still see the deletion.",
        synonyms=("log.cleaner.delete.retention.ms",))
    min_compaction_lag_ms = Setting("min.compaction.lag.ms", LONG, 0, at_least(0), MEDIUM,
        "How long a record stays out of reach of compaction.",
        synonyms=("log.cleaner.min.compaction.lag.ms",))
    max_compaction_lag_ms = Setting("max.compaction.lag.ms", LONG, LONG_MAX, at_least(1), MEDIUM,
        "How long a record may wait before its segment is compacted whatever the dirty ratio says.",
        synonyms=("log.cleaner.max.compaction.lag.ms",))
    file_delete_delay_ms = Setting("file.delete.delay.ms", LONG, 60_000, at_least(0), MEDIUM,
        "How long the files of a deleted segment stay on disk, so that readers that hold them can finish.",
        synonyms=("log.segment.delete.delay.ms",))
    min_cleanable_dirty_ratio = Setting("min.cleanable.dirty.ratio", DOUBLE, 0.5, between(0, 1), MEDIUM,
        "The share of a log that must be uncompacted before it is compacted.",
        synonyms=("log.cleaner.min.cleanable.ratio",))
    cleanup_policy = Setting(
        "cleanup.policy", LIST, ("delete",), each_of("compact", "delete", may_be_empty=True, may_repeat=True), MEDIUM,
        "What happens to old segments: deleted by age and size, compacted to the last record of each key, both, or, "
        "with an empty list, nothing.",
        synonyms=("log.cleanup.policy",))
    unclean_leader_election_enable = Setting("unclean.leader.election.enable", BOOLEAN, False, None, MEDIUM,
        "Whether a replica that is not in sync may lead when no other is left, at the price of lost records.",
        synonyms=("unclean.leader.election.enable",))
    min_insync_replicas = Setting("min.insync.replicas", INT, 1, at_least(1), MEDIUM,
        "How many replicas must be in sync for a write with acks=all to be accepted.",
        synonyms=("min.insync.replicas",))
    compression_type = Setting("compression.type", STRING, "producer", one_of(*COMPRESSION_TYPES), MEDIUM,
        "The codec batches are stored with; `producer` keeps them as they were sent.",
        synonyms=("compression.type",))
    compression_gzip_level = Setting("compression.gzip.level", INT, -1, GZIP_LEVELS, MEDIUM,
        "The level for gzip where the broker compresses; -1 is the codec's own default.",
        synonyms=("compression.gzip.level",))
    compression_lz4_level = Setting("compression.lz4.level", INT, 9, between(1, 17), MEDIUM,
        "The level for lz4 where the broker compresses.",
        synonyms=("compression.lz4.level",))
    compression_zstd_level = Setting("compression.zstd.level", INT, 3, between(-131072, 22), MEDIUM,
        "The level for zstd where the broker compresses.",
        synonyms=("compression.zstd.level",))
    preallocate = Setting("preallocate", BOOLEAN, False, None, MEDIUM,
        "Whether a segment's file is given its full size when it is created.",
        synonyms=("log.preallocate",))
    message_timestamp_type = Setting(
        "message.timestamp.type", STRING, "CreateTime", one_of("CreateTime", "LogAppendTime"), MEDIUM,
        "Whether records keep the time their producer gave them or get the time of the append.",
        synonyms=("log.message.timestamp.type",))
    message_timestamp_before_max_ms = Setting("message.timestamp.before.max.ms", LONG, LONG_MAX, at_least(0), MEDIUM,
        "How far before the broker's clock a record's timestamp may lie; only for `CreateTime`.",
        synonyms=("log.message.timestamp.before.max.ms",))
    message_timestamp_after_max_ms = Setting("message.timestamp.after.max.ms", LONG, _HOUR, at_least(0), MEDIUM,
        "How far after the broker's clock a record's timestamp may lie; only for `CreateTime`.",
        synonyms=("log.message.timestamp.after.max.ms",))
    leader_replication_throttled_replicas = Setting(
        "leader.replication.throttled.replicas", LIST, (), THROTTLED_REPLICAS, MEDIUM,
        "The replicas whose outgoing replication is throttled, as partition:broker, or * for all.")
    follower_replication_throttled_replicas = Setting(
        "follower.replication.throttled.replicas", LIST, (), THROTTLED_REPLICAS, MEDIUM,
        "The replicas whose incoming replication is throttled, as partition:broker, or * for all.")
    remote_storage_enable = Setting("remote.storage.enable", BOOLEAN, False, None, MEDIUM,
        "Whether closed segments are also kept in tiered storage.", no_effect=_NO_TIERS)
    local_retention_ms = Setting("local.retention.ms", LONG, -2, at_least(-2), MEDIUM,
        "How long segments stay on local disk once they are in tiered storage; -2 means as `retention.ms`.",
        synonyms=("log.local.retention.ms",), no_effect=_NO_TIERS)
    local_retention_bytes = Setting("local.retention.bytes", LONG, -2, at_least(-2), MEDIUM,
        "How many bytes stay on local disk once they are in tiered storage; -2 means as `retention.bytes`.",
        synonyms=("log.local.retention.bytes",), no_effect=_NO_TIERS)
    remote_log_copy_disable = Setting("remote.log.copy.disable", BOOLEAN, False, None, MEDIUM,
        "Whether copying to tiered storage is stopped.", no_effect=_NO_TIERS)
    remote_log_delete_on_disable = Setting("remote.log.delete.on.disable", BOOLEAN, False, None, MEDIUM,
        "Whether tiered data is deleted when tiered storage is switched off for the topic.", no_effect=_NO_TIERS)
    internal_segment_bytes = Setting("internal.segment.bytes", optional(INT), None, None, MEDIUM,
        "A segment size below the minimum of `segment.bytes`, for tests.", internal=True)
# fmt: on


TOPIC_SETTINGS: Final[Mapping[str, Setting[Any]]] = settings_of(TopicSettings)


@dataclass(slots=True, frozen=True)
class LogConfig:
    """The resolved settings of one topic, as plain attributes because every append reads them."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * _DAY
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    retention_bytes: int = -1
    retention_ms: int = 7 * _DAY
    max_message_bytes: int = (1 << 20) + 12
    index_interval_bytes: int = 4096
    delete_retention_ms: int = _DAY
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    file_delete_delay_ms: int = 60_000
    min_cleanable_dirty_ratio: float = 0.5
    compact: bool = False
    delete: bool = True
    unclean_leader_election_enable: bool = False
    min_insync_replicas: int = 1
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    preallocate: bool = False
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_after_max_ms: int = _HOUR
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    follower_replication_throttled_replicas: tuple[str, ...] = ()

    @property
    def durable(self) -> bool:
        """Whether an acknowledgement waits until its records have been forced to disk."""
        return self.flush_messages == 1

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment rolls: a compacted log must not outlive its compaction lag in an open segment."""
        if self.compact and self.max_compaction_lag_ms > 0:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms


def parse_topic_overrides(overrides: Mapping[str, str]) -> dict[str, Any]:
    """The values of a topic's own settings, by name; ConfigError for a name or a value that is not allowed."""
    values: dict[str, Any] = {}
    for name, text in overrides.items():
        setting = TOPIC_SETTINGS.get(name)
        if setting is None:
            meant = closest(name, list(TOPIC_SETTINGS))
            raise ConfigError(f"{name} is not a topic setting" + (f"; the closest one is {meant}" if meant else ""))
        values[name] = setting.parse(text)
    return values


def topic_config(defaults: LogConfig, overrides: Mapping[str, str]) -> LogConfig:
    """A topic's settings: its own where it has them, the broker's otherwise; ConfigError as Kafka refuses them."""
    if not overrides:
        return defaults
    values = parse_topic_overrides(overrides)
    if values.get("remote.storage.enable"):
        raise ConfigError("remote.storage.enable cannot be 'true': this broker has no tiered storage")
    config = replace(defaults, **_attributes(values))
    check_together(config)
    return config


def stored_topic_config(defaults: LogConfig, overrides: Mapping[str, str]) -> tuple[LogConfig, list[str]]:
    """The same for settings that are stored already, with what is wrong about them instead of ConfigError.

    They were allowed when they were set, but the broker's may have changed since, or the rules. A node must run with
    them: what a topic asks for itself stands, and an inherited value that contradicts it gives way; what cannot be
    understood counts as not set.
    """
    if not overrides:
        return defaults, []
    try:
        return topic_config(defaults, overrides), []
    except ConfigError as error:
        remarks = [str(error)]
    values: dict[str, Any] = {}
    for name, text in overrides.items():
        try:
            values.update(parse_topic_overrides({name: text}))
        except ConfigError as error:
            remarks.append(str(error))
    config = replace(defaults, **_attributes(values))
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        if "min.compaction.lag.ms" in values:
            config = replace(config, max_compaction_lag_ms=config.min_compaction_lag_ms)
        else:
            config = replace(config, min_compaction_lag_ms=config.max_compaction_lag_ms)
    return config, list(dict.fromkeys(remarks))


def check_together(config: LogConfig) -> None:
    """The rules between settings."""
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConfigError(
            f"min.compaction.lag.ms ({config.min_compaction_lag_ms}) cannot be larger than "
            f"max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )


def _attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by setting name as the fields of `LogConfig`."""
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if TOPIC_SETTINGS[name].no_effect is not None or name == "internal.segment.bytes":
            continue
        if name == "cleanup.policy":
            fields["compact"], fields["delete"] = "compact" in value, "delete" in value
        else:
            fields[TOPIC_SETTINGS[name].attribute] = value
    if values.get("internal.segment.bytes") is not None:
        fields["segment_bytes"] = values["internal.segment.bytes"]
    return fields
