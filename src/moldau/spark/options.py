"""The options of `format("moldau")`: names of Spark's own Kafka connector, one table for reading and writing.

An option that is not understood is never passed over in silence: it was written for a reason, and a query that runs for
weeks without it is worse than one that does not start. What cannot work is refused with a sentence that says what to do
instead; Spark wraps it in its own words, so it has to stand alone.

Names are compared without case, as everywhere in Spark (which hands them over in lower case).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from enum import Flag, auto
from typing import Final

from moldau.client.sasl_properties import SASL_PROPERTIES
from moldau.errors import MoldauError


class OptionError(MoldauError):
    """An option that is unknown, impossible, or has a value that makes no sense."""


class Use(Flag):
    """What an option is for."""

    BATCH_READ = auto()
    STREAM_READ = auto()
    BATCH_WRITE = auto()
    STREAM_WRITE = auto()
    READ = BATCH_READ | STREAM_READ
    WRITE = BATCH_WRITE | STREAM_WRITE


KAFKA: Final = "kafka."

# Every option there is, as it is written in documents. `kafka.*` is looked at below.
OPTIONS: Final[dict[str, Use]] = {
    "assign": Use.READ,
    "subscribe": Use.READ,
    "subscribePattern": Use.READ,
    "startingOffsets": Use.READ,
    "startingOffsetsByTimestamp": Use.READ,
    "startingTimestamp": Use.READ,
    "startingOffsetsByTimestampStrategy": Use.READ,
    "endingOffsets": Use.BATCH_READ,
    "endingOffsetsByTimestamp": Use.BATCH_READ,
    "endingTimestamp": Use.BATCH_READ,
    "maxOffsetsPerTrigger": Use.STREAM_READ,
    "minOffsetsPerTrigger": Use.STREAM_READ,
    "maxTriggerDelay": Use.STREAM_READ,
    "minPartitions": Use.READ,
    "maxRecordsPerPartition": Use.READ,
    "failOnDataLoss": Use.READ,
    "failOnOldCheckpoint": Use.STREAM_READ,
    "includeHeaders": Use.READ | Use.WRITE,
    "groupIdPrefix": Use.READ,
    "kafkaConsumer.pollTimeoutMs": Use.READ,
    "fetchOffset.numRetries": Use.READ,
    "fetchOffset.retryIntervalMs": Use.READ,
    "topic": Use.WRITE,
    "keepTimestamps": Use.WRITE,
    "delivery": Use.WRITE,
    "decisionsTopic": Use.WRITE,
    "transactionalIdPrefix": Use.WRITE,
    "txnAppId": Use.BATCH_WRITE,
    "txnVersion": Use.BATCH_WRITE,
    "txnInput": Use.BATCH_WRITE,
    "acceptBatch": Use.WRITE,
    # Spark's own; they reach a sink beside the others.
    "checkpointLocation": Use.STREAM_WRITE,
    "queryName": Use.STREAM_WRITE,
}

_BATCH_END: Final = "a stream has no end; trigger(availableNow=True) stops at what is there when it starts"
_STREAM_LIMIT: Final = "it is for streams; a batch is bounded by endingOffsets or endingTimestamp"
_WRITE_ONLY: Final = "it is for writing; what is read is named by subscribe, subscribePattern or assign"
_READ_ONLY: Final = "it is for reading; what is written goes to the option topic or the column of that name"

# What to do instead, where the option is known and here of no use.
_INSTEAD: Final[dict[str, tuple[Use, str]]] = {
    "endingOffsets": (Use.STREAM_READ, _BATCH_END),
    "endingOffsetsByTimestamp": (Use.STREAM_READ, _BATCH_END),
    "endingTimestamp": (Use.STREAM_READ, _BATCH_END),
    "maxOffsetsPerTrigger": (Use.BATCH_READ, _STREAM_LIMIT),
    "minOffsetsPerTrigger": (Use.BATCH_READ, _STREAM_LIMIT),
    "maxTriggerDelay": (Use.BATCH_READ, _STREAM_LIMIT),
    "topic": (Use.READ, _WRITE_ONLY),
    "delivery": (Use.READ, "it is for writing; kafka.isolation.level=read_committed is its counterpart in reading"),
    "subscribe": (Use.WRITE, _READ_ONLY),
    "subscribePattern": (Use.WRITE, _READ_ONLY),
    "assign": (Use.WRITE, "it is for reading; a column named partition says where each row goes"),
    "txnAppId": (Use.STREAM_WRITE, "the batches of a stream are recognized by its checkpoint"),
    "txnVersion": (Use.STREAM_WRITE, "the batches of a stream are recognized by its checkpoint"),
    "txnInput": (Use.STREAM_WRITE, "the batches of a stream are recognized by its checkpoint"),
    "checkpointLocation": (Use.READ | Use.BATCH_WRITE, "it belongs to writeStream"),
    "queryName": (Use.READ | Use.BATCH_WRITE, "it belongs to writeStream"),
}

_NO_SERIALIZER: Final = "keys and values are bytes here; convert them with CAST or a function of Spark"

_NO_LOGIN_CLASS: Final = "Java classes cannot run here; kafka.sasl.jaas.config gives name and password"

# Settings of Kafka's clients that would contradict what Spark does, with what to do instead.
_KAFKA_REFUSED: Final[dict[str, str]] = {
    "auto.offset.reset": "startingOffsets says where to begin, and Spark's checkpoint where to go on",
    "enable.auto.commit": "positions are kept in Spark's checkpoint and shown to lag tools after each batch",
    "auto.commit.interval.ms": "positions are kept in Spark's checkpoint and shown to lag tools after each batch",
    "interceptor.classes": "Java classes cannot run here; transform the DataFrame instead",
    "key.deserializer": _NO_SERIALIZER,
    "value.deserializer": _NO_SERIALIZER,
    "key.serializer": _NO_SERIALIZER,
    "value.serializer": _NO_SERIALIZER,
    "partitioner.class": "Java classes cannot run here; put the number into a column named partition",
    "transactional.id": "the sink chooses its own; ask for delivery=exactly-once",
    "sasl.client.callback.handler.class": _NO_LOGIN_CLASS,
    "sasl.login.class": _NO_LOGIN_CLASS,
    "security.providers": "Java classes cannot run here; TLS is OpenSSL's",
    "ssl.engine.factory.class": "Java classes cannot run here; kafka.ssl.truststore.location and its kin set up TLS",
    "group.instance.id": "the source joins no group; kafka.group.id names the one its positions are shown under",
}

# Settings that have an effect, here or in the sink.
_KAFKA_CONNECTION: Final = (
    "bootstrap.servers",
    "client.id",
    "default.api.timeout.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "security.protocol",
    "socket.connection.setup.timeout.ms",
)
# What they may hold is said in `security`.
_KAFKA_SECURITY: Final = (
    *SASL_PROPERTIES,
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
_KAFKA_READING: Final = (
    "check.crcs",
    "client.rack",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "isolation.level",
    "max.partition.fetch.bytes",
)
_KAFKA_WRITING: Final = (
    "acks",
    "batch.size",
    "buffer.memory",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delivery.timeout.ms",
    "enable.idempotence",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.request.size",
    "partitioner.ignore.keys",
    "retries",
    "transaction.timeout.ms",
)

# Taken, and without effect: they tune machinery of the Java clients that does not exist here.
_KAFKA_INERT: Final = (
    "allow.auto.create.topics",
    "auto.include.jmx.reporter",
    "client.dns.lookup",
    "client.rack",  # of a sink; a source reads from the replica that is closest to it
    "connections.max.idle.ms",
    "enable.metrics.push",
    "exclude.internal.topics",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "max.poll.records",
    "metadata.max.age.ms",
    "metadata.max.idle.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "partition.assignment.strategy",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "send.buffer.bytes",
    "session.timeout.ms",
    "socket.connection.setup.timeout.max.ms",
    "ssl.keymanager.algorithm",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
)

_PROPER: Final = {name.lower(): name for name in OPTIONS}
_TRUE: Final = frozenset({"true", "1", "yes"})
_FALSE: Final = frozenset({"false", "0", "no"})
_MILLISECONDS: Final = {
    "us": 0.001,
    "ms": 1,
    "": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


class Options:
    """What one reader or writer was given, checked by name; each value is checked when it is asked for.

    `kafka` holds the client settings, without their prefix.
    """

    def __init__(self, given: Mapping[str, str], use: Use) -> None:
        self.use = use
        self.kafka: dict[str, str] = {}
        self._values: dict[str, str] = {}
        for name, value in given.items():
            key = name.lower()
            if key.startswith(KAFKA):
                setting = key[len(KAFKA) :]
                _check_setting(setting, use)
                self.kafka[setting] = value
            else:
                _check_option(name, use)
                self._values[key] = value
        if not self.kafka.get("bootstrap.servers", "").strip():
            raise OptionError("The option kafka.bootstrap.servers is missing: brokers as host:port,host:port.")

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._values.get(name.lower(), default)

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name)
        return default if value is None else as_flag(name, value)

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        value = (self.text(name) or default).strip().lower()
        if value not in allowed:
            raise OptionError(f"The option {name} is {value!r}; it must be {_either(allowed)}.")
        return value

    def number(self, name: str, least: int = 1) -> int | None:
        value = self.text(name)
        return None if value is None else as_number(name, value, least)

    def duration_ms(self, name: str, default: str) -> int:
        """Milliseconds from Spark's way of writing times: 100ms, 30s, 15m, 1h; a bare number is milliseconds."""
        value = (self.text(name) or default).strip().lower()
        parts = re.fullmatch(r"(\d+)\s*([a-z]*)", value)
        if parts is None or parts[2] not in _MILLISECONDS:
            raise OptionError(f"The option {name} is {value!r}; it must be a time such as 500ms, 30s, 15m or 1h.")
        return int(int(parts[1]) * _MILLISECONDS[parts[2]])

    def setting(self, name: str, default: int, least: int = 0) -> int:
        """A number among the client settings."""
        value = self.kafka.get(name)
        return default if value is None else as_number(KAFKA + name, value, least)


