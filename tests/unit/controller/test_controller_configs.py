"""Dynamic settings of topics and brokers."""

from __future__ import annotations

import pytest
from controller_kit import World, refused, show

from moldau.config.alteration import Operation
from moldau.controller.configs import Change, ResourceChange
from moldau.errors import ErrorCode
from moldau.metadata.image import ConfigResource, ResourceType

ORDERS = ConfigResource(ResourceType.TOPIC, "orders")
ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")


def _alter(world: World, resource: ConfigResource, *changes: Change, validate_only: bool = False) -> ErrorCode:
    answer = world.controller.incremental_alter_configs(
        [ResourceChange(resource, changes)], validate_only=validate_only
    )
    error = dict(world.settle(answer))[resource]
    return ErrorCode.NONE if error is None else error.code


def _set(name: str, value: str | None) -> Change:
    return Change(name, Operation.SET, value)


@pytest.fixture
def world() -> World:
    world = World()
    world.create("orders", 1, 1, configs={"retention.ms": "1000"})
    return world


def _settings(world: World) -> dict[str, str]:
    return dict(world.image.configs.topic("orders"))


def test_set_and_delete(world: World) -> None:
    assert _alter(world, ORDERS, _set("max.message.bytes", "100"), Change("retention.ms", 1, None)) is ErrorCode.NONE
    assert _settings(world) == {"max.message.bytes": "100"}
    assert _alter(world, ORDERS, Change("max.message.bytes", Operation.DELETE, None)) is ErrorCode.NONE
    assert ORDERS not in world.image.configs.resources


def test_append_and_subtract_work_on_lists_and_start_from_the_default(world: World) -> None:
    append = Change("cleanup.policy", Operation.APPEND, "compact")
    assert _alter(world, ORDERS, append) is ErrorCode.NONE
    assert _settings(world)["cleanup.policy"] == "delete,compact"
    end = world.quorum.end_offset
    assert _alter(world, ORDERS, append) is ErrorCode.NONE
    assert world.quorum.end_offset == end
    assert _alter(world, ORDERS, Change("cleanup.policy", Operation.SUBTRACT, "delete")) is ErrorCode.NONE
    assert _settings(world)["cleanup.policy"] == "compact"
    assert _alter(world, ORDERS, Change("retention.ms", Operation.APPEND, "1")) is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("resource", "change", "expected"),
    [
        (ORDERS, _set("retention.ms", "never"), ErrorCode.INVALID_CONFIG),
        (ORDERS, _set("no.such.setting", "1"), ErrorCode.INVALID_CONFIG),
        (ORDERS, _set("min.compaction.lag.ms", str(2**63 - 1)), ErrorCode.NONE),
        (ORDERS, _set("retention.ms", None), ErrorCode.INVALID_REQUEST),
        (ORDERS, Change("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (
            ConfigResource(ResourceType.TOPIC, "missing"),
            _set("retention.ms", "1"),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ),
        (ConfigResource(ResourceType.TOPIC, "a b"), _set("retention.ms", "1"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (ConfigResource(ResourceType.TOPIC, ""), _set("retention.ms", "1"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(ResourceType.BROKER, "9"), _set("log.retention.ms", "1"), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (ConfigResource(ResourceType.BROKER, "one"), _set("log.retention.ms", "1"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(ResourceType.GROUP, "g"), _set("x", "1"), ErrorCode.INVALID_CONFIG),
        (ConfigResource(ResourceType.GROUP, "g"), _set("share.delivery.count.limit", "11"), ErrorCode.INVALID_CONFIG),
        (ConfigResource(ResourceType.GROUP, "g"), _set("share.delivery.count.limit", "10"), ErrorCode.NONE),
        (ConfigResource(ResourceType.GROUP, ""), _set("share.delivery.count.limit", "9"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(77, "x"), _set("x", "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_refused(world: World, resource: ConfigResource, change: Change, expected: ErrorCode) -> None:
    before = show(world.image)
    assert _alter(world, resource, change) is expected
    if expected is not ErrorCode.NONE:
        assert show(world.image) == before


def test_a_resource_is_all_or_nothing_and_others_are_not_touched(world: World) -> None:
    world.create("payments", 1, 1)
    payments = ConfigResource(ResourceType.TOPIC, "payments")
    answer = world.controller.incremental_alter_configs(
        [
            ResourceChange(ORDERS, [_set("max.message.bytes", "5"), _set("segment.bytes", "-5")]),
            ResourceChange(payments, [_set("max.message.bytes", "5")]),
        ],
        validate_only=False,
    )
    outcomes = dict(world.settle(answer))
    assert outcomes[ORDERS] is not None
    assert outcomes[payments] is None
    assert _settings(world) == {"retention.ms": "1000"}
    assert dict(world.image.configs.topic("payments")) == {"max.message.bytes": "5"}


def test_validate_only(world: World) -> None:
    assert _alter(world, ORDERS, _set("max.message.bytes", "5"), validate_only=True) is ErrorCode.NONE
    assert _alter(world, ORDERS, _set("max.message.bytes", "x"), validate_only=True) is ErrorCode.INVALID_CONFIG
    assert _settings(world) == {"retention.ms": "1000"}


def test_a_list_that_grows_too_long_for_a_record_is_refused(world: World) -> None:
    replicas = ",".join(f"{partition}:{1}" for partition in range(4000))
    name = "leader.replication.throttled.replicas"
    assert _alter(world, ORDERS, _set(name, replicas)) is ErrorCode.NONE
    more = ",".join(f"{partition}:{2}" for partition in range(4000))
    answer = world.controller.incremental_alter_configs(
        [ResourceChange(ORDERS, [Change(name, Operation.APPEND, more)])], validate_only=False
    )
    assert refused(answer).code is ErrorCode.INVALID_REQUEST
    assert _settings(world)[name] == world.controller.state.configs.of(ORDERS)[name] == replicas


def test_the_older_request_replaces_everything(world: World) -> None:
    answer = world.controller.alter_configs(
        [ResourceChange(ORDERS, [_set("max.message.bytes", "5")])], validate_only=False
    )
    assert world.settle(answer) == [(ORDERS, None)]
    assert _settings(world) == {"max.message.bytes": "5"}


def test_settings_of_all_brokers_become_the_defaults_of_topics(world: World) -> None:
    assert _alter(world, ALL_BROKERS, _set("log.retention.ms", "4242")) is ErrorCode.NONE
    assert dict(world.image.configs.broker(None)) == {"log.retention.ms": "4242", "min.insync.replicas": "1"}
    configs = world.create("later", 1, 1).configs
    assert configs is not None
    values = {config.name: (config.value, config.config_source) for config in configs}
    assert values["retention.ms"] == ("4242", 3)
    # A broker's setting is written even if it repeats itself, because the broker acts on the record.
    end = world.quorum.end_offset
    _alter(world, ALL_BROKERS, _set("log.retention.ms", "4242"))
    assert world.quorum.end_offset == end + 1
