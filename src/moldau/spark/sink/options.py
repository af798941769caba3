"""What the sink was asked to do: the options of one write, read once, on the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moldau.client.producer.settings import read_settings
from moldau.errors.named import KafkaConfigurationError
from moldau.spark.options import KAFKA, OptionError, Options, Use, as_flag, as_number
from moldau.spark.security import SecurityOptions, security_options

AT_LEAST_ONCE: Final = "at-least-once"
EXACTLY_ONCE: Final = "exactly-once"

DECISIONS_TOPIC: Final = "__moldau_spark_decisions"
ID_PREFIX: Final = "moldau-spark"

# A batch of records is closed at this size; brokers refuse those above 1 MiB unless told otherwise.
_BATCH_BYTES: Final = 512 * 1024
_REQUEST_BYTES: Final = 4 * 1024 * 1024
_MEMORY_BYTES: Final = 32 * 1024 * 1024

_NUMBERS: Final = {
    "batch.size": 1,
    "buffer.memory": 1,
    "delivery.timeout.ms": 1,
    "max.block.ms": 0,
    "max.in.flight.requests.per.connection": 1,
    "max.request.size": 1,
    "request.timeout.ms": 1,
    "retries": 0,
    "retry.backoff.max.ms": 0,
    "retry.backoff.ms": 0,
    "socket.connection.setup.timeout.ms": 1,
}


@dataclass(frozen=True)
class SinkOptions:
    """`producer` are the settings of the producer in force, under the names `moldau.client` has for them.

    Those for security are apart, because what is made of them cannot travel to the tasks.
    """

    topic: str | None
    include_headers: bool
    keep_timestamps: bool
    exactly_once: bool
    producer: Mapping[str, Any]
    security: SecurityOptions
    # None: as long as the brokers allow, within reason.
    transaction_timeout_ms: int | None
    ignore_keys: bool
    decisions_topic: str
    id_prefix: str
    application: str | None
    version: int | None
    # What tells a batch that is run again from another one with its number: see `content`.
    checkpoint: str | None = None
    input: str | None = None
    accepted: int | None = None

    @property
    def bootstrap(self) -> str:
        return str(self.producer["bootstrap_servers"])


def sink_options(given: Mapping[str, str], use: Use) -> SinkOptions:
    options = Options(given, use)
    delivery = options.choice("delivery", AT_LEAST_ONCE, (AT_LEAST_ONCE, EXACTLY_ONCE))
    exactly_once = delivery == EXACTLY_ONCE
    application, version = options.text("txnAppId"), options.number("txnVersion", 0)
    if (application is None) is not (version is None):
        raise OptionError("The options txnAppId and txnVersion belong together: which writer, and which of its writes.")
    if application is not None and not exactly_once:
        raise OptionError("The option txnAppId needs delivery=exactly-once: what is repeated is found out that way.")
    if options.text("txnInput") is not None and application is None:
        raise OptionError("The option txnInput needs txnAppId and txnVersion: it says what that write was made from.")
    topic = options.text("topic")
    if topic is not None and not topic.strip():
        raise OptionError("The option topic is empty.")
    security = security_options(options.kafka)
    security.open()  # what is wrong with its files is better said now than by every task
    return SinkOptions(
        topic=topic,
        include_headers=options.flag("includeHeaders", False),
        keep_timestamps=options.flag("keepTimestamps", False),
        exactly_once=exactly_once,
        producer=_producer(options.kafka, exactly_once),
        security=security,
        transaction_timeout_ms=options.setting("transaction.timeout.ms", 0, 1) or None,
        ignore_keys=as_flag(KAFKA + "partitioner.ignore.keys", options.kafka.get("partitioner.ignore.keys", "false")),
        decisions_topic=options.text("decisionsTopic") or DECISIONS_TOPIC,
        id_prefix=options.text("transactionalIdPrefix") or ID_PREFIX,
        application=application,
        version=version,
        checkpoint=options.text("checkpointLocation"),
        input=options.text("txnInput"),
        accepted=options.number("acceptBatch", 0),
    )


def _producer(kafka: Mapping[str, str], exactly_once: bool) -> dict[str, Any]:
    given: dict[str, Any] = {
        "bootstrap_servers": kafka["bootstrap.servers"],
        "client_id": kafka.get("client.id", "moldau-spark-sink"),
        "batch_size": _BATCH_BYTES,
        "max_request_size": _REQUEST_BYTES,
        "buffer_memory": _MEMORY_BYTES,
    }
    for name, least in _NUMBERS.items():
        if name in kafka:
            given[name.replace(".", "_")] = as_number(KAFKA + name, kafka[name], least)
    if given["batch_size"] > given["max_request_size"]:
        given["max_request_size"] = given["batch_size"] + 1024
    if "acks" in kafka:
        given["acks"] = kafka["acks"].strip().lower()
        if exactly_once and given["acks"] not in ("all", "-1"):
            raise OptionError("The option kafka.acks must be all with delivery=exactly-once.")
    if "enable.idempotence" in kafka:
        given["enable_idempotence"] = as_flag(KAFKA + "enable.idempotence", kafka["enable.idempotence"])
        if exactly_once and not given["enable_idempotence"]:
            raise OptionError("The option kafka.enable.idempotence must be true with delivery=exactly-once.")
    codec = kafka.get("compression.type", "none").strip().lower()
    given["compression_type"] = None if codec == "none" else codec
    level = kafka.get(f"compression.{codec}.level")
    if level is not None:
        given["compression_level"] = as_number(f"{KAFKA}compression.{codec}.level", level, -(1 << 17))
    try:
        return read_settings(given)
    except KafkaConfigurationError as error:
        raise OptionError(f"The producer cannot work like this: {error}") from error
