from __future__ import annotations

import pytest

from moldau.config.broker import BROKER_SETTINGS, BrokerConfig
from moldau.config.description import (
    ConfigSource,
    Description,
    Dynamic,
    Synonym,
    describe_broker,
    describe_broker_defaults,
    describe_topic,
)
from moldau.config.topic import TOPIC_SETTINGS

TOPIC, DYNAMIC, CLUSTER, STATIC, DEFAULT = (
    ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
    ConfigSource.DEFAULT_CONFIG,
)


def by_name(descriptions: list[Description]) -> dict[str, Description]:
    return {description.name: description for description in descriptions}


def test_numbers_of_sources_are_kafkas():
    assert [int(source) for source in (TOPIC, DYNAMIC, CLUSTER, STATIC, DEFAULT)] == [1, 2, 3, 4, 5]


def test_a_topic_shows_every_setting_that_is_not_internal():
    shown = by_name(describe_topic(BrokerConfig.parse({}), {}))
    assert set(shown) == {name for name, row in TOPIC_SETTINGS.items() if not row.internal}
    assert all(row.is_default for row in shown.values())
    assert not any(row.read_only or row.sensitive for row in shown.values())
    assert shown["retention.ms"].value == "604800000"
    assert shown["retention.ms"].type == 5
    assert shown["cleanup.policy"].value == "delete"
    assert shown["min.cleanable.dirty.ratio"].value == "0.5"
    assert shown["remote.storage.enable"].value == "false"
    assert shown["retention.ms"].documentation


def test_the_value_that_counts_stands_first_and_those_behind_it_follow():
    static = BrokerConfig.parse({"log.retention.hours": "2"})
    dynamic = Dynamic(broker={"log.retention.ms": "20"}, cluster={"log.retention.ms": "30"})
    config = static.with_dynamic(dynamic.cluster, dynamic.broker)
    row = by_name(describe_topic(config, {"retention.ms": " 10"}, dynamic))["retention.ms"]
    assert (row.value, row.source) == ("10", TOPIC)
    assert row.synonyms == (
        Synonym("retention.ms", "10", TOPIC),
        Synonym("log.retention.ms", "20", DYNAMIC),
        Synonym("log.retention.ms", "30", CLUSTER),
    )
    inherited = by_name(describe_topic(config, {}, dynamic))["retention.ms"]
    assert (inherited.value, inherited.source) == ("20", DYNAMIC)
    of_the_file = by_name(describe_topic(static, {}))["retention.ms"]
    assert (of_the_file.value, of_the_file.source, of_the_file.synonyms) == ("7200000", DEFAULT, ())
    finer = by_name(describe_topic(BrokerConfig.parse({"log.retention.ms": "5"}), {}))["retention.ms"]
    assert (finer.value, finer.source) == ("5", STATIC)


@pytest.mark.parametrize(
    ("given", "value", "source"),
    [({}, "1", DEFAULT), ({"node.id": "7"}, "7", STATIC), ({"broker.id": "7"}, "7", STATIC)],
)
def test_a_node_has_one_number_under_both_names(given, value, source):
    shown = by_name(describe_broker(BrokerConfig.parse(given)))
    for name in ("node.id", "broker.id"):
        assert (shown[name].value, shown[name].source) == (value, source)
        assert shown[name].synonyms[0] == Synonym(name, value, source)
    behind = shown["broker.id"].synonyms[1:]
    assert behind == ((Synonym("broker.id", "-1", DEFAULT),) if given else ())


def test_a_setting_that_nobody_knows_may_be_a_secret():
    dynamic = Dynamic(cluster={"no.such.setting": "1"})
    config = BrokerConfig.parse({}).with_dynamic(dynamic.cluster, {})
    for rows in (describe_broker(config, dynamic), describe_broker_defaults(dynamic)):
        row = by_name(rows)["no.such.setting"]
        assert (row.value, row.source, row.read_only, row.sensitive) == (None, CLUSTER, True, True)
        assert row.synonyms == (Synonym("no.such.setting", None, CLUSTER),)


