"""The settings of one group, as they may be stored in the metadata for it; the broker's count where it has none.

They are set before or while the group is there, whatever kind of group it is: those of the other kinds do nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from moldau.config.broker import BrokerConfig
from moldau.config.definition import (
    BOOLEAN,
    INT,
    MEDIUM,
    STRING,
    Allowed,
    ConfigError,
    Setting,
    at_least,
    between,
    closest,
    one_of,
    settings_of,
)
from moldau.dataclass import dataclass

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_BY_DURATION: Final = "by_duration:"
# ISO 8601, as Java reads a Duration: days, hours, minutes, seconds with a fraction, each with a sign of its own.
_DURATION: Final = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:T(?=[+\-\d])(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
_NO_THREADS: Final = "assignors run in slices on the loop"


def reset_duration_ms(text: str) -> int | None:
    """How far back `by_duration:PT1H` begins; None for another word. ConfigError if it cannot be read."""
    if not text.startswith(_BY_DURATION):
        return None
    match = _DURATION.fullmatch(text.removeprefix(_BY_DURATION))
    if match is None or not any(match.groups()[1:]):
        raise ConfigError(f"{text!r} is not a duration such as by_duration:PT1H")
    sign, days, hours, minutes, seconds = match.groups()
    total = int(days or 0) * 86_400 + int(hours or 0) * 3600 + int(minutes or 0) * 60
    milliseconds = total * 1000 + int(float((seconds or "0").replace(",", ".")) * 1000)
    if sign == "-":
        milliseconds = -milliseconds
    if milliseconds < 0:
        raise ConfigError(f"{text!r} is a negative duration")
    return milliseconds


def _is_reset(text: str) -> bool:
    try:
        return text in (EARLIEST, LATEST) or reset_duration_ms(text) is not None
    except ConfigError:
        return False


_RESETS: Final[Allowed[Any]] = Allowed("earliest, latest, or by_duration: with an ISO 8601 duration", _is_reset)


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
    consumer_assignor_offload_enable = Setting("consumer.assignor.offload.enable", BOOLEAN, True, None, MEDIUM,
        "Whether assignments are worked out by a thread of their own.",
        synonyms=("group.consumer.assignor.offload.enable",), no_effect=_NO_THREADS)
    share_session_timeout_ms = Setting("share.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "How long a member of a share group may be silent before it is removed.",
        synonyms=("group.share.session.timeout.ms",))
    share_heartbeat_interval_ms = Setting("share.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members of a share group are told to send heartbeats.",
        synonyms=("group.share.heartbeat.interval.ms",))
    share_record_lock_duration_ms = Setting(
        "share.record.lock.duration.ms", INT, 30_000, between(1000, 3_600_000), MEDIUM,
        "How long a record that was delivered to a member is kept from the others.",
        synonyms=("group.share.record.lock.duration.ms",))
    share_delivery_count_limit = Setting("share.delivery.count.limit", INT, 5, between(2, 25), MEDIUM,
        "How often a record is delivered before it is given up.",
        synonyms=("group.share.delivery.count.limit",))
    share_partition_max_record_locks = Setting(
        "share.partition.max.record.locks", INT, 2000, between(100, 20_000), MEDIUM,
        "How many records of a partition may be locked at a time.",
        synonyms=("group.share.partition.max.record.locks",))
    share_auto_offset_reset = Setting("share.auto.offset.reset", STRING, LATEST, _RESETS, MEDIUM,
        "Where a share group begins to read a partition.")
    share_isolation_level = Setting(
        "share.isolation.level", STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted"), MEDIUM,
        "Whether records of transactions are delivered before they are committed.")
    share_renew_acknowledge_enable = Setting("share.renew.acknowledge.enable", BOOLEAN, True, None, MEDIUM,
        "Whether members may ask to keep a record longer than the lock lasts.")
    share_assignment_interval_ms = Setting("share.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two new assignments of a share group.",
        synonyms=("group.share.assignment.interval.ms",))
    share_assignor_offload_enable = Setting("share.assignor.offload.enable", BOOLEAN, True, None, MEDIUM,
        "Whether assignments are worked out by a thread of their own.",
        synonyms=("group.share.assignor.offload.enable",), no_effect=_NO_THREADS)
    streams_session_timeout_ms = Setting("streams.session.timeout.ms", INT, 45_000, at_least(1), MEDIUM,
        "How long a member of a streams group may be silent before it is removed.",
        synonyms=("group.streams.session.timeout.ms",))
    streams_heartbeat_interval_ms = Setting("streams.heartbeat.interval.ms", INT, 5000, at_least(1), MEDIUM,
        "How often members of a streams group are told to send heartbeats.",
        synonyms=("group.streams.heartbeat.interval.ms",))
    streams_num_standby_replicas = Setting("streams.num.standby.replicas", INT, 0, at_least(0), MEDIUM,
        "How many standby copies of each stateful task there are.",
        synonyms=("group.streams.num.standby.replicas",))
    streams_initial_rebalance_delay_ms = Setting("streams.initial.rebalance.delay.ms", INT, 3000, at_least(0), MEDIUM,
        "How long a new streams group waits for further members before it assigns tasks.",
        synonyms=("group.streams.initial.rebalance.delay.ms",))
    streams_assignment_interval_ms = Setting("streams.assignment.interval.ms", INT, 1000, at_least(0), MEDIUM,
        "The least time between two new assignments of a streams group.",
        synonyms=("group.streams.assignment.interval.ms",))
    streams_assignor_offload_enable = Setting("streams.assignor.offload.enable", BOOLEAN, True, None, MEDIUM,
        "Whether assignments are worked out by a thread of their own.",
        synonyms=("group.streams.assignor.offload.enable",), no_effect=_NO_THREADS)
# fmt: on


GROUP_SETTINGS: Final[Mapping[str, Setting[Any]]] = settings_of(GroupSettings)

# Attributes whose value must lie between a minimum and a maximum of the broker.
_BOUNDED: Final = (
    "consumer_session_timeout_ms",
    "consumer_heartbeat_interval_ms",
    "consumer_assignment_interval_ms",
    "share_session_timeout_ms",
    "share_heartbeat_interval_ms",
    "share_assignment_interval_ms",
    "share_record_lock_duration_ms",
    "share_delivery_count_limit",
    "share_partition_max_record_locks",
    "streams_session_timeout_ms",
    "streams_heartbeat_interval_ms",
    "streams_assignment_interval_ms",
)


@dataclass(slots=True, frozen=True)
class GroupConfig:
    """The resolved settings of one group."""

    consumer_session_timeout_ms: int
    consumer_heartbeat_interval_ms: int
    consumer_assignment_interval_ms: int
    share_session_timeout_ms: int
    share_heartbeat_interval_ms: int
    share_record_lock_duration_ms: int
    share_delivery_count_limit: int
    share_partition_max_record_locks: int
    share_auto_offset_reset: str
    share_isolation_level: str
    share_renew_acknowledge_enable: bool
    share_assignment_interval_ms: int
    streams_session_timeout_ms: int
    streams_heartbeat_interval_ms: int
    streams_num_standby_replicas: int
    streams_initial_rebalance_delay_ms: int
    streams_assignment_interval_ms: int


def group_config(broker: BrokerConfig, overrides: Mapping[str, str]) -> GroupConfig:
    """A group's settings; ConfigError for one that is not known, not allowed, or outside the broker's limits."""
    values = _values(broker, overrides)
    for attribute, (low, high) in _limits(broker).items():
        value = values[attribute]
        if not low <= value <= high and _name(attribute) in overrides:
            raise ConfigError(
                f"{_name(attribute)} cannot be {value}: it must be from {low} to {high}, the limits of the broker"
            )
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = values[f"{kind}_session_timeout_ms"], values[f"{kind}_heartbeat_interval_ms"]
        if session <= heartbeat:
            raise ConfigError(
                f"{kind}.session.timeout.ms ({session}) must be more than {kind}.heartbeat.interval.ms ({heartbeat})"
            )
    return _config(values)


def effective_group_config(broker: BrokerConfig, overrides: Mapping[str, str]) -> GroupConfig:
    """The settings as they count: the broker's limits may have changed since they were stored, and are kept."""
    values = _values(broker, {name: text for name, text in overrides.items() if name in GROUP_SETTINGS})
    for attribute, (low, high) in _limits(broker).items():
        values[attribute] = min(max(values[attribute], low), high)
    return _config(values)


