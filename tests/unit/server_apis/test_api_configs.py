"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from api_kit import ApiWorld, versions
from controller_kit import code

from moldau.config.definition import Password
from moldau.config.description import ConfigSource
from moldau.config.sealing import RANDOM_BYTES, is_sealed, seal, unseal
from moldau.deferred import Deferred
from moldau.errors import ErrorCode
from moldau.protocol.messages import alter_configs as legacy
from moldau.protocol.messages import incremental_alter_configs as incremental
from moldau.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from moldau.protocol.messages.list_config_resources import ListConfigResourcesRequest
from moldau.server.apis.alter_configs import ALTER_CONFIGS
from moldau.server.apis.describe_configs import DESCRIBE_CONFIGS
from moldau.server.apis.incremental_alter_configs import (
    CONTROLLER_INCREMENTAL_ALTER_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
)
from moldau.server.apis.list_config_resources import LIST_CONFIG_RESOURCES

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND = 0, 1, 2


@pytest.fixture
def world() -> ApiWorld:
    world = ApiWorld({"log.retention.hours": "1", "ssl.keystore.password": "secret"})
    world.create("orders", 1, 1, configs={"segment.bytes": "2000000"})
    return world


@pytest.fixture
def some_logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("moldau.test")
    yield logger
    logger.setLevel(logging.NOTSET)


def _describe(world: ApiWorld, kind: int, name: str, *keys: str, version: int = 4, **fields: bool) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    request = DescribeConfigsRequest(resources=[resource], **fields)
    return world.call(DESCRIBE_CONFIGS, request, version).results[0]


def _alter(
    world: ApiWorld, kind: int, name: str, *changes: tuple[str, int, str | None], version: int = 1, **f: Any
) -> Any:
    request = incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    incremental.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in changes
                ],
            )
        ],
        **f,
    )
    return world.call(INCREMENTAL_ALTER_CONFIGS, request, version).responses[0]


# ----------------------------------------------------------------------------------------------------------- describe


@pytest.mark.parametrize("version", versions(DESCRIBE_CONFIGS))
def test_a_topic(world: ApiWorld, version: int) -> None:
    result = _describe(
        world, TOPIC, "orders", version=version, include_synonyms=True, include_documentation=version >= 3
    )
    assert (code(result), result.error_message, result.resource_name) == (ErrorCode.NONE, None, "orders")
    configs = {config.name: config for config in result.configs}
    own, from_file, default = configs["segment.bytes"], configs["retention.ms"], configs["cleanup.policy"]
    assert (own.value, own.config_source, own.read_only) == ("2000000", 1, False)
    # From a coarser setting of the broker: not a default at all, but Kafka calls it one, too.
    assert (from_file.value, from_file.config_source) == ("3600000", 5)
    assert (default.value, default.config_source) == ("delete", 5)
    assert [(s.name, s.value, s.source) for s in own.synonyms] == [
        ("segment.bytes", "2000000", 1),
        ("log.segment.bytes", "1073741824", 5),
    ]
    if version >= 3:
        assert (own.config_type, default.config_type) == (3, 7)
        assert own.documentation


def test_only_the_keys_asked_for(world: ApiWorld) -> None:
    result = _describe(world, TOPIC, "orders", "retention.ms", "no.such")
    assert [config.name for config in result.configs] == ["retention.ms"]
    assert (result.configs[0].synonyms, result.configs[0].documentation) == ([], None)


