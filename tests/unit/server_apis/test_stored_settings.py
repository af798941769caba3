"""Settings that are in the metadata log: none of them may ever end a node or keep one from starting.

They were allowed when they were set. But settings are checked in pairs, and the other half of a pair may stand in a
topic, in the cluster's defaults or in the node's file, and change later.
"""

from __future__ import annotations

from typing import Any

import pytest
from in_process_node import InProcessNode

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.config.topic import LogConfig, stored_topic_config, topic_config
from moldau.errors import ErrorCode
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse

TOPIC, BROKER = 2, 4
MIN, MAX = "min.compaction.lag.ms", "max.compaction.lag.ms"

# The file beside which the stored settings are wrong, and those: one case for every rule that a setting which may be
# changed at run time takes part in (config/consistency.py, config/topic.py).
PAIRS: list[tuple[dict[str, str], dict[str, str]]] = [
    ({"log.cleaner.min.compaction.lag.ms": "500"}, {"log.cleaner.max.compaction.lag.ms": "400"}),
    ({"log.cleaner.max.compaction.lag.ms": "400"}, {"log.cleaner.min.compaction.lag.ms": "500"}),
    ({"log.cleaner.threads": "100"}, {"log.cleaner.dedupe.buffer.size": "2000000"}),
    ({"log.cleaner.dedupe.buffer.size": "2000000"}, {"log.cleaner.threads": "100"}),
    ({}, {"log.roll.ms": "0"}),
    ({}, {"log.roll.jitter.ms": "-1"}),
    ({}, {"log.retention.ms": "0"}),
    ({}, {"max.connections.per.ip": "0"}),
    ({}, {"cordoned.log.dirs": "/not/here"}),
    ({}, {"log.cleanup.policy": "forget"}),
    ({}, {"listeners": "PLAINTEXT://0.0.0.0:1,PLAINTEXT://0.0.0.0:2"}),
]
NAMES = [" ".join([*file, *stored]) for file, stored in PAIRS]


@pytest.mark.parametrize(("file", "stored"), PAIRS, ids=NAMES)
@pytest.mark.parametrize("own", [False, True], ids=["cluster", "broker"])
def test_a_stored_setting_that_is_wrong_beside_the_file_is_left_out(file, stored, own):
    static = BrokerConfig.parse(file)
    good = {"log.segment.bytes": "2000000"}
    layers = (good, stored) if own else ({**stored, **good}, {})
    with pytest.raises(ConfigError):
        static.with_dynamic(*layers)
    config, remarks = static.with_stored(*layers)
    assert config.log_segment_bytes == 2_000_000, "the others count"
    assert [remark.partition("=")[0] for remark in remarks] == list(stored)
    (name,) = stored
    attribute = name.replace(".", "_")
    assert getattr(config, attribute, None) == getattr(static, attribute, None), "what counted before stays"


def test_a_stored_setting_that_nobody_knows_is_kept_as_kafka_keeps_it():
    config, remarks = BrokerConfig.parse({}).with_stored({"a.setting.of.tomorrow": "1"}, {})
    assert (config.log_segment_bytes, remarks) == (BrokerConfig.parse({}).log_segment_bytes, [])


def test_settings_that_are_right_only_together_are_taken_together():
    static = BrokerConfig.parse({"log.cleaner.threads": "100"})
    stored = {"log.cleaner.dedupe.buffer.size": "2000000", "log.cleaner.threads": "1", "log.retention.ms": "0"}
    config, remarks = static.with_stored(stored, {})
    assert (config.log_cleaner_threads, config.log_cleaner_dedupe_buffer_size) == (1, 2_000_000)
    assert len(remarks) == 1


@pytest.mark.parametrize(
    ("defaults", "own", "lags"),
    [
        (LogConfig(max_compaction_lag_ms=100), {MIN: "200"}, (200, 200)),
        (LogConfig(min_compaction_lag_ms=200), {MAX: "100"}, (100, 100)),
        (LogConfig(), {MIN: "200", MAX: "100"}, (200, 200)),
        (LogConfig(), {MIN: "200", "tomorrow": "1"}, (200, LogConfig().max_compaction_lag_ms)),
        (LogConfig(), {MIN: "many", MAX: "100"}, (0, 100)),
        (LogConfig(), {"remote.storage.enable": "true", MAX: "100"}, (0, 100)),
    ],
)
def test_a_topic_s_own_settings_stand_and_inherited_ones_give_way(defaults, own, lags):
    with pytest.raises(ConfigError):
        topic_config(defaults, own)
    config, remarks = stored_topic_config(defaults, own)
    assert (config.min_compaction_lag_ms, config.max_compaction_lag_ms) == lags
    assert remarks


def test_a_policy_may_say_the_same_twice_as_in_kafka():
    config = topic_config(LogConfig(), {"cleanup.policy": "compact,compact"})
    assert (config.compact, config.delete) == (True, False)
    assert BrokerConfig.parse({"log.cleanup.policy": "delete,delete"}).log_defaults().delete


# ------------------------------------------------------------------------------------------------- under a node


def alter(node: InProcessNode, kind: int, name: str, **settings: str) -> int:
    configs = [
        AlterableConfig(name=key.replace("_", "."), config_operation=0, value=value) for key, value in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    answer = node.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1, IncrementalAlterConfigsResponse)
    error: int = answer.responses[0].error_code
    return error


def topics(node: InProcessNode) -> list[Any]:
    return [topic.name for topic in node.ask(MetadataRequest(topics=None), 9, MetadataResponse).topics]


@pytest.mark.parametrize("first", ["topic", "broker"])
def test_a_default_that_contradicts_a_topic_ends_nothing(tmp_path, first, caplog):
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("orders", **({MIN: "200000"} if first == "topic" else {}))
    assert alter(node, BROKER, "", log_cleaner_max_compaction_lag_ms="100000") == 0
    assert topics(node) == ["orders"]
    if first == "broker":
        assert alter(node, TOPIC, "orders", min_compaction_lag_ms="200000") == ErrorCode.INVALID_CONFIG
    assert node.node.failure is None
    config = node.node.replicas.get("orders", 0).log.config
    assert (config.min_compaction_lag_ms, config.max_compaction_lag_ms) == (
        (200_000, 200_000) if first == "topic" else (0, 100_000)
    )
    assert ("a stored setting of the topic orders" in caplog.text) == (first == "topic")
    node.close()
    again = InProcessNode(tmp_path, compiled=True)
    assert topics(again) == ["orders"]
    assert again.node.replicas.get("orders", 0).log.config == config
    again.close()


def test_a_file_that_contradicts_what_is_stored_lets_the_node_start(tmp_path, caplog):
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("orders", **{MAX: "1000"})
    assert alter(node, BROKER, "", log_cleaner_dedupe_buffer_size="2000000", log_retention_ms="5000") == 0
    node.close()
    file = {"log.cleaner.threads": "100", "log.cleaner.min.compaction.lag.ms": "5000"}
    again = InProcessNode(tmp_path, compiled=True, settings=file)
    assert topics(again) == ["orders"]
    assert "log.cleaner.dedupe.buffer.size=2000000 is not taken over" in caplog.text
    config = again.node.replicas.get("orders", 0).log.config
    assert (config.retention_ms, config.min_compaction_lag_ms, config.max_compaction_lag_ms) == (5000, 1000, 1000)
    again.close()