def _values(broker: BrokerConfig, overrides: Mapping[str, str]) -> dict[str, Any]:
    values = {row.attribute: vars(broker).get(f"group_{row.attribute}", row.default) for row in GROUP_SETTINGS.values()}
    for name, text in overrides.items():
        setting = GROUP_SETTINGS.get(name)
        if setting is None:
            meant = closest(name, list(GROUP_SETTINGS))
            raise ConfigError(f"{name} is not a group setting" + (f"; the closest one is {meant}" if meant else ""))
        values[setting.attribute] = setting.parse(text)
    return values


def _limits(broker: BrokerConfig) -> dict[str, tuple[int, int]]:
    """`consumer.session.timeout.ms` lies between `group.consumer.min.session.timeout.ms` and its `max`."""
    settings = vars(broker)
    limits = {}
    for attribute in _BOUNDED:
        kind, _, rest = attribute.partition("_")
        limits[attribute] = (settings[f"group_{kind}_min_{rest}"], settings[f"group_{kind}_max_{rest}"])
    limits["streams_num_standby_replicas"] = (0, settings["group_streams_max_standby_replicas"])
    return limits


def _name(attribute: str) -> str:
    return attribute.replace("_", ".")


def _config(values: Mapping[str, Any]) -> GroupConfig:
    return GroupConfig(**{name: values[name] for name in GroupConfig.__match_args__})
