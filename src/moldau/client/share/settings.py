"""What the share consumer can be told: names as the consumer has them, and two of Kafka's for share groups. Checked
before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from moldau.client.consumer.settings import deserializers
from moldau.client.settings import merged
from moldau.client.share.share_fetcher import ShareFetchOptions
from moldau.client.share.share_membership import ShareGroupOptions
from moldau.errors.named import KafkaConfigurationError
from moldau.types import uuid_to_text

DEFAULTS: Final[dict[str, Any]] = {
    "client_rack": "",
    "group_id": None,
    "key_deserializer": None,
    "value_deserializer": None,
    "fetch_max_wait_ms": 500,
    "fetch_min_bytes": 1,
    "fetch_max_bytes": 52_428_800,
    "check_crcs": True,
    "max_poll_records": 500,
    "max_poll_interval_ms": 300_000,
    "share_acknowledgement_mode": "implicit",
    "share_acquire_mode": "batch_optimized",
}

# What belongs to the group and is set there, or has no meaning where nobody owns a partition.
_OF_THE_GROUP: Final = {
    "auto_offset_reset": "share.auto.offset.reset",
    "isolation_level": "share.isolation.level",
    "session_timeout_ms": "share.session.timeout.ms",
    "heartbeat_interval_ms": "share.heartbeat.interval.ms",
}
_MEANINGLESS: Final = ("enable_auto_commit", "group_instance_id", "partition_assignment_strategy", "group_protocol")

ACKNOWLEDGEMENT_MODES: Final = ("implicit", "explicit")
ACQUIRE_MODES: Final = ("batch_optimized", "record_limit")

# Until the coordinator says how often it wants to hear from its members.
_FIRST_INTERVAL: Final = 1.0


def read_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    for name in given:
        if name in _OF_THE_GROUP:
            raise KafkaConfigurationError(f"{name} is a setting of the share group: {_OF_THE_GROUP[name]}.")
        if name in _MEANINGLESS:
            raise KafkaConfigurationError(f"{name} has no meaning for a member of a share group.")
    config = merged(DEFAULTS, given)
    if not config["group_id"]:
        raise KafkaConfigurationError("A share consumer needs a group_id.")
    for name, words in (
        ("share_acknowledgement_mode", ACKNOWLEDGEMENT_MODES),
        ("share_acquire_mode", ACQUIRE_MODES),
    ):
        config[name] = str(config[name]).lower()
        if config[name] not in words:
            raise KafkaConfigurationError(f"{name} must be {' or '.join(map(repr, words))}.")
    if not config["fetch_max_wait_ms"] < config["request_timeout_ms"] < config["connections_max_idle_ms"]:
        raise KafkaConfigurationError(
            "fetch_max_wait_ms must be below request_timeout_ms, and that below connections_max_idle_ms."
        )
    if config["max_poll_records"] < 1:
        raise KafkaConfigurationError("max_poll_records must be at least 1.")
    return config


def fetch_options(config: Mapping[str, Any]) -> ShareFetchOptions:
    return ShareFetchOptions(
        group_id=config["group_id"],
        max_wait_ms=config["fetch_max_wait_ms"],
        min_bytes=config["fetch_min_bytes"],
        max_bytes=config["fetch_max_bytes"],
        max_records=config["max_poll_records"],
        acquire_mode=ACQUIRE_MODES.index(config["share_acquire_mode"]),
        check_crcs=config["check_crcs"],
        deserializers=deserializers(config["key_deserializer"], config["value_deserializer"]),
    )


def group_options(config: Mapping[str, Any]) -> ShareGroupOptions:
    return ShareGroupOptions(
        group_id=config["group_id"],
        member_id=uuid_to_text(uuid4().bytes),
        rack=config["client_rack"],
        max_poll_interval=config["max_poll_interval_ms"] / 1000,
        heartbeat_interval=_FIRST_INTERVAL,
    )
