"""Rules that hold for every row of every table of settings."""

from __future__ import annotations

import subprocess
import sys

import pytest

from moldau.config.broker import BROKER_SETTINGS, TABLES, BrokerConfig
from moldau.config.definition import CLUSTER_WIDE, PER_BROKER, READ_ONLY, Setting
from moldau.config.group import GROUP_SETTINGS
from moldau.config.settings.inert import INERT, REFUSED
from moldau.config.settings.log import LOG_SYNONYMS
from moldau.config.topic import TOPIC_SETTINGS, LogConfig, TopicSettings

ALL = [*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values(), *GROUP_SETTINGS.values()]


@pytest.mark.parametrize("table", [*TABLES, TopicSettings])
def test_attributes_are_the_names_in_snake_case(table):
    rows = {name: row for name, row in vars(table).items() if isinstance(row, Setting)}
    assert rows
    assert [name for name, row in rows.items() if name != row.attribute] == []


def test_no_name_is_defined_twice():
    names = [row.name for table in TABLES for row in vars(table).values() if isinstance(row, Setting)]
    names += [row.name for row in INERT]
    assert len(names) == len(set(names))
    assert not set(names) & set(REFUSED)


def test_defaults_are_allowed_values():
    exempt = {"node.id"}  # -1 stands for "not given", which is an error of its own
    for row in ALL:
        if row.default is not None and row.name not in exempt and not row.sensitive:
            assert row.parse(row.text(row.default)) == row.default, row.name


def test_every_row_has_a_sentence_that_fits_a_table_cell():
    for row in ALL:
        assert row.documentation[0].isupper(), row.name
        assert row.documentation.endswith("."), row.name
        assert not set(row.documentation) & set("|\n"), row.name


def test_synonyms_are_broker_settings():
    for row in (*TOPIC_SETTINGS.values(), *GROUP_SETTINGS.values()):
        assert set(row.synonyms) <= set(BROKER_SETTINGS), row.name
    assert {name for names in LOG_SYNONYMS for name in names} <= set(BROKER_SETTINGS)


def test_the_broker_setting_behind_a_topic_setting_can_be_changed_at_run_time():
    for row in TOPIC_SETTINGS.values():
        if row.synonyms:
            assert BROKER_SETTINGS[row.synonyms[0]].update_mode is CLUSTER_WIDE, row.name


def test_topic_and_broker_agree_on_defaults():
    assert BrokerConfig.parse({}).log_defaults() == LogConfig()
    for row in TOPIC_SETTINGS.values():
        if hasattr(LogConfig, row.attribute):
            assert getattr(LogConfig(), row.attribute) == row.default, row.name


@pytest.mark.parametrize(
    ("name", "kind", "default", "mode"),
    [
        ("num.partitions", "int", "1", READ_ONLY),
        ("listeners", "list", "PLAINTEXT://:9092", PER_BROKER),
        ("log.dir", "list", "/tmp/kafka-logs", READ_ONLY),
        ("log.segment.bytes", "int", "1073741824", CLUSTER_WIDE),
        ("log.retention.hours", "int", "168", READ_ONLY),
        ("log.retention.ms", "long", None, CLUSTER_WIDE),
        ("message.max.bytes", "int", "1048588", CLUSTER_WIDE),
        ("log.message.timestamp.after.max.ms", "long", "3600000", CLUSTER_WIDE),
        ("num.recovery.threads.per.data.dir", "int", "2", CLUSTER_WIDE),
        ("socket.request.max.bytes", "int", "104857600", READ_ONLY),
        ("max.connections", "int", "2147483647", CLUSTER_WIDE),
        ("connections.max.idle.ms", "long", "600000", READ_ONLY),
        ("fetch.max.bytes", "int", "57671680", READ_ONLY),
        ("replica.lag.time.max.ms", "long", "30000", READ_ONLY),
        ("offsets.topic.replication.factor", "short", "3", READ_ONLY),
        ("offsets.retention.minutes", "int", "10080", READ_ONLY),
        ("group.consumer.assignors", "list", "uniform,range", READ_ONLY),
        ("transaction.max.timeout.ms", "int", "900000", READ_ONLY),
        ("producer.id.expiration.ms", "int", "86400000", CLUSTER_WIDE),
        ("log.cleaner.io.max.bytes.per.second", "double", "1.7976931348623157E308", CLUSTER_WIDE),
        ("controller.quorum.election.timeout.ms", "int", "1000", READ_ONLY),
        ("metadata.log.max.record.bytes.between.snapshots", "long", "20971520", READ_ONLY),
        ("ssl.keystore.password", "password", None, PER_BROKER),
        ("num.network.threads", "int", "3", CLUSTER_WIDE),
    ],
)
def test_kafka_knows_these_by_the_same_type_default_and_mode(name, kind, default, mode):
    row = BROKER_SETTINGS[name]
    assert (row.kind.name, row.text(row.default), row.update_mode) == (kind, default, mode)


def test_starting_does_not_import_what_only_errors_need():
    code = "import sys, moldau.config.broker; print({'difflib', 'json', 'socket', 'logging'} & {*sys.modules})"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