def as_flag(name: str, value: str) -> bool:
    word = value.strip().lower()
    if word not in _TRUE and word not in _FALSE:
        raise OptionError(f"The option {name} is {value!r}; it must be true or false.")
    return word in _TRUE


def as_number(name: str, value: str, least: int) -> int:
    try:
        number = int(value.strip())
    except ValueError:
        number = least - 1
    if number < least:
        raise OptionError(f"The option {name} is {value!r}; it must be a whole number of at least {least}.")
    return number


def _check_option(name: str, use: Use) -> None:
    proper = _PROPER.get(name.lower())
    if proper is None:
        if name.lower() == "path":
            raise OptionError(
                "A topic has no path: give load() and save() none, and use the option subscribe or topic."
            )
        close = get_close_matches(name.lower(), [each for each in _PROPER if OPTIONS[_PROPER[each]] & use], 1)
        settings = get_close_matches(name.lower(), [*_KAFKA_CONNECTION, *_KAFKA_READING, *_KAFKA_WRITING], 1, 0.9)
        meant = _PROPER[close[0]] if close else f"{KAFKA}{settings[0]}" if settings else None
        advice = f"is {meant} meant?" if meant else "settings of Kafka's clients are written with kafka. before them."
        raise OptionError(f"There is no option {name}; {advice}")
    if not OPTIONS[proper] & use:
        where, instead = _INSTEAD.get(proper, (use, ""))
        reason = instead if where & use and instead else _READ_ONLY if use & Use.WRITE else _WRITE_ONLY
        raise OptionError(f"The option {proper} has no meaning here: {reason}.")