def test_only_the_names_that_were_asked_for():
    config = BrokerConfig.parse({})
    assert [row.name for row in describe_topic(config, {}, names={"flush.ms", "no.such"})] == ["flush.ms"]
    assert [row.name for row in describe_broker(config, names={"num.partitions", "no.such"})] == ["num.partitions"]


def test_a_broker_shows_every_setting():
    shown = by_name(describe_broker(BrokerConfig.parse({"num.partitions": "3", "num.io.threads": "4"})))
    assert set(shown) == {name for name, row in BROKER_SETTINGS.items() if not row.internal}
    partitions = shown["num.partitions"]
    assert (partitions.value, partitions.source, partitions.read_only, partitions.type) == ("3", STATIC, True, 3)
    assert partitions.synonyms == (Synonym("num.partitions", "3", STATIC), Synonym("num.partitions", "1", DEFAULT))
    assert shown["num.io.threads"].value == "4"
    assert not shown["max.connections"].read_only
    assert shown["node.id"].value == "1"
    assert shown["log.dirs"].value is None
    assert shown["log.dirs"].source is DEFAULT


def test_a_finer_setting_that_is_not_set_has_no_value_although_a_coarser_one_has():
    shown = by_name(describe_broker(BrokerConfig.parse({"log.retention.hours": "2"})))
    assert (shown["log.retention.ms"].value, shown["log.retention.ms"].synonyms) == (None, ())
    assert shown["log.retention.hours"].value == "2"
    assert shown["log.retention.hours"].synonyms == (
        Synonym("log.retention.hours", "2", STATIC),
        Synonym("log.retention.hours", "168", DEFAULT),
    )
    assert [s.name for s in shown["log.flush.scheduler.interval.ms"].synonyms] == ["log.flush.scheduler.interval.ms"]


def test_dynamic_settings_of_a_broker():
    static = BrokerConfig.parse({"max.connections": "1"})
    dynamic = Dynamic(broker={"max.connections": "3"}, cluster={"max.connections": "2"})
    row = by_name(describe_broker(static.with_dynamic(dynamic.cluster, dynamic.broker), dynamic))["max.connections"]
    assert (row.value, row.source) == ("3", DYNAMIC)
    assert [(s.value, s.source) for s in row.synonyms] == [
        ("3", DYNAMIC),
        ("2", CLUSTER),
        ("1", STATIC),
        ("2147483647", DEFAULT),
    ]


def test_secrets_are_never_shown():
    config = BrokerConfig.parse({"ssl.key.password": "a", "listener.name.plaintext.ssl.key.password": "b"})
    shown = by_name(describe_broker(config))
    for name in ("ssl.key.password", "listener.name.plaintext.ssl.key.password"):
        row = shown[name]
        assert row.sensitive
        assert row.value is None
        assert row.synonyms
        assert all(synonym.value is None for synonym in row.synonyms)


def test_a_listeners_setting_falls_back_to_the_brokers():
    config = BrokerConfig.parse({"listener.name.plaintext.max.connections": "5", "max.connections": "9"})
    row = by_name(describe_broker(config))["listener.name.plaintext.max.connections"]
    assert (row.value, row.source, row.type) == ("5", STATIC, 3)
    assert [(s.name, s.value) for s in row.synonyms] == [
        ("listener.name.plaintext.max.connections", "5"),
        ("max.connections", "9"),
        ("max.connections", "2147483647"),
    ]


def test_the_settings_of_all_brokers_are_only_those_that_are_set():
    shown = describe_broker_defaults(Dynamic(cluster={"max.connections": "2"}))
    assert shown == [
        Description(
            "max.connections",
            "2",
            CLUSTER,
            False,
            False,
            (Synonym("max.connections", "2", CLUSTER),),
            3,
            BROKER_SETTINGS["max.connections"].documentation,
        )
    ]
    assert describe_broker_defaults(Dynamic(cluster={"max.connections": "2"}), names={"other"}) == []
