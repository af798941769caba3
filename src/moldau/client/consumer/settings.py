"""What the consumer can be told: kafka-python's names and defaults, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Final

from moldau.client.admin.offsets import IsolationLevel
from moldau.client.consumer.assignors import ASSIGNORS, PartitionAssignor
from moldau.client.consumer.fetch_state import reset_policy
from moldau.client.consumer.fetched import ConsumerRecord, Deserializers
from moldau.client.consumer.fetcher import FetchOptions
from moldau.client.consumer.membership import GroupOptions
from moldau.client.metadata import check_topic
from moldau.client.settings import merged
from moldau.errors.named import KafkaConfigurationError

DEFAULTS: Final[dict[str, Any]] = {
    "client_rack": "",
    "group_id": None,
    "group_instance_id": None,
    "group_protocol": "classic",
    "key_deserializer": None,
    "value_deserializer": None,
    "enable_incremental_fetch_sessions": True,
    "fetch_max_wait_ms": 500,
    "fetch_min_bytes": 1,
    "fetch_max_bytes": 52_428_800,
    "max_partition_fetch_bytes": 1_048_576,
    "allow_auto_create_topics": True,
    "auto_offset_reset": "latest",
    "enable_auto_commit": True,
    "auto_commit_interval_ms": 5000,
    "default_offset_commit_callback": None,
    "check_crcs": True,
    "isolation_level": "read_uncommitted",
    "partition_assignment_strategy": ("range", "roundrobin"),
    "max_poll_records": 500,
    "max_poll_interval_ms": 300_000,
    "session_timeout_ms": 45_000,
    "heartbeat_interval_ms": 3000,
    "consumer_timeout_ms": float("inf"),
    "exclude_internal_topics": True,
    "metric_group_prefix": "consumer",
    "interceptors": (),
}

# Unless told otherwise answers are of two megabytes (measured with 1 KB records). Smaller ones cost a round trip and a
# change of threads more often, larger ones page faults and what the processor has in its caches. So no fetch asks for
# much more, and who reads one partition alone asks for twice as much of it as who reads several.
_USUAL_FETCH: Final = 2_200_000
_USUAL_LONE_FETCH: Final = 2 * 1024 * 1024


# In groups of the new protocol; whoever says something about it believes that it is heard.
_DECIDED_BY_BROKERS: Final = ("session_timeout_ms", "partition_assignment_strategy")


def read_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    config = merged(DEFAULTS, given)
    reset_policy(config["auto_offset_reset"])
    if isinstance(config["isolation_level"], IsolationLevel):
        config["isolation_level"] = config["isolation_level"].name.lower()
    if config["isolation_level"] not in ("read_uncommitted", "read_committed"):
        raise KafkaConfigurationError("isolation_level must be 'read_uncommitted' or 'read_committed'.")
    if config["group_protocol"] not in ("classic", "consumer"):
        raise KafkaConfigurationError("group_protocol must be 'classic' or 'consumer'.")
    if not config["fetch_max_wait_ms"] < config["request_timeout_ms"] < config["connections_max_idle_ms"]:
        raise KafkaConfigurationError(
            "fetch_max_wait_ms must be below request_timeout_ms, and that below connections_max_idle_ms."
        )
    decided = [name for name in _DECIDED_BY_BROKERS if name in given]
    if config["group_protocol"] == "consumer" and decided:
        raise KafkaConfigurationError(f"{', '.join(decided)}: with group_protocol 'consumer' brokers decide about it.")
    _check_instance(config["group_instance_id"], config["group_id"])
    if config["heartbeat_interval_ms"] >= config["session_timeout_ms"]:
        raise KafkaConfigurationError("heartbeat_interval_ms must be below session_timeout_ms.")
    if config["max_poll_records"] < 1:
        raise KafkaConfigurationError("max_poll_records must be at least 1.")
    config["partition_assignment_strategy"] = tuple(_assignor(each) for each in config["partition_assignment_strategy"])
    if not config["partition_assignment_strategy"]:
        raise KafkaConfigurationError("partition_assignment_strategy names no assignor.")
    return config


def _check_instance(instance: Any, group: Any) -> None:
    if instance is None:
        return
    if group is None:
        raise KafkaConfigurationError("group_instance_id needs a group_id.")
    try:
        check_topic(instance)  # by the same rules
    except (TypeError, ValueError):
        raise KafkaConfigurationError(
            "group_instance_id must be 1 to 249 letters, digits, '.', '_' and '-', and not '.' or '..'."
        ) from None


def _assignor(given: Any) -> PartitionAssignor:
    """A name, one of our classes, or another library's class of the same name."""
    if isinstance(given, PartitionAssignor):
        return given
    name = given if isinstance(given, str) else getattr(given, "name", None)
    if name not in ASSIGNORS:
        raise KafkaConfigurationError(f"There is no assignor {given!r}; there are {', '.join(ASSIGNORS)}.")
    return ASSIGNORS[name]()


def fetch_options(config: Mapping[str, Any]) -> FetchOptions:
    return FetchOptions(
        max_wait_ms=config["fetch_max_wait_ms"],
        min_bytes=config["fetch_min_bytes"],
        max_bytes=_USUAL_FETCH
        if config["fetch_max_bytes"] == DEFAULTS["fetch_max_bytes"]
        else config["fetch_max_bytes"],
        partition_bytes=config["max_partition_fetch_bytes"],
        lone_partition_bytes=_USUAL_LONE_FETCH
        if config["max_partition_fetch_bytes"] == DEFAULTS["max_partition_fetch_bytes"]
        else config["max_partition_fetch_bytes"],
        isolation=IsolationLevel[config["isolation_level"].upper()],
        check_crcs=config["check_crcs"],
        rack=config["client_rack"],
        sessions=config["enable_incremental_fetch_sessions"],
        reset=reset_policy(config["auto_offset_reset"]),
        preference=config["metadata_max_age_ms"] / 1000,
        deserializers=deserializers(config["key_deserializer"], config["value_deserializer"]),
    )


def group_options(config: Mapping[str, Any]) -> GroupOptions:
    return GroupOptions(
        group_id=config["group_id"],
        instance_id=config["group_instance_id"],
        session_timeout_ms=config["session_timeout_ms"],
        rebalance_timeout_ms=config["max_poll_interval_ms"],
        heartbeat_interval=config["heartbeat_interval_ms"] / 1000,
        assignors=config["partition_assignment_strategy"],
    )


Whole = Callable[[ConsumerRecord, Any], Any]


def deserializers(key: Any, value: Any) -> Deserializers:
    """Functions are called with the bytes alone; objects are told the topic and the record's headers as well."""
    of_key, of_value = _object(key), _object(value)
    functions = (None if of_key else key, None if of_value else value)
    if of_key is None and of_value is None:
        return Deserializers(*functions)

    def finish(record: ConsumerRecord) -> ConsumerRecord:
        return record._replace(
            key=record.key if of_key is None else of_key(record, record.key),
            value=record.value if of_value is None else of_value(record, record.value),
        )

    return Deserializers(*functions, finish)


def _object(deserializer: Any) -> Whole | None:
    """Older programs have `deserialize(topic, data)`, without the headers."""
    method = getattr(deserializer, "deserialize", None)
    if method is None:
        return None
    try:
        signature(method).bind("topic", [], b"")
    except TypeError:
        return lambda record, data: method(record.topic, data)
    except ValueError:  # built in, and without a signature to look at
        pass
    return lambda record, data: method(record.topic, record.headers, data)
