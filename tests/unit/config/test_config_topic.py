from __future__ import annotations

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.config.group import effective_group_config, group_config, reset_duration_ms
from moldau.config.topic import TOPIC_SETTINGS, LogConfig, topic_config


def test_without_overrides_the_defaults_count():
    defaults = LogConfig(retention_ms=5)
    assert topic_config(defaults, {}) is defaults


def test_overrides_replace_only_what_they_name():
    defaults = LogConfig(retention_ms=5, segment_bytes=7)
    config = topic_config(defaults, {"retention.ms": "-1", "cleanup.policy": "compact", "flush.messages": "1"})
    assert (config.retention_ms, config.segment_bytes) == (-1, 7)
    assert (config.compact, config.delete) == (True, False)
    assert config.durable
    assert defaults == LogConfig(retention_ms=5, segment_bytes=7)


def test_every_setting_that_has_an_effect_reaches_the_log():
    untouched = LogConfig()
    texts = {"boolean": "true", "double": "0.25", "list": "0:1", "int": "4", "long": "4", "short": "4"}
    special = {
        "segment.bytes": "1048577",
        "cleanup.policy": "compact",
        "compression.type": "lz4",
        "message.timestamp.type": "LogAppendTime",
    }
    for setting in TOPIC_SETTINGS.values():
        if setting.no_effect is None:
            text = special.get(setting.name, texts.get(setting.kind.name, ""))
            assert topic_config(untouched, {setting.name: text}) != untouched, setting.name


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"retention.msec": "1"}, "retention.msec is not a topic setting; the closest one is retention.ms"),
        ({"log.retention.ms": "1"}, "log.retention.ms is not a topic setting; the closest one is local.retention.ms"),
        ({"retention.ms": "-2"}, "retention.ms cannot be '-2': it must be at least -1"),
        ({"segment.bytes": "1000"}, "segment.bytes cannot be '1000': it must be at least 1048576"),
        (
            {"cleanup.policy": "compact,shred"},
            "cleanup.policy cannot be 'compact,shred': it must be a list of compact, delete",
        ),
        ({"compression.gzip.level": "0"}, "compression.gzip.level cannot be '0': it must be -1 or from 1 to 9"),
        ({"min.cleanable.dirty.ratio": "2"}, "min.cleanable.dirty.ratio cannot be '2': it must be from 0 to 1"),
        (
            {"leader.replication.throttled.replicas": "0:1,2"},
            "leader.replication.throttled.replicas cannot be '0:1,2': it must be * or a list of partition:broker",
        ),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"},
            "min.compaction.lag.ms (10) cannot be larger than max.compaction.lag.ms (9)",
        ),
        (
            {"remote.storage.enable": "true"},
            "remote.storage.enable cannot be 'true': this broker has no tiered storage",
        ),
    ],
)
def test_what_is_not_allowed_is_named(overrides, sentence):
    with pytest.raises(ConfigError) as refusal:
        topic_config(LogConfig(), overrides)
    assert str(refusal.value) == sentence


def test_an_override_is_checked_against_the_brokers_default():
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms"):
        topic_config(LogConfig(max_compaction_lag_ms=5), {"min.compaction.lag.ms": "6"})


def test_an_empty_policy_keeps_everything():
    config = topic_config(LogConfig(), {"cleanup.policy": ""})
    assert (config.compact, config.delete) == (False, False)


def test_the_internal_segment_size_goes_below_the_minimum():
    assert topic_config(LogConfig(), {"internal.segment.bytes": "100"}).segment_bytes == 100
    both = {"segment.bytes": "1048576", "internal.segment.bytes": "100"}
    assert topic_config(LogConfig(), both).segment_bytes == 100


def test_a_compacted_log_rolls_within_its_compaction_lag():
    assert LogConfig(segment_ms=100, max_compaction_lag_ms=40).max_segment_ms == 100
    assert LogConfig(segment_ms=100, max_compaction_lag_ms=40, compact=True).max_segment_ms == 40


def test_a_groups_settings_stay_within_the_limits_of_the_broker():
    broker = BrokerConfig.parse({"group.consumer.heartbeat.interval.ms": "6000"})
    defaults = group_config(broker, {})
    assert defaults.consumer_session_timeout_ms == 45_000
    assert defaults.consumer_heartbeat_interval_ms == 6000
    assert defaults.consumer_assignment_interval_ms == 1000
    assert group_config(broker, {"consumer.session.timeout.ms": "50000"}).consumer_session_timeout_ms == 50_000
    with pytest.raises(ConfigError, match="cannot be 10: it must be from 45000 to 60000"):
        group_config(broker, {"consumer.session.timeout.ms": "10"})
    with pytest.raises(ConfigError, match=r"is not a group setting; the closest one is consumer\.session\.timeout\.ms"):
        group_config(broker, {"consumer.session.timeout": "1"})


def test_limits_that_were_narrowed_since_a_setting_was_stored_are_kept():
    broker = BrokerConfig.parse({"group.share.max.delivery.count.limit": "6"})
    stored = {"share.delivery.count.limit": "9", "streams.num.standby.replicas": "7", "gone": "1"}
    with pytest.raises(ConfigError, match="must be from 2 to 6"):
        group_config(broker, {"share.delivery.count.limit": "9"})
    effective = effective_group_config(broker, stored)
    assert effective.share_delivery_count_limit == 6
    assert effective.streams_num_standby_replicas == 2


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("latest", None),
        ("by_duration:PT1H", 3_600_000),
        ("by_duration:P1DT2H3M4.5S", 93_784_500),
        ("by_duration:PT-1M+90S", 30_000),
        ("by_duration:-PT-1S", 1000),
    ],
)
def test_where_a_share_group_begins_may_be_a_duration(text: str, milliseconds: int | None):
    assert reset_duration_ms(text) == milliseconds
    broker = BrokerConfig.parse({})
    assert group_config(broker, {"share.auto.offset.reset": text}).share_auto_offset_reset == text


@pytest.mark.parametrize("text", ["never", "by_duration:", "by_duration:1h", "by_duration:PT", "by_duration:-PT1S"])
def test_what_is_no_beginning_of_a_share_group(text: str):
    with pytest.raises(ConfigError):
        group_config(BrokerConfig.parse({}), {"share.auto.offset.reset": text})


def test_a_groups_session_outlasts_its_heartbeats():
    wide = BrokerConfig.parse(
        {"group.consumer.min.session.timeout.ms": "1", "group.consumer.max.heartbeat.interval.ms": "60000"}
    )
    overrides = {"consumer.session.timeout.ms": "6000", "consumer.heartbeat.interval.ms": "6000"}
    with pytest.raises(ConfigError, match="must be more than"):
        group_config(wide, overrides)
