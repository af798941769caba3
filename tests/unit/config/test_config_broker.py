from __future__ import annotations

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError, Password
from moldau.config.listeners import SecurityProtocol
from moldau.config.properties import parse_properties

# What the file that comes with Kafka 4 sets.
STOCK = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""

BROKER_ONLY = {
    "process.roles": "broker",
    "node.id": "2",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
}
CONTROLLER_ONLY = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://:9093",
}


def refusal(properties: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as error:
        BrokerConfig.parse(properties)
    return str(error.value)


def test_kafkas_own_file_is_accepted():
    config = BrokerConfig.parse(parse_properties(STOCK))
    assert config.is_broker
    assert config.is_controller
    assert not config.standalone
    assert config.node_id == 1
    assert config.log_directories == ("/tmp/kraft-combined-logs",)
    assert config.metadata_log_directory == "/tmp/kraft-combined-logs"
    assert [str(e) for e in config.broker_endpoints] == ["PLAINTEXT://:9092"]
    assert [str(e) for e in config.controller_endpoints] == ["CONTROLLER://:9093"]
    assert [str(e) for e in config.advertised_broker_endpoints] == ["PLAINTEXT://localhost:9092"]
    assert [str(e) for e in config.advertised_controller_endpoints] == ["CONTROLLER://localhost:9093"]
    assert config.offsets_topic_replication_factor == 1


def test_settings_without_effect_are_told():
    remarks = BrokerConfig.parse(parse_properties(STOCK)).remarks
    # Threads stand there, too, but as many as there would be anyway.
    assert [remark.split()[0] for remark in remarks] == ["num.recovery.threads.per.data.dir"]
    assert BrokerConfig.parse({"quota.window.num": "5", "ssl.keystore.location": "/k"}).remarks == ()
    assert BrokerConfig.parse({"rsm.config.bucket": "b"}).remarks == (
        "rsm.config.bucket has no effect here: it belongs to a Kafka plugin",
    )


def test_nothing_set_is_a_standalone_node():
    config = BrokerConfig.parse({})
    assert config.standalone
    assert (config.node_id, config.is_broker, config.is_controller) == (1, True, True)
    assert [str(e) for e in config.broker_endpoints] == ["PLAINTEXT://:9092"]
    assert config.inter_broker_listener == "PLAINTEXT"
    assert config.remarks == ()


def test_values_are_typed_and_cannot_be_changed():
    config = BrokerConfig.parse({"num.partitions": " 6 ", "auto.create.topics.enable": "FALSE"})
    assert config.num_partitions == 6
    assert config.auto_create_topics_enable is False
    with pytest.raises(AttributeError, match="cannot be changed"):
        config.num_partitions = 7  # type: ignore[assignment]
    assert config.originals == {"num.partitions": " 6 ", "auto.create.topics.enable": "FALSE"}


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        (
            {"num.partition": "1"},
            "num.partition is not a setting of this broker; the closest one is num.partitions",
        ),
        ({"completely.different": "1"}, "completely.different is not a setting of this broker"),
        ({"num.partitions": "0"}, "num.partitions cannot be '0': it must be at least 1"),
        (
            {"zookeeper.connect": "localhost:2181"},
            "zookeeper.connect belongs to ZooKeeper mode, but this node runs KRaft: remove it",
        ),
        (
            {"config.providers.file.class": "x"},
            "config.providers.file.class cannot be set: it counts in a file of settings, whose values are "
            "fetched when the file is read",
        ),
        ({"listener.name.plaintext.nonsense": "x"}, "listener.name.plaintext.nonsense is not a setting of a listener"),
    ],
)
def test_an_unknown_name_or_a_forbidden_value_is_named(properties, sentence):
    assert refusal(properties) == sentence


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("create.topic.policy.class.name", "org.example.Policy", "what it is to refuse would be allowed"),
        ("alter.config.policy.class.name", "org.example.Policy", "what it is to refuse would be allowed"),
        ("client.quota.callback.class", "org.example.Quota", "what it is to refuse would be allowed"),
    ],
)
def test_what_would_leave_a_door_open_is_refused(name, text, reason):
    sentence = refusal({name: text, "super.users": "User:admin"})
    assert sentence.endswith(reason)
    assert sentence.startswith(f"{name} cannot be {text!r}: ")


def test_a_guard_that_is_not_set_is_no_reason_to_refuse():
    assert BrokerConfig.parse({"authorizer.class.name": ""}).remarks == ()