def _check_setting(name: str, use: Use) -> None:
    if name in _KAFKA_REFUSED:
        raise OptionError(f"The option {KAFKA}{name} cannot be set: {_KAFKA_REFUSED[name]}.")
    own = (*_KAFKA_CONNECTION, *_KAFKA_SECURITY, *(_KAFKA_READING if use & Use.READ else _KAFKA_WRITING))
    if name in own or name in _KAFKA_INERT:
        return
    if name in _KAFKA_READING or name in _KAFKA_WRITING:
        side = "writing" if use & Use.READ else "reading"
        raise OptionError(f"The option {KAFKA}{name} has no meaning here: it is a setting for {side}.")
    if name.startswith(("sasl.", "ssl.", "security.")) and not get_close_matches(name, _KAFKA_SECURITY, 1, 0.9):
        # Refused and not passed over: whoever sets it believes that the connection is protected by it.
        raise OptionError(
            f"The option {KAFKA}{name} cannot be set: of security there are kafka.security.protocol, "
            f"{', '.join(KAFKA + each for each in _KAFKA_SECURITY if not each.endswith('store.password'))}."
        )
    close = get_close_matches(name, [*own, *_KAFKA_INERT], 1)
    advice = f"; is {KAFKA}{close[0]} meant?" if close else "."
    raise OptionError(f"There is no option {KAFKA}{name}{advice}")


def _either(words: Collection[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