def test_this_broker_and_all_brokers(world: ApiWorld) -> None:
    _alter(world, BROKER, "", ("log.cleaner.threads", SET, "2"))
    configs = {config.name: config for config in _describe(world, BROKER, "1").configs}
    assert (configs["log.cleaner.threads"].value, configs["log.cleaner.threads"].config_source) == ("2", 3)
    assert configs["node.id"].read_only
    secret = configs["ssl.keystore.password"]
    assert (secret.value, secret.is_sensitive) == (None, True)
    everyone = _describe(world, BROKER, "").configs
    assert [(config.name, config.value, config.config_source) for config in everyone] == [
        # Of every new cluster, since its leaders are elected among eligible replicas.
        ("min.insync.replicas", "1", 3),
        ("log.cleaner.threads", "2", 3),
    ]


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (TOPIC, "missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "bad name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (99, "?", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_described(world: ApiWorld, kind: int, name: str, expected: ErrorCode) -> None:
    result = _describe(world, kind, name)
    assert code(result) is expected
    assert result.error_message
    assert result.configs == []


# -------------------------------------------------------------------------------------------------------------- alter


@pytest.mark.parametrize("version", versions(INCREMENTAL_ALTER_CONFIGS))
def test_incremental_changes(world: ApiWorld, version: int) -> None:
    result = _alter(
        world,
        TOPIC,
        "orders",
        ("segment.bytes", DELETE, None),
        ("cleanup.policy", APPEND, "compact"),
        ("retention.ms", SET, "9"),
        version=version,
    )
    assert (code(result), result.error_message, result.resource_type) == (ErrorCode.NONE, None, TOPIC)
    assert dict(world.image.configs.topic("orders")) == {"cleanup.policy": "delete,compact", "retention.ms": "9"}


@pytest.mark.parametrize("version", versions(ALTER_CONFIGS))
def test_the_older_request_replaces(world: ApiWorld, version: int) -> None:
    def altered(validate_only: bool, **settings: str) -> Any:
        request = legacy.AlterConfigsRequest(
            resources=[
                legacy.AlterConfigsResource(
                    resource_type=TOPIC,
                    resource_name="orders",
                    configs=[
                        legacy.AlterableConfig(name=name.replace("_", "."), value=value)
                        for name, value in settings.items()
                    ],
                )
            ],
            validate_only=validate_only,
        )
        return world.call(ALTER_CONFIGS, request, version).responses[0]

    assert code(altered(False, retention_ms="x")) is ErrorCode.INVALID_CONFIG
    assert code(altered(True, retention_ms="7")) is ErrorCode.NONE
    assert dict(world.image.configs.topic("orders")) == {"segment.bytes": "2000000"}
    assert code(altered(False, retention_ms="7")) is ErrorCode.NONE
    assert dict(world.image.configs.topic("orders")) == {"retention.ms": "7"}


def test_dynamic_settings_of_a_broker(world: ApiWorld) -> None:
    assert code(_alter(world, BROKER, "1", ("log.retention.ms", SET, "77"))) is ErrorCode.NONE
    assert dict(world.image.configs.broker(1)) == {"log.retention.ms": "77"}
    value = _describe(world, TOPIC, "orders", "retention.ms", include_synonyms=True).configs[0]
    assert value.config_source == 2
    assert [synonym.name for synonym in value.synonyms] == ["log.retention.ms"]
    assert code(_alter(world, BROKER, "1", ("log.retention.ms", DELETE, None))) is ErrorCode.NONE
    assert not world.image.configs.broker(1)


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        (BROKER, "1", ("node.id", SET, "5")),
        (BROKER, "1", ("log.retention.ms", SET, "soon")),
        (BROKER, "1", ("zookeeper.connect", SET, "1")),
        (BROKER, "", ("listener.name.plaintext.ssl.keystore.location", SET, "/a")),
        (BROKER, "2", ("log.retention.ms", SET, "5")),
        (BROKER, "1", ("log.retention.ms", 7, "5")),
        (BROKER, "1", ("log.retention.ms", SET, None)),
        (TOPIC, "orders", ("retention.ms", SET, None)),
        (METRICS, "m", ("interval.ms", SET, "1")),
        (METRICS, "m", ("no.such", SET, "1")),
        (METRICS, "", ("interval.ms", SET, "1000")),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "50000")),
    ],
)
def test_changes_that_cannot_be(world: ApiWorld, kind: int, name: str, change: tuple[str, int, str | None]) -> None:
    end = world.quorum.end_offset
    result = _alter(world, kind, name, change)
    assert code(result) is ErrorCode.INVALID_REQUEST
    assert result.error_message
    assert world.quorum.end_offset == end