def test_what_listeners_cannot_have_of_their_own_is_told():
    remarks = BrokerConfig.parse(
        {
            "listener.name.plaintext.max.connections": "7",
            "listener.name.plaintext.connections.max.idle.ms": "1000",
            "listener.name.plaintext.ssl.keystore.location": "/k",
        }
    ).remarks
    assert remarks == (
        "listener.name.plaintext.connections.max.idle.ms has no effect here: all listeners share this setting",
    )


@pytest.mark.parametrize(
    ("properties", "part"),
    [
        ({"process.roles": "broker,controller"}, "node.id is required"),
        ({"node.id": "1", "broker.id": "2"}, "broker.id (2) and node.id (1) must be the same"),
        ({"controller.quorum.voters": "1@a:1"}, "process.roles is required where controller.quorum.voters is set"),
        ({**BROKER_ONLY, "controller.quorum.voters": ""}, "requires controller.quorum.bootstrap.servers"),
        ({**BROKER_ONLY, "controller.listener.names": ""}, "requires controller.listener.names"),
        ({**BROKER_ONLY, "node.id": "1"}, "controller.quorum.voters cannot contain node.id 1"),
        (
            {**BROKER_ONLY, "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"},
            "listeners cannot contain a listener of controller.listener.names",
        ),
        (
            {**BROKER_ONLY, "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
            "does not say which protocol it uses",
        ),
        ({**CONTROLLER_ONLY, "node.id": "3"}, "controller.quorum.voters must contain node.id 3"),
        (
            {**CONTROLLER_ONLY, "listeners": "PLAINTEXT://:9092"},
            "controller.listener.names contains CONTROLLER, which must also stand in listeners",
        ),
        (
            {**CONTROLLER_ONLY, "listeners": "CONTROLLER://:9093,PLAINTEXT://:9092"},
            "listeners can only contain listeners of controller.listener.names",
        ),
        (
            {"advertised.listeners": "SSL://a:1"},
            "advertised.listeners contains SSL, which must also stand in listeners",
        ),
        ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, "nobody can connect to 0.0.0.0"),
        (
            {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
            "cannot both be set",
        ),
        ({"inter.broker.listener.name": "SSL"}, "must be one of the advertised listeners: PLAINTEXT"),
        (
            {
                "listeners": "SASL_SSL://a:1",
                "security.inter.broker.protocol": "SASL_SSL",
                "sasl.enabled.mechanisms": "PLAIN",
            },
            "sasl.mechanism.inter.broker.protocol (GSSAPI) must be one of sasl.enabled.mechanisms (PLAIN)",
        ),
        ({"log.roll.ms": "0"}, "log.roll.ms cannot be 0"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms cannot be -1"),
        ({"log.retention.ms": "0"}, "log.retention.ms cannot be 0"),
        ({"log.retention.hours": "0"}, "log.retention.ms cannot be 0"),
        (
            {"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"},
            "min.compaction.lag.ms (9) cannot be larger than max.compaction.lag.ms (8)",
        ),
        ({"log.cleaner.dedupe.buffer.size": "1048576"}, "log.cleaner.dedupe.buffer.size cannot be 1048576"),
        ({"log.dirs": ""}, "log.dirs cannot be ''"),
        ({"log.dirs": "/a,/a"}, "log.dirs cannot be '/a,/a'"),
        ({"log.dirs": "/a", "cordoned.log.dirs": "/b"}, "cordoned.log.dirs contains /b, which is not in log.dirs"),
        ({"replica.fetch.wait.max.ms": "30001"}, "replica.fetch.wait.max.ms (30001) can be at most"),
        (
            {"replica.fetch.wait.max.ms": "20000", "replica.lag.time.max.ms": "10000"},
            "can be at most replica.lag.time.max.ms (10000)",
        ),
        ({"queued.max.request.bytes": "1024"}, "queued.max.request.bytes (1024) must be at least"),
        ({"max.connections.per.ip": "0"}, "max.connections.per.ip can only be 0"),
        ({"max.connections.per.ip.overrides": "a"}, "it must be a list of host:number"),
        ({"connections.max.idle.ms": "100"}, "connection.failed.authentication.delay.ms (100) must be less than"),
        ({"early.start.listeners": "X"}, "early.start.listeners contains X"),
        ({"group.coordinator.rebalance.protocols": "consumer"}, "must contain classic"),
        (
            {"group.consumer.heartbeat.interval.ms": "1"},
            "group.consumer.heartbeat.interval.ms (1) must lie between "
            "group.consumer.min.heartbeat.interval.ms (5000) and group.consumer.max.heartbeat.interval.ms (15000)",
        ),
        (
            {"group.consumer.min.session.timeout.ms": "10", "group.consumer.session.timeout.ms": "5000"},
            "must be less than group.consumer.session.timeout.ms (5000)",
        ),
        ({"controller.quorum.voters": "1@"}, "it must be a list of id@host:port"),
        ({"controller.quorum.bootstrap.servers": "localhost"}, "it must be a list of host:port"),
        ({"remote.log.storage.system.enable": "true"}, "it must be false"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(properties, part):
    assert part in refusal(properties)


@pytest.mark.parametrize("properties", [BROKER_ONLY, CONTROLLER_ONLY])
def test_nodes_of_one_role_are_accepted(properties):
    config = BrokerConfig.parse(properties)
    assert config.is_broker != config.is_controller
    assert not config.standalone


def test_broker_id_is_the_older_name_of_node_id():
    assert BrokerConfig.parse({"broker.id": "7"}).node_id == 7
    assert BrokerConfig.parse({"broker.id": "7", "node.id": "7"}).node_id == 7


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, 168 * 3_600_000),
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"}, 3),
        ({"log.retention.minutes": "-5"}, -1),
        ({"log.retention.ms": "-1"}, -1),
    ],
)
def test_the_finest_retention_setting_counts(properties, expected):
    assert BrokerConfig.parse(properties).log_defaults().retention_ms == expected


def test_log_defaults_follow_the_broker_settings():
    config = BrokerConfig.parse(
        {
            "log.roll.hours": "2",
            "log.roll.jitter.ms": "5",
            "log.flush.scheduler.interval.ms": "1000",
            "log.cleanup.policy": "compact,delete",
            "compression.type": "zstd",
            "log.message.timestamp.type": "LogAppendTime",
            "unclean.leader.election.enable": "true",
            "min.insync.replicas": "2",
        }
    )
    logs = config.log_defaults()
    assert (logs.segment_ms, logs.segment_jitter_ms, logs.flush_ms) == (7_200_000, 5, 1000)
    assert (logs.compact, logs.delete) == (True, True)
    assert (logs.compression_type, logs.message_timestamp_type) == ("zstd", "LogAppendTime")
    assert (logs.unclean_leader_election_enable, logs.min_insync_replicas) == (True, 2)
    assert not logs.durable
    assert BrokerConfig.parse({"log.flush.interval.messages": "1"}).log_defaults().durable


def test_several_directories_and_one_for_metadata():
    config = BrokerConfig.parse({"log.dir": "/x", "log.dirs": "/a, /b", "metadata.log.dir": "/m"})
    assert config.log_directories == ("/a", "/b")
    assert config.metadata_log_directory == "/m"
    assert BrokerConfig.parse({"log.dir": "/x"}).log_directories == ("/x",)


def test_a_listener_may_have_settings_of_its_own():
    config = BrokerConfig.parse(
        {
            "listeners": "IN://:1,OUT://:2",
            "inter.broker.listener.name": "in",
            "listener.security.protocol.map": "IN:PLAINTEXT,OUT:SASL_SSL",
            "max.connections": "100",
            "listener.name.out.max.connections": "5",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.out.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.out.scram-sha-256.sasl.jaas.config": "x required;",
        }
    )
    limit = BrokerConfig.max_connections
    assert (config.for_listener(limit, "IN"), config.for_listener(limit, "OUT")) == (100, 5)
    assert config.for_listener(BrokerConfig.sasl_enabled_mechanisms, "OUT") == ("PLAIN", "SCRAM-SHA-256")
    jaas = BrokerConfig.sasl_jaas_config
    assert config.for_listener(jaas, "OUT", "SCRAM-SHA-256") == Password("x required;")
    assert config.for_listener(jaas, "OUT", "PLAIN") is None
    assert config.listener_protocols["OUT"] is SecurityProtocol.SASL_SSL


def test_dynamic_settings_stand_above_the_file():
    static = BrokerConfig.parse({"log.retention.hours": "1", "max.connections": "10"})
    changed = static.with_dynamic({"log.retention.ms": "5", "max.connections": "20"}, {"max.connections": "30"})
    assert changed.log_defaults().retention_ms == 5
    assert changed.max_connections == 30
    assert changed.originals == static.originals
    assert static.max_connections == 10
    assert static.with_dynamic({}, {}) is static
