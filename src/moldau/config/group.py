"""The settings of one group, as they may be stored in the metadata for it; the broker's count where it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from moldau.config.broker import BrokerConfig
from moldau.config.definition import INT, MEDIUM, ConfigError, Setting, at_least, closest, settings_of
from moldau.dataclass import dataclass


# fmt: off
class GroupSettings:
    consumer_session_timeout_ms = Setting("consumer.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "How long a member may be silent before it is removed.",
        synonyms=("group.consumer.session.timeout.ms",))
    consumer_heartbeat_interval_ms = Setting("consumer.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members are told to send heartbeats.",
        synonyms=("group.consumer.heartbeat.interval.ms",))
    consumer_assignment_interval_ms = Setting("consumer.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two new assignments.",
        synonyms=("group.consumer.assignment.interval.ms",))
# fmt: on


GROUP_SETTINGS: Final[Mapping[str, Setting[Any]]] = settings_of(GroupSettings)


@dataclass(slots=True, frozen=True)
class GroupConfig:
    """The resolved settings of one group."""

    consumer_session_timeout_ms: int
    consumer_heartbeat_interval_ms: int
    consumer_assignment_interval_ms: int


def group_config(broker: BrokerConfig, overrides: Mapping[str, str]) -> GroupConfig:
    """A group's settings; ConfigError for one that is not known, not allowed, or outside the broker's limits."""
    values = {row.attribute: vars(broker)[f"group_{row.attribute}"] for row in GROUP_SETTINGS.values()}
    for name, text in overrides.items():
        setting = GROUP_SETTINGS.get(name)
        if setting is None:
            meant = closest(name, list(GROUP_SETTINGS))
            raise ConfigError(f"{name} is not a group setting" + (f"; the closest one is {meant}" if meant else ""))
        values[setting.attribute] = value = setting.parse(text)
        low, high = (vars(broker)[_limit(setting, side)] for side in ("min", "max"))
        if not low <= value <= high:
            raise ConfigError(f"{name} cannot be {value}: it must be from {low} to {high}, the limits of the broker")
    config = GroupConfig(**values)
    if config.consumer_session_timeout_ms <= config.consumer_heartbeat_interval_ms:
        raise ConfigError(
            f"consumer.session.timeout.ms ({config.consumer_session_timeout_ms}) must be more than "
            f"consumer.heartbeat.interval.ms ({config.consumer_heartbeat_interval_ms})"
        )
    return config


def _limit(setting: Setting[Any], side: str) -> str:
    """`consumer.session.timeout.ms` lies between `group.consumer.min.session.timeout.ms` and its `max`."""
    kind, _, rest = setting.attribute.partition("_")
    return f"group_{kind}_{side}_{rest}"