def test_a_resource_or_a_setting_named_twice(world: ApiWorld) -> None:
    result = _alter(world, TOPIC, "orders", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
    assert code(result) is ErrorCode.INVALID_REQUEST
    resource = incremental.AlterConfigsResource(resource_type=TOPIC, resource_name="orders", configs=[])
    other = incremental.AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[])
    request = incremental.IncrementalAlterConfigsRequest(resources=[resource, other, resource])
    responses = world.call(INCREMENTAL_ALTER_CONFIGS, request, 1).responses
    assert [code(response) for response in responses] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]


SECRET = "listener.name.plaintext.plain.sasl.jaas.config"


def test_secrets_are_refused_where_they_cannot_be_encrypted(world: ApiWorld) -> None:
    end = world.quorum.end_offset
    for only_checked in (True, False):
        result = _alter(world, BROKER, "1", (SECRET, SET, "vltava"), validate_only=only_checked)
        assert code(result) is ErrorCode.INVALID_REQUEST
        assert "password.encoder.secret" in result.error_message
        assert "vltava" not in result.error_message
    older = legacy.AlterConfigsResource(
        resource_type=BROKER, resource_name="1", configs=[legacy.AlterableConfig(name=SECRET, value="vltava")]
    )
    (refused,) = world.call(ALTER_CONFIGS, legacy.AlterConfigsRequest(resources=[older]), 2).responses
    assert code(refused) is ErrorCode.INVALID_REQUEST
    assert world.quorum.end_offset == end


def test_secrets_are_written_down_encrypted() -> None:
    world = ApiWorld({"password.encoder.secret": "of this broker"})
    assert code(_alter(world, BROKER, "1", (SECRET, SET, "vltava"), ("num.io.threads", SET, "3"))) is ErrorCode.NONE
    stored = world.image.configs.broker(1)
    assert stored["num.io.threads"] == "3"
    assert is_sealed(stored[SECRET])
    assert unseal(SECRET, stored[SECRET], Password("of this broker")) == "vltava"
    # What is stored takes part in what is checked.
    assert code(_alter(world, BROKER, "1", ("num.io.threads", SET, "4"))) is ErrorCode.NONE
    (shown,) = _describe(world, BROKER, "1", SECRET, include_synonyms=True).configs
    assert (shown.value, shown.is_sensitive, [each.value for each in shown.synonyms]) == (None, True, [None])
    again = legacy.AlterConfigsResource(
        resource_type=BROKER, resource_name="1", configs=[legacy.AlterableConfig(name=SECRET, value="labe")]
    )
    world.call(ALTER_CONFIGS, legacy.AlterConfigsRequest(resources=[again]), 2)
    assert unseal(SECRET, world.image.configs.broker(1)[SECRET], Password("of this broker")) == "labe"
    assert list(world.image.configs.broker(1)) == [SECRET]
    assert code(_alter(world, BROKER, "1", (SECRET, DELETE, None))) is ErrorCode.NONE
    assert not world.image.configs.broker(1)


def test_secrets_reach_another_controller_encrypted() -> None:
    class Elsewhere:
        leads = False

        def forward(self, _context: Any, request: Any) -> Deferred[Any]:
            self.passed_on = request
            return Deferred()

    world = ApiWorld({"password.encoder.secret": "of this broker"})
    world.services.controller_channel = elsewhere = Elsewhere()  # type: ignore[assignment]
    config = incremental.AlterableConfig(name=SECRET, config_operation=SET, value="vltava")
    plain = incremental.AlterableConfig(name="log.cleaner.threads", config_operation=SET, value="3")
    resource = incremental.AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[config, plain])
    request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
    world.begin(INCREMENTAL_ALTER_CONFIGS, request, 1)
    kept, same = elsewhere.passed_on.resources[0].configs
    assert is_sealed(kept.value)
    assert unseal(SECRET, kept.value, Password("of this broker")) == "vltava"
    assert (same.name, same.value) == ("log.cleaner.threads", "3")
    assert config.value == "vltava", "the client's request is not changed"


