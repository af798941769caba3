"""Everything the options say about reading, checked and in one object that Spark can carry to its workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau.client.admin.offsets import EARLIEST, LATEST, IsolationLevel
from moldau.spark.options import OptionError, Options, Use, as_flag
from moldau.spark.schema import source_schema
from moldau.spark.security import security_options
from moldau.spark.source.bounds import Bound, ending_bound, starting_bound
from moldau.spark.source.subscription import Subscription, read_subscription

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# A task that has much to read reads one partition and nothing else, so an answer may be large: fewer round trips, and
# an Arrow batch of the size Spark likes out of each.
_PARTITION_BYTES: Final = 4 * 1024 * 1024
_FETCH_BYTES: Final = 50 * 1024 * 1024

_ISOLATION: Final = {
    "read_uncommitted": IsolationLevel.READ_UNCOMMITTED,
    "read_committed": IsolationLevel.READ_COMMITTED,
}

_GROUP_PREFIX: Final = "moldau-spark"
# Kafka has no limit on the length of a group's name, but whoever lists groups has one.
_LONGEST_GROUP: Final = 200


class FetchSizes(NamedTuple):
    """How much an answer may hold and how long it may take: `FetchLimits`, without what comes with that module."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_bytes: int


@dataclass(frozen=True, slots=True)
class SourceSettings:
    options: Options
    subscription: Subscription
    start: Bound
    end: Bound
    # What to do when no record is as young as a starting time: "error" or "latest".
    unmatched: str
    fail_on_data_loss: bool
    fail_on_old_checkpoint: bool
    min_partitions: int | None
    max_records: int | None
    max_offsets: int | None
    min_offsets: int | None
    max_delay_ms: int
    isolation: IsolationLevel
    fetch: FetchSizes
    # Where the workers are: brokers name the closest replica to those who say it.
    rack: str
    check_crc: bool
    poll_timeout: float
    # How much longer than the agreed waiting time an answer may take before the connection counts as lost.
    request_timeout: float
    retries: int
    retry_interval: float
    group: Group


@dataclass(frozen=True, slots=True)
class Group:
    """Where lag tools find a stream: under the id that was given, or one that ends with the name of the query."""

    given: str
    prefix: str

    def id(self, query: str) -> str:
        """The same in every run of a query. Empty if that has no name yet, and the user gave none."""
        return self.given or (f"{self.prefix}-{query}" if query else "")


def check_options(given: Mapping[str, str]) -> StructType:
    """Refuses what neither a batch nor a stream could be told; returns the columns there are.

    Spark asks for these before it says which of both it is going to be.
    """
    try:
        batch_settings(given)
    except OptionError as error:
        try:
            stream_settings(given)
        except OptionError as other:
            raise OptionError(str(error) if str(error) == str(other) else f"{other} For a batch: {error}") from None
    return source_schema(given)


def batch_settings(given: Mapping[str, str]) -> SourceSettings:
    options = Options(given, Use.BATCH_READ)
    start = starting_bound(options, EARLIEST, latest_allowed=False)
    return _settings(options, start, ending_bound(options))


def stream_settings(given: Mapping[str, str]) -> SourceSettings:
    options = Options(given, Use.STREAM_READ)
    start = starting_bound(options, LATEST, latest_allowed=True)
    return _settings(options, start, ending_bound(options))


def _settings(options: Options, start: Bound, end: Bound) -> SourceSettings:
    options.flag("includeHeaders", False)  # looked at for the schema, and checked here if the user gave another one
    security_options(options.kafka)  # checked here, and made use of where a connection is opened
    subscription = read_subscription(options)
    most, least = options.number("maxOffsetsPerTrigger"), options.number("minOffsetsPerTrigger")
    if most is not None and least is not None and least > most:
        raise OptionError(f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most}).")
    return SourceSettings(
        options=options,
        subscription=subscription,
        start=start,
        end=end,
        unmatched=options.choice("startingOffsetsByTimestampStrategy", "error", ("error", "latest")),
        fail_on_data_loss=options.flag("failOnDataLoss", True),
        fail_on_old_checkpoint=options.flag("failOnOldCheckpoint", False),
        min_partitions=options.number("minPartitions"),
        max_records=options.number("maxRecordsPerPartition"),
        max_offsets=most,
        min_offsets=least,
        max_delay_ms=options.duration_ms("maxTriggerDelay", "15m"),
        isolation=_isolation(options),
        fetch=_fetch(options),
        rack=options.kafka.get("client.rack", "").strip(),
        check_crc=as_flag("kafka.check.crcs", options.kafka.get("check.crcs", "true")),
        poll_timeout=_number(options, "kafkaConsumer.pollTimeoutMs", 120_000) / 1000,
        request_timeout=options.setting("request.timeout.ms", 30_000, 1) / 1000,
        retries=_number(options, "fetchOffset.numRetries", 3, least=0),
        retry_interval=_number(options, "fetchOffset.retryIntervalMs", 1000, least=0) / 1000,
        group=_group(options, subscription),
    )


def _isolation(options: Options) -> IsolationLevel:
    value = options.kafka.get("isolation.level", "read_uncommitted").strip().lower()
    if value not in _ISOLATION:
        raise OptionError(f"The option kafka.isolation.level is {value!r}; it must be {' or '.join(_ISOLATION)}.")
    return _ISOLATION[value]


def _fetch(options: Options) -> FetchSizes:
    return FetchSizes(
        max_wait_ms=options.setting("fetch.max.wait.ms", 500),
        min_bytes=options.setting("fetch.min.bytes", 1),
        max_bytes=options.setting("fetch.max.bytes", _FETCH_BYTES, 1),
        partition_bytes=options.setting("max.partition.fetch.bytes", _PARTITION_BYTES, 1),
    )


def _number(options: Options, name: str, default: int, least: int = 1) -> int:
    number = options.number(name, least)
    return default if number is None else number


def _group(options: Options, subscription: Subscription) -> Group:
    prefix = (options.text("groupIdPrefix") or _GROUP_PREFIX).strip()
    name = f"{prefix}-{subscription.text}"
    if len(name) > _LONGEST_GROUP:
        name = f"{prefix}-{sha256(subscription.text.encode()).hexdigest()[:16]}"
    return Group(options.kafka.get("group.id", "").strip(), name)
