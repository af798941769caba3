"""`KafkaConsumer`: kafka-python's class, on our core. For one thread at a time, as there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from re import Pattern
from time import monotonic
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from moldau.client.consumer.committing import Committer
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.consumer.fetcher import Fetcher
from moldau.client.consumer.membership import ClassicMembership
from moldau.client.consumer.offsets import GroupOffsets
from moldau.client.consumer.positions import PositionFinder
from moldau.client.consumer.reading import Reading
from moldau.client.consumer.rebalancing import Rebalancer
from moldau.client.consumer.reconciliation import ConsumerMembership
from moldau.client.consumer.seeking import Seeking
from moldau.client.consumer.settings import DEFAULTS, fetch_options, group_options, read_settings
from moldau.client.consumer.taking import take_columns, take_records
from moldau.client.conversation import Conversation, Learn
from moldau.client.exceptions import (
    IllegalArgumentError,
    IllegalStateError,
    KafkaConfigurationError,
    named,
)
from moldau.client.future import Future
from moldau.client.metadata import ClusterView
from moldau.client.settings import COMMON, bootstrap, open_network
from moldau.client.structs import ConsumerGroupMetadata, MemberState, OffsetAndMetadata
from moldau.errors import KafkaError, MoldauError
from moldau.types import TopicPartition

T = TypeVar("T")

# How long one wait lasts at most: group duties and time-outs are looked at in between.
_LOOK_AGAIN = 0.5

# The same while there is nothing to read: a topic may appear at any moment.
_NOTHING_YET = 0.05


class KafkaConsumer(Seeking):
    """Topics given to it are subscribed to. See `consumer/settings` for what it can be told."""

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = {**COMMON, **DEFAULTS}

    def __init__(self, *topics: str, **configs: Any) -> None:
        self._closed = True
        self.config = read_settings(configs)
        self._background, self._network = open_network(self.config, "consumer")
        self._fetcher = Fetcher(self._network, fetch_options(self.config))
        self._group: GroupOffsets | None = None
        self._rebalancer: Rebalancer | None = None
        self._committer: Committer | None = None
        self._subscription: set[str] | None = None
        self._order: list[TopicPartition] = []
        self._ahead: dict[TopicPartition, int] = {}
        self._unasked = False
        self._seen: ClusterView | None = None
        self._ask_again_at = 0.0
        self._iterator: Iterator[ConsumerRecord] | None = None
        if self.config["group_id"] is not None:
            self._join_up(self.config["group_id"])
        PositionFinder(self._fetcher, self._group, self._timeout)
        bootstrap(self._background, self._network, self.config["bootstrap_timeout_ms"] / 1000)
        self._closed = False
        if topics:
            self.subscribe(topics)

    def _join_up(self, group_id: str) -> None:
        kind = ConsumerMembership if self.config["group_protocol"] == "consumer" else ClassicMembership
        membership = kind(self._network, group_options(self.config), self._nudge)
        stable_only = self.config["isolation_level"] == "read_committed"
        self._group = GroupOffsets(group_id, membership.coordinator, stable_only=stable_only)
        self._committer = Committer(self._background, self._network, self._group, membership, self._consumed)
        self._rebalancer = Rebalancer(
            self._background,
            self._network,
            membership,
            self._read_exactly,
            self._commit_before_revoking,
            exclude_internal=self.config["exclude_internal_topics"],
        )

    # ------------------------------------------------------------------------------------------------ what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Reads these partitions, and no others, without a group deciding about it."""
        if self._subscription is not None:
            raise IllegalStateError("A consumer either subscribes to topics or is assigned partitions.")
        self._read_exactly([TopicPartition(*each) for each in partitions])

    def assignment(self) -> set[TopicPartition]:
        with self._fetcher.changed:
            return set(self._fetcher.readings)

    def subscribe(
        self, topics: Sequence[str] = (), pattern: str | Pattern[str] | None = None, listener: Any = None
    ) -> None:
        """Reads topics, by name or by pattern, together with the other members of the group."""
        if self._subscription is None and self.assignment():
            raise IllegalStateError("A consumer either subscribes to topics or is assigned partitions.")
        if bool(topics) == (pattern is not None):
            raise IllegalArgumentError("Either topics or a pattern are needed, not both.")
        if isinstance(topics, str):
            topics = [topics]
        if self._rebalancer is None:
            self._subscription = set(topics)
            self._subscribe_alone(topics, pattern)
            return
        self._subscription = set(topics)
        self._rebalancer.subscribe(topics, pattern, listener)

    def _subscribe_alone(self, topics: Sequence[str], pattern: str | Pattern[str] | None) -> None:
        """Without a group everything is ours, also what comes later."""
        if pattern is not None:
            raise IllegalStateError("A subscription by pattern needs a group_id.")
        self._take_interest(set(topics))
        self._ask(_learn(list(topics)))
        self._take_everything(force=True)

    def _take_everything(self, *, force: bool = False) -> None:
        view, now = self._network.view, monotonic()
        missing = [name for name in self._subscription or () if not _partitions(view, name)]
        if missing and now >= self._ask_again_at:
            self._ask_again_at = now + self._network.backoff.limit / 2
            self._background.call(self._network.refresh)
        if view is self._seen and not force:
            return
        self._seen = view
        wanted = {
            TopicPartition(name, number) for name in self._subscription or () for number in _partitions(view, name)
        }
        if wanted != self.assignment():
            self._read_exactly(wanted)

    def subscription(self) -> set[str] | None:
        if self._rebalancer is not None and self._rebalancer.pattern is not None:
            return set(self._rebalancer.membership.topics)
        return None if self._subscription is None else set(self._subscription)

    def unsubscribe(self) -> None:
        self._leave_group()
        self._subscription = None
        self._read_exactly(())

    def _read_exactly(self, partitions: Iterable[TopicPartition]) -> None:
        wanted = set(partitions)
        with self._fetcher.changed:
            readings = self._fetcher.readings
            for where in [where for where in readings if where not in wanted]:
                del readings[where]
            for where in sorted(wanted):
                if where not in readings:
                    readings[where] = Reading(where)
            self._order = list(readings)
            self._ahead = {}
            self._iterator = None
            self._unasked = bool(readings)
        self._take_interest({where.topic for where in wanted})

    def _take_interest(self, topics: set[str]) -> None:
        """On the network's thread, which is the one that goes through them."""

        def take() -> None:
            self._network.topics_of_interest |= topics

        self._background.call(take)

    def pause(self, *partitions: TopicPartition) -> None:
        """No records of these partitions until `resume`; they stay ours."""
        for reading in self._readings(partitions):
            reading.paused = True

    def paused(self) -> set[TopicPartition]:
        with self._fetcher.changed:
            return {where for where, reading in self._fetcher.readings.items() if reading.paused}

    def resume(self, *partitions: TopicPartition) -> None:
        for reading in self._readings(partitions):
            reading.paused = False
        self._background.call(self._fetcher.pump)

    # ----------------------------------------------------------------------------------------------------- records

    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The next records by partition; waits up to `timeout_ms` for the first of them."""
        most = self._most(max_records)
        return self._poll(timeout_ms, lambda: take_records(self._fetcher, self._order, most))

    def _poll(self, timeout_ms: float, take: Callable[[], tuple[dict[TopicPartition, Any], bool]]) -> dict[Any, Any]:
        self._check_open()
        fetcher = self._fetcher
        deadline = monotonic() + max(0.0, timeout_ms) / 1000
        while True:
            self._do_duties(deadline)
            self._begin_reading()
            taken, drained = take()
            if drained:
                self._background.call(fetcher.pump)
            if taken:
                return taken
            with fetcher.changed:
                if fetcher.error is not None:
                    error, fetcher.error = fetcher.error, None
                    raise error
                remaining = deadline - monotonic()
                if remaining <= 0:
                    return {}
                if not any(reading.buffered and not reading.paused for reading in fetcher.readings.values()):
                    fetcher.changed.wait(min(remaining, _LOOK_AGAIN if fetcher.readings else _NOTHING_YET))

    def _begin_reading(self) -> None:
        if self._unasked:
            self._unasked = False
            if self._fetcher.need_positions():
                self._background.call(self._fetcher.pump)

    def poll_columns(self, timeout_ms: float = 0) -> dict[TopicPartition, Any]:
        """Like `poll`, with the records of each partition as columns in Arrow's memory layout, not as objects."""
        return self._poll(timeout_ms, lambda: take_columns(self._fetcher, self._order))

    def poll_arrow(self, timeout_ms: float = 0) -> dict[TopicPartition, Any]:
        """Like `poll`, with the records of each partition as one pyarrow.RecordBatch. Needs pyarrow."""
        from moldau.client.consumer.arrow import record_batch

        found = self.poll_columns(timeout_ms)
        return {where: record_batch(where, columns) for where, columns in found.items()}

    def _most(self, max_records: int | None) -> int:
        if max_records is not None and max_records < 1:
            raise IllegalArgumentError("max_records must be at least 1.")
        return int(self.config["max_poll_records"] if max_records is None else max_records)

    def _do_duties(self, deadline: float) -> None:
        if self._rebalancer is None or self._committer is None:
            if self._subscription is not None:
                self._take_everything()
            return
        if self._subscription is not None:
            self._rebalancer.ensure(deadline)
        if self.config["enable_auto_commit"]:
            self._committer.commit_now_and_then(self.config["auto_commit_interval_ms"] / 1000)

    def __iter__(self) -> KafkaConsumer:
        return self

    def __next__(self) -> ConsumerRecord:
        if self._iterator is None:
            self._iterator = self._one_by_one()
        try:
            return next(self._iterator)
        except StopIteration:
            self._iterator = None
            raise

    def _one_by_one(self) -> Iterator[ConsumerRecord]:
        """Positions move record by record here: what was not handed out yet is not committed either."""
        timeout = self.config["consumer_timeout_ms"]
        while not self._closed:
            found = self.poll(min(timeout, 1e9))
            if not found:
                if timeout == float("inf"):
                    continue
                return
            ahead = self._ahead
            for where, records in found.items():
                ahead[where] = records[0].offset
            for where, records in found.items():
                for record in records:
                    ahead[where] = record.offset + 1
                    yield record
                ahead.pop(where, None)

    # ----------------------------------------------------------------------------------------------------- commits

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, timeout_ms: float | None = None
    ) -> None:
        """Commits what was handed out so far, or the given offsets; returns when the group remembers."""
        timeout = self._timeout if timeout_ms is None else timeout_ms / 1000
        self._committing().commit(offsets, timeout)

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, callback: Any = None
    ) -> Future:
        """The same without waiting; `callback(offsets, response or exception)` runs on the network's thread."""
        return self._committing().commit_async(offsets, callback or self.config["default_offset_commit_callback"])

    def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: float | None = None
    ) -> int | OffsetAndMetadata | None:
        """What the group has committed for a partition; None if nothing."""
        self._committing()
        assert self._group is not None
        where = TopicPartition(*partition)
        found = self._ask(self._group.fetch([where]), timeout_ms).get(where)
        return found if metadata or found is None else found.offset

    def group_metadata(self) -> ConsumerGroupMetadata:
        if self._rebalancer is None:
            return ConsumerGroupMetadata()
        membership = self._rebalancer.membership
        state = MemberState.STABLE if membership.stable else MemberState.REBALANCING
        if membership.generation < 0:
            state = MemberState.UNJOINED
        me = membership.membership
        return ConsumerGroupMetadata(self.config["group_id"], me.generation, me.member_id, me.instance_id, state)

    def _committing(self) -> Committer:
        self._check_open()
        if self._committer is None:
            raise KafkaConfigurationError("A consumer without a group_id has nowhere to commit offsets.")
        return self._committer

    def _consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where the application is: after the last record that was handed out."""
        with self._fetcher.changed:
            return {
                where: OffsetAndMetadata(self._ahead.get(where, reading.position), "", reading.position_epoch)
                for where, reading in self._fetcher.readings.items()
                if reading.position is not None
            }

    def _commit_before_revoking(self) -> None:
        if self.config["enable_auto_commit"] and self._committer is not None:
            self._committer.commit_quietly(self._timeout)

    # ------------------------------------------------------------------------------------------------------- topics

    def topics(self) -> set[str]:
        """All topics of the cluster that this consumer may see."""
        view = self._ask(_learn(None))
        return {name for name, topic in view.topics.items() if not topic.internal}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """None if there is no such topic."""
        view = self._ask(_learn([topic]))
        found = view.topics.get(topic)
        return set(found.partitions) if found is not None and found.partitions else None

    # --------------------------------------------------------------------------------------------------- the ends

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Commits (if that is automatic), leaves the group, ends the network's thread."""
        if self._closed:
            return
        try:
            self._leave_group(autocommit=autocommit, timeout_ms=timeout_ms)
        except KafkaError:
            pass  # whoever closes wants to go; the group notices by itself
        self._closed = True

        def last() -> None:
            self._fetcher.close()
            self._network.close()

        self._background.close(last)

    def _leave_group(self, *, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        if self._rebalancer is None or self._subscription is None:
            if self._rebalancer is not None and autocommit:
                self._commit_before_revoking()
            return
        membership = self._rebalancer.membership
        timeout = min(5.0, self._timeout if timeout_ms is None else timeout_ms / 1000)
        if autocommit:
            self._rebalancer.leave()
        self._background.call(membership.close)
        self._background.run(self._network, membership.leave(), timeout)

    def bootstrap_connected(self) -> bool:
        return self._network.connected

    def metrics(self, raw: bool = False) -> dict[str, dict[str, float]]:
        """What was done so far, under Kafka's names."""
        counters = self._fetcher.counters
        return {
            "consumer-fetch-manager-metrics": {
                "fetch-total": counters.fetches,
                "bytes-consumed-total": counters.bytes,
                "records-consumed-total": counters.records,
                "fetch-size-avg": counters.bytes / counters.fetches if counters.fetches else 0.0,
            }
        }

    def __enter__(self) -> KafkaConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close(autocommit=False, timeout_ms=1000)

    # ------------------------------------------------------------------------------------------------------- inside

    @property
    def _timeout(self) -> float:
        return float(self.config["request_timeout_ms"]) / 1000

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateError("The consumer is closed.")

    def _readings(self, partitions: Iterable[TopicPartition]) -> list[Reading]:
        self._check_open()
        found = []
        with self._fetcher.changed:
            for where in partitions:
                reading = self._fetcher.readings.get(TopicPartition(*where))
                if reading is None:
                    raise IllegalStateError(f"{where} is not assigned to this consumer.")
                found.append(reading)
        return found

    def _nudge(self) -> None:
        with self._fetcher.changed:
            self._fetcher.changed.notify_all()

    def _ask(self, conversation: Conversation[T], timeout_ms: float | None = None) -> T:
        self._check_open()
        timeout = self._timeout if timeout_ms is None else timeout_ms / 1000
        try:
            return self._background.run(self._network, conversation, timeout)
        except MoldauError as error:
            raise named(error) from None


def _learn(topics: Sequence[str] | None) -> Conversation[ClusterView]:
    view: ClusterView = yield Learn(topics, anew=True)
    return view


def _partitions(view: ClusterView, topic: str) -> Sequence[int]:
    known = view.topics.get(topic)
    return sorted(known.partitions) if known is not None else ()