def test_a_controller_takes_no_secret_from_a_client() -> None:
    world = ApiWorld({"password.encoder.secret": "of this broker"})

    def asked(value: str) -> Any:
        config = incremental.AlterableConfig(name=SECRET, config_operation=SET, value=value)
        resource = incremental.AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[config])
        request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
        return world.call(CONTROLLER_INCREMENTAL_ALTER_CONFIGS, request, 1).responses[0]

    refused = asked("vltava")
    assert (code(refused), "vltava" in refused.error_message) == (ErrorCode.INVALID_REQUEST, False)
    sealed = seal(SECRET, "vltava", Password("of this broker"), "cluster 1", bytes(RANDOM_BYTES))
    assert code(asked(sealed)) is ErrorCode.NONE


def test_a_controller_that_nobody_finds_is_told_per_resource(world: ApiWorld) -> None:
    world.services.controller = None
    world.patience = 60.0
    assert code(_alter(world, TOPIC, "orders", ("retention.ms", SET, "1"))) is ErrorCode.NOT_CONTROLLER


# ------------------------------------------------------------------------------------------------------------ loggers


def test_the_logger_above_all_others_is_called_root(world: ApiWorld) -> None:
    ours = logging.getLogger("moldau")
    before = ours.level
    try:
        assert code(_alter(world, LOGGER, "1", ("root", SET, "ERROR"))) is ErrorCode.NONE
        assert ours.level == logging.ERROR
        shown = [(config.name, config.value) for config in _describe(world, LOGGER, "1").configs]
        assert shown[:2] == [("root", "ERROR"), ("moldau", "ERROR")]
    finally:
        ours.setLevel(before)


def test_a_setting_that_nobody_knows_is_taken(world: ApiWorld) -> None:
    assert code(_alter(world, BROKER, "1", ("no.such.setting", SET, "1"))) is ErrorCode.NONE
    assert code(_alter(world, BROKER, "1", ("log.retention.ms", SET, "5"))) is ErrorCode.NONE
    configs = {config.name: config for config in _describe(world, BROKER, "1").configs}
    assert (configs["no.such.setting"].value, configs["no.such.setting"].is_sensitive) == (None, True)
    assert configs["log.retention.ms"].value == "5"


