"""What the producer can be told: kafka-python's names and defaults, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from moldau.client.partitioner import StickyPartitioner
from moldau.client.producer.sender import SendingLimits
from moldau.client.settings import merged
from moldau.errors.named import KafkaConfigurationError
from moldau.protocol.records import Compression, compress

DEFAULTS: Final[dict[str, Any]] = {
    "key_serializer": None,
    "value_serializer": None,
    "enable_idempotence": True,
    "transactional_id": None,
    "transaction_timeout_ms": 60_000,
    "delivery_timeout_ms": 120_000,
    "allow_auto_create_topics": True,
    "acks": -1,
    "compression_type": None,
    "compression_level": None,
    "retries": float("inf"),
    "batch_size": 16_384,
    "linger_ms": 0,
    "partitioner": None,
    "partitioner_adaptive_partitioning_enable": True,
    "partitioner_availability_timeout_ms": 0,
    "partitioner_ignore_keys": False,
    "buffer_memory": 33_554_432,
    "max_block_ms": 60_000,
    "max_request_size": 1_048_576,
    "max_in_flight_requests_per_connection": 5,
    "interceptors": (),
}

_ACKS: Final = {"all": -1, -1: -1, 0: 0, 1: 1, "0": 0, "1": 1, "-1": -1}

_BATCH_OVERHEAD: Final = 512


def read_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in force; KafkaConfigurationError where they do not fit together."""
    config = merged(DEFAULTS, given)
    if config["acks"] not in _ACKS:
        raise KafkaConfigurationError(f"acks must be 0, 1 or 'all', not {config['acks']!r}.")
    config["acks"] = _ACKS[config["acks"]]
    _check_level(compression(config["compression_type"]), config["compression_level"])
    if type(config["partitioner"]) is StickyPartitioner:
        config["partitioner"] = None
    transactional = config["transactional_id"] is not None
    if transactional and given.get("enable_idempotence") is False:
        raise KafkaConfigurationError("A transactional_id needs enable_idempotence.")
    demanded = transactional or given.get("enable_idempotence") is True
    fits = config["acks"] == -1 and config["max_in_flight_requests_per_connection"] <= 5 and config["retries"] > 0
    if demanded and not fits:
        raise KafkaConfigurationError(
            "enable_idempotence needs acks='all', retries above 0 and at most 5 requests in flight."
        )
    # On by default, but nobody who asked for acks=1 asked for a contradiction.
    config["enable_idempotence"] = config["enable_idempotence"] and fits
    if config["delivery_timeout_ms"] < config["linger_ms"] + config["request_timeout_ms"]:
        if "delivery_timeout_ms" in given:
            raise KafkaConfigurationError("delivery_timeout_ms must not be below linger_ms + request_timeout_ms.")
        config["delivery_timeout_ms"] = config["linger_ms"] + config["request_timeout_ms"]
    return config


def compression(name: str | None) -> Compression:
    try:
        return Compression[(name or "none").upper()]
    except KeyError:
        codecs = ", ".join(codec.name.lower() for codec in Compression)
        raise KafkaConfigurationError(f"compression_type {name!r} is not known; there are {codecs}.") from None


def _check_level(codec: Compression, level: Any) -> None:
    """Asked of the codec itself: each has levels of its own."""
    if level is None or codec is Compression.NONE:
        return
    try:
        compress(codec, b"", level)
    except (TypeError, ValueError, OverflowError) as error:
        raise KafkaConfigurationError(
            f"compression_level {level!r} is none of {codec.name.lower()}: {error}."
        ) from None


def sending_limits(config: Mapping[str, Any], given: Mapping[str, Any]) -> SendingLimits:
    """A batch size that was chosen is a limit. The default is only the size from which a batch counts as full: while
    the connection is busy it may grow up to a whole request, which is what makes large batches under load."""
    whole_request = config["max_request_size"] - _BATCH_OVERHEAD
    return SendingLimits(
        acks=config["acks"],
        compression=compression(config["compression_type"]),
        level=config["compression_level"],
        batch_size=max(1, config["batch_size"]),
        largest_batch=max(0, config["batch_size"] if "batch_size" in given else whole_request),
        max_request_size=config["max_request_size"],
        memory=config["buffer_memory"],
        linger=config["linger_ms"] / 1000,
        max_in_flight=config["max_in_flight_requests_per_connection"],
        retries=config["retries"],
        request_timeout=config["request_timeout_ms"] / 1000,
        delivery_timeout=config["delivery_timeout_ms"] / 1000,
        adaptive=bool(config["partitioner_adaptive_partitioning_enable"]),
        ignore_keys=bool(config["partitioner_ignore_keys"]),
        availability_timeout=config["partitioner_availability_timeout_ms"] / 1000,
    )
