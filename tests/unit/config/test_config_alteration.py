from __future__ import annotations

import pytest

from moldau.config.alteration import (
    Operation,
    changed,
    check_dynamic,
    check_node,
    incremental_changes,
    is_sensitive,
    replacing_changes,
    update_mode,
)
from moldau.config.broker import BROKER_SETTINGS, BrokerConfig
from moldau.config.definition import CLUSTER_WIDE, PER_BROKER, READ_ONLY, ConfigError
from moldau.config.topic import TOPIC_SETTINGS
from moldau.errors import ErrorCode, KafkaError

SET, DELETE, APPEND, SUBTRACT = Operation


def test_set_and_delete():
    changes = incremental_changes(
        TOPIC_SETTINGS, {"flush.ms": "1"}, [("retention.ms", SET, "5"), ("flush.ms", DELETE, None)]
    )
    assert changes == {"retention.ms": "5", "flush.ms": None}
    assert changed({"flush.ms": "1", "segment.ms": "2"}, changes) == {"segment.ms": "2", "retention.ms": "5"}


@pytest.mark.parametrize(
    ("stored", "operation", "value", "result"),
    [
        (None, APPEND, "compact", "delete,compact"),
        (None, APPEND, "delete", "delete"),
        ("compact", APPEND, "delete, compact", "compact,delete"),
        ("compact,delete", SUBTRACT, "delete", "compact"),
        (None, SUBTRACT, "delete", ""),
        ("compact", SUBTRACT, "delete", "compact"),
    ],
)
def test_lists_grow_and_shrink_from_what_counts_now(stored, operation, value, result):
    current = {} if stored is None else {"cleanup.policy": stored}
    assert incremental_changes(TOPIC_SETTINGS, current, [("cleanup.policy", operation, value)]) == {
        "cleanup.policy": result
    }


@pytest.mark.parametrize(
    ("operations", "code", "part"),
    [
        ([("retention.ms", APPEND, "5")], ErrorCode.INVALID_CONFIG, "retention.ms is not a list"),
        ([("no.such", SUBTRACT, "5")], ErrorCode.INVALID_CONFIG, "no.such is not a list"),
        ([("a", SET, "1"), ("a", DELETE, None)], ErrorCode.INVALID_REQUEST, "a appears twice"),
        ([("a", SET, None)], ErrorCode.INVALID_REQUEST, "a has no value to SET"),
        ([("cleanup.policy", APPEND, None)], ErrorCode.INVALID_REQUEST, "no value to APPEND"),
        ([("a", 4, "1")], ErrorCode.INVALID_REQUEST, "4 is not an operation on a"),
    ],
)
def test_operations_that_make_no_sense(operations, code, part):
    with pytest.raises(KafkaError, match=part) as refusal:
        incremental_changes(TOPIC_SETTINGS, {}, operations)
    assert refusal.value.code is code


def test_the_older_request_replaces_everything():
    assert replacing_changes({"a": "1", "b": "2"}, [("b", "3"), ("c", "4")]) == {"b": "3", "c": "4", "a": None}
    with pytest.raises(KafkaError, match="twice"):
        replacing_changes({}, [("a", "1"), ("a", "1")])
    with pytest.raises(KafkaError, match="no value"):
        replacing_changes({}, [("a", None)])


def test_how_settings_may_be_changed():
    assert update_mode("num.partitions") is READ_ONLY
    assert update_mode("log.retention.ms") is CLUSTER_WIDE
    assert update_mode("log.retention.hours") is READ_ONLY
    assert update_mode("listeners") is PER_BROKER
    assert update_mode("listener.name.out.ssl.keystore.location") is PER_BROKER
    assert update_mode("listener.name.out.max.connections") is CLUSTER_WIDE
    assert update_mode("no.such.setting") is READ_ONLY


@pytest.mark.parametrize(
    ("stored", "per_broker", "part"),
    [
        ({"num.partitions": "2"}, True, "num.partitions cannot be changed while the broker runs"),
        ({"listeners": "PLAINTEXT://:1"}, False, "listeners can only be changed for one broker"),
        ({"ssl.keystore.location": "/a"}, True, "can only be changed for one listener"),
        ({"max.connections": "-1"}, False, "max.connections cannot be '-1': it must be at least 0"),
        ({"zookeeper.connect": "a"}, False, "belongs to ZooKeeper mode"),
        ({"listener.name.out.ssl.keystore.location": "/a"}, False, "only be changed for one broker"),
        ({"listener.name.out.nonsense": "/a"}, True, "is not a setting of a listener"),
        ({"listener.name.out.ssl.client.auth": "none"}, True, "of a listener's TLS only its stores can"),
    ],
)
def test_dynamic_settings_that_are_refused(stored, per_broker, part):
    with pytest.raises(ConfigError, match=part):
        check_dynamic(stored, per_broker=per_broker)


def test_dynamic_settings_that_are_accepted():
    check_dynamic({"max.connections": "1", "log.retention.ms": "5"}, per_broker=False)
    check_dynamic({"listener.name.out.ssl.keystore.location": "/a", "num.io.threads": "4"}, per_broker=True)


def test_dynamic_settings_are_checked_together_with_the_file():
    config = BrokerConfig.parse({"log.cleaner.max.compaction.lag.ms": "5"})
    assert check_node(config, {"max.connections": "7"}, {}).max_connections == 7
    with pytest.raises(ConfigError, match="cannot be larger"):
        check_node(config, {"log.cleaner.min.compaction.lag.ms": "6"}, {})


def test_what_is_not_known_might_be_a_secret():
    assert is_sensitive(BROKER_SETTINGS, "ssl.key.password")
    assert is_sensitive(BROKER_SETTINGS, "listener.name.out.ssl.key.password")
    assert is_sensitive(BROKER_SETTINGS, "listener.name.out.who.knows")
    assert is_sensitive(BROKER_SETTINGS, "who.knows")
    assert not is_sensitive(BROKER_SETTINGS, "num.partitions")
    assert not is_sensitive(BROKER_SETTINGS, "listener.name.out.max.connections")


def test_a_setting_that_nobody_knows_is_kept_and_remarked_upon():
    static = BrokerConfig.parse({})
    check_dynamic({"no.such.setting": "1"}, per_broker=False)
    config = check_node(static, {"no.such.setting": "1"}, {"log.retention.ms": "5"})
    assert config.log_retention_ms == 5
    assert [remark for remark in config.remarks if "no.such.setting" in remark]