def test_levels_of_loggers(world: ApiWorld, some_logger: logging.Logger) -> None:
    assert code(_alter(world, LOGGER, "1", ("moldau.test", SET, "debug"))) is ErrorCode.NONE
    assert some_logger.level == logging.DEBUG
    shown = {config.name: config for config in _describe(world, LOGGER, "1").configs}
    assert (shown["moldau.test"].value, shown["moldau.test"].config_source) == ("DEBUG", 6)
    assert code(_alter(world, LOGGER, "1", ("moldau.test", SET, "WARN"), validate_only=True)) is ErrorCode.NONE
    assert some_logger.level == logging.DEBUG
    assert code(_alter(world, LOGGER, "1", ("moldau.test", DELETE, None))) is ErrorCode.NONE
    assert some_logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("1", ("moldau.test", SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        ("1", ("no.such.logger", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        ("1", ("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        ("1", ("root", SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        ("1", ("moldau", DELETE, None), ErrorCode.INVALID_REQUEST),
        ("1", ("moldau.test", APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        ("1", ("moldau.test", SET, None), ErrorCode.INVALID_REQUEST),
        ("2", ("moldau.test", SET, "INFO"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_levels_that_cannot_be(
    world: ApiWorld, some_logger: logging.Logger, name: str, change: tuple[str, int, str | None], expected: ErrorCode
) -> None:
    assert code(_alter(world, LOGGER, name, change)) is expected
    assert some_logger.level == logging.NOTSET


# --------------------------------------------------------------------------------------------------------------- list


def test_what_can_be_configured(world: ApiWorld) -> None:
    def listed(version: int, *types: int) -> Any:
        return world.call(LIST_CONFIG_RESOURCES, ListConfigResourcesRequest(resource_types=list(types)), version)

    everything = [(r.resource_type, r.resource_name) for r in listed(1).config_resources]
    assert everything == [(TOPIC, "orders"), (BROKER, "1"), (LOGGER, "1")]
    assert [r.resource_name for r in listed(1, TOPIC).config_resources] == ["orders"]
    assert listed(0).config_resources == []
    assert code(listed(1, 99)) is ErrorCode.UNSUPPORTED_VERSION


# ------------------------------------------------------------------------------------------------------------- groups


def test_a_groups_settings_stand_above_the_brokers(world: ApiWorld) -> None:
    before = {row.name: row for row in _describe(world, GROUP, "g").configs}
    assert before["share.delivery.count.limit"].value == "5"
    assert before["share.delivery.count.limit"].config_source == ConfigSource.DEFAULT_CONFIG
    assert before["share.auto.offset.reset"].value == "latest"
    assert code(_alter(world, GROUP, "g", ("share.delivery.count.limit", SET, "9"))) is ErrorCode.NONE
    after = {row.name: row for row in _describe(world, GROUP, "g", include_synonyms=True).configs}
    assert after["share.delivery.count.limit"].value == "9"
    assert after["share.delivery.count.limit"].config_source == ConfigSource.GROUP_CONFIG
    names = [(row.name, row.value) for row in after["share.delivery.count.limit"].synonyms]
    assert names == [("share.delivery.count.limit", "9"), ("group.share.delivery.count.limit", "5")]


@pytest.mark.parametrize(
    "change",
    [
        ("share.delivery.count.limit", SET, "11"),
        ("streams.num.standby.replicas", SET, "3"),
        ("consumer.session.timeout.ms", SET, "1"),
        ("no.such.setting", SET, "1"),
    ],
)
def test_a_group_may_not_be_set_beyond_the_brokers_limits(world: ApiWorld, change: tuple[str, int, str]) -> None:
    assert code(_alter(world, GROUP, "g", change)) is ErrorCode.INVALID_CONFIG


# ----------------------------------------------------------------------------------------------------- client metrics


def test_a_subscription_is_there_as_long_as_something_of_it_is_set(world: ApiWorld) -> None:
    def listed(version: int, *types: int) -> list[str]:
        request = ListConfigResourcesRequest(resource_types=list(types))
        return [row.resource_name for row in world.call(LIST_CONFIG_RESOURCES, request, version).config_resources]

    def shown() -> dict[str, tuple[str, int]]:
        return {row.name: (row.value, row.config_source) for row in _describe(world, METRICS, "all").configs}

    default, own = ConfigSource.DEFAULT_CONFIG, ConfigSource.CLIENT_METRICS_CONFIG
    nothing = {"metrics": ("", default), "interval.ms": ("300000", default), "match": ("", default)}
    assert (shown(), listed(0)) == (nothing, [])
    changes = (("metrics", SET, "a.,b."), ("interval.ms", SET, "1000"), ("match", APPEND, "client_id=x.*"))
    assert code(_alter(world, METRICS, "all", *changes)) is ErrorCode.NONE
    assert (listed(0), listed(1, METRICS)) == (["all"], ["all"])
    assert shown() == {"metrics": ("a.,b.", own), "interval.ms": ("1000", own), "match": ("client_id=x.*", own)}
    assert code(_alter(world, METRICS, "all", ("match", APPEND, "client_id=("))) is ErrorCode.INVALID_CONFIG
    (interval,) = _describe(world, METRICS, "all", "interval.ms", include_synonyms=True).configs
    assert [(row.value, row.source) for row in interval.synonyms] == [("1000", own), ("300000", default)]
    gone = [(name, DELETE, None) for name in nothing]
    assert code(_alter(world, METRICS, "all", *gone)) is ErrorCode.NONE
    assert (shown(), listed(0)) == (nothing, [])
