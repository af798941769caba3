"""`KafkaConsumer`: kafka-python's class, on our core. For one thread at a time, as there.

It holds its parts: what was fetched (`FetchBuffer`), `Positions`, `Commits`, its membership in a group (`Rebalancer`).
Here is what ties them together: subscribing, polling with its duties, and the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from re import Pattern
from time import monotonic
from types import TracebackType
from typing import Any, ClassVar
from weakref import ref

from moldau.client.consumer.columns import ColumnReader
from moldau.client.consumer.commits import Commits
from moldau.client.consumer.counters import measured
from moldau.client.consumer.fetch_buffer import FetchBuffer
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.consumer.fetcher import Fetcher
from moldau.client.consumer.interceptors import Interceptors
from moldau.client.consumer.membership import LEAVING, ClassicMembership
from moldau.client.consumer.position_finder import PositionFinder
from moldau.client.consumer.positions import Positions
from moldau.client.consumer.rebalancing import Rebalancer
from moldau.client.consumer.reconciliation import ConsumerMembership
from moldau.client.consumer.settings import DEFAULTS, fetch_options, group_options, read_settings
from moldau.client.consumer.subscription import Subscription, check_subscription
from moldau.client.conversation import Conversation, Learn
from moldau.client.metadata import ClusterView
from moldau.client.session import Session, delegated
from moldau.client.settings import COMMON, find_cluster
from moldau.errors import KafkaError
from moldau.errors.named import IllegalArgumentError, IllegalStateError
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.client")

# How long one wait lasts at most: group duties and time-outs are looked at in between.
_LOOK_AGAIN = 0.5
# The same while there is nothing to read: a topic may appear at any moment.
_NOTHING_YET = 0.05


class KafkaConsumer:
    """Topics given to it are subscribed to. See `consumer/settings` for what it can be told."""

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = {**COMMON, **DEFAULTS}

    def __init__(self, *topics: str, **configs: Any) -> None:
        self.config = read_settings(configs)
        self._interceptors = Interceptors(self.config["interceptors"])
        self._session = Session(self.config, "consumer", "consumer")
        self._background, self._network = self._session.background, self._session.network
        self._fetcher = Fetcher(self._network, fetch_options(self.config))
        self._buffer = FetchBuffer(self._session, self._fetcher)
        self._positions = Positions(self._session, self._buffer)
        self._subscription = Subscription(exclude_internal=self.config["exclude_internal_topics"])
        self._network.watch(self._subscription.look_at)
        self._network.creates_topics = bool(self.config["allow_auto_create_topics"])
        self._seen: ClusterView | None = None
        self._ask_again_at = 0.0
        membership = None if self.config["group_id"] is None else self._new_membership()
        self._commits = Commits(self._session, self._buffer, membership, self._interceptors)
        self._rebalancer: Rebalancer | None = None
        if membership is not None:
            self._rebalancer = Rebalancer(
                self._background,
                self._network,
                membership,
                self._subscription,
                self._read_exactly,
                self._commits.before_revoking,
            )
        PositionFinder(self._fetcher, self._commits.group, self._session.timeout)
        self._background.in_child(partial(_disown, ref(self._buffer)))
        self._session.open()
        if topics:
            self.subscribe(topics)

    def _new_membership(self) -> ClassicMembership:
        kind = ConsumerMembership if self.config["group_protocol"] == "consumer" else ClassicMembership
        # The loop holds it, and so must not hold us by it: a consumer that nobody wants any more ends by itself.
        return kind(self._network, group_options(self.config), partial(_nudge, self._fetcher))

    seek = delegated("_positions", Positions.seek)
    seek_to_beginning = delegated("_positions", Positions.seek_to_beginning)
    seek_to_end = delegated("_positions", Positions.seek_to_end)
    seek_to_time = delegated("_positions", Positions.seek_to_time)
    position = delegated("_positions", Positions.position)
    highwater = delegated("_positions", Positions.highwater)
    last_stable_offset = delegated("_positions", Positions.last_stable_offset)
    last_poll_timestamp = delegated("_positions", Positions.last_poll_timestamp)
    beginning_offsets = delegated("_positions", Positions.beginning_offsets)
    end_offsets = delegated("_positions", Positions.end_offsets)
    offsets_for_times = delegated("_positions", Positions.offsets_for_times)

    commit = delegated("_commits", Commits.commit)
    commit_async = delegated("_commits", Commits.commit_async)
    committed = delegated("_commits", Commits.committed)
    group_metadata = delegated("_commits", Commits.group_metadata)

    poll_columns = delegated("_columns", ColumnReader.poll_columns)
    poll_arrow = delegated("_columns", ColumnReader.poll_arrow)
    to_arrow = delegated("_columns", ColumnReader.to_arrow)

    @property
    def _columns(self) -> ColumnReader:
        """Made when it is wanted: one that is held would hold its consumer, which then never ends by itself."""
        return ColumnReader(self._session, self._buffer, self._positions, self._poll)

    assignment = delegated("_buffer", FetchBuffer.assignment)
    paused = delegated("_buffer", FetchBuffer.paused)

    # ------------------------------------------------------------------------------------------------ what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Reads these partitions, and no others, without a group deciding about it."""
        self._background.check_process()
        if self._subscription.names is not None:
            raise IllegalStateError("A consumer either subscribes to topics or is assigned partitions.")
        self._read_exactly([TopicPartition(*each) for each in partitions])

    def subscribe(
        self, topics: Sequence[str] = (), pattern: str | Pattern[str] | None = None, listener: Any = None
    ) -> None:
        """Reads topics, by name or by pattern, together with the other members of the group."""
        self._session.check_open()
        check_subscription(topics, pattern, listener)
        if self._subscription.names is None and self.assignment():
            raise IllegalStateError("A consumer either subscribes to topics or is assigned partitions.")
        self._subscription.begin(topics, pattern, self._network.view)
        self._take_interest(set(topics), everything=pattern is not None)
        if self._rebalancer is None:
            # Without a group everything is ours, also what comes later.
            view = self._session.ask(
                _learn(list(topics) if pattern is None else None, create=self._network.creates_topics)
            )
            self._subscription.began_with(view)
            self._take_everything(force=True)
        else:
            self._rebalancer.subscribe(listener)

    def _take_everything(self, *, force: bool = False) -> None:
        view = self._network.view
        if view is self._seen and not force:
            return
        self._seen = view
        wanted = {
            TopicPartition(name, number)
            for name in self._subscription.names or ()
            for number in _partitions(view, name)
        }
        if wanted != self.assignment():
            self._read_exactly(wanted)

    def _look_for_missing(self) -> None:
        """A topic may appear at any moment; nobody tells unless asked."""
        now = monotonic()
        if now >= self._ask_again_at:
            self._ask_again_at = now + self._network.backoff.limit / 2
            if self._subscription.missing(self._network.view):
                self._background.call(self._network.refresh)

    def subscription(self) -> set[str] | None:
        names = self._subscription.names
        return None if names is None else set(names)

    def unsubscribe(self) -> None:
        self._background.check_process()
        try:
            if not self._session.closed:
                self._leave_group()
        finally:  # whatever the listener or the group said, nothing is read any more
            if self._subscription.names is not None:
                if self._rebalancer is not None and not self._session.closed:
                    self._background.begin(self._rebalancer.membership.end)  # Ctrl-C may have come before
                self._become_another_member()
            self._subscription.end()
            self._read_exactly(())

    def _become_another_member(self) -> None:
        """Once it subscribes again; until then nobody is one."""
        if self._rebalancer is not None and self._commits.committer is not None:
            self._rebalancer.begin_anew(self._new_membership())
            self._commits.committer.membership = self._rebalancer.membership

    def _read_exactly(self, partitions: Iterable[TopicPartition]) -> None:
        wanted = set(partitions)
        with self._fetcher.changed:
            new = self._buffer.new_of(wanted)
            self._buffer.read_exactly(wanted, self._subscription.appeared({where.topic for where in new}))
        self._take_interest({where.topic for where in wanted})

    def _take_interest(self, topics: set[str], *, everything: bool | None = None) -> None:
        """On the network's thread, which is the one that goes through them."""

        def take() -> None:
            self._network.topics_of_interest |= topics
            if everything is not None:
                self._network.interested_in_all = everything

        self._background.call(take)

    def pause(self, *partitions: TopicPartition) -> None:
        """No records of these partitions until `resume`; they stay ours."""
        for reading in self._buffer.readings(partitions):
            reading.paused = True
        self._buffer.give_back()

    def resume(self, *partitions: TopicPartition) -> None:
        for reading in self._buffer.readings(partitions):
            reading.paused = False
        self._background.call(self._fetcher.pump)

    # ----------------------------------------------------------------------------------------------------- records

    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The next records by partition; waits up to `timeout_ms` for the first of them. Without `update_offsets` they
        are only looked at: positions stay, and the next poll begins with the same records."""
        most = self._most(max_records)
        found = self._poll(timeout_ms, lambda: self._buffer.records(most))
        found = self._interceptors.on_consume(found, self._buffer.again)
        if not update_offsets:
            self._buffer.hold(found)
        return found

    def _poll(self, timeout_ms: float, take: Callable[[], dict[TopicPartition, Any]]) -> dict[Any, Any]:
        self._session.check_open()
        if timeout_ms < 0:
            raise IllegalArgumentError("timeout_ms is a time to wait, so it cannot be below 0.")
        fetcher = self._fetcher
        deadline = monotonic() + timeout_ms / 1000
        if self._buffer.held:
            self._buffer.give_back()
        while True:
            self._do_duties(deadline)
            self._buffer.begin_reading()
            # What was read is still being committed: more of it would be read by the next one again.
            revoking = self._rebalancer is not None and self._rebalancer.revoking
            taken = {} if revoking else take()
            if taken:
                return taken
            with fetcher.changed:
                error = self._buffer.take_error()
                if error is not None:
                    raise error
                remaining = deadline - monotonic()
                if remaining <= 0:
                    return {}
                if self._buffer.has_some():
                    continue
                change = fetcher.changed.ticket()
                longest = _LOOK_AGAIN if fetcher.readings else _NOTHING_YET
            change.wait(min(remaining, longest))

    def _attend(self, deadline: float, polled_at: float) -> None:
        """The duties of `poll` without taking anything, for whoever takes records on another thread."""
        self._do_duties(deadline, polled_at)
        self._buffer.begin_reading()

    def _has_news(self) -> bool:
        return self._has_news_of(())

    def _has_news_of(self, partitions: Sequence[TopicPartition]) -> bool:
        """Whether there is something to take, of these partitions or of any, or to raise."""
        if self._rebalancer is not None and self._rebalancer.revoking:
            return False
        return self._fetcher.error is not None or self._buffer.has_some(partitions)

    def _ready_to_read(self) -> bool:
        """Whether there is a share of the work, and it is known where it begins (or who knows better)."""
        if self._rebalancer is not None and self._subscription.names is not None and not self._rebalancer.settled:
            return False
        with self._fetcher.changed:
            return self._fetcher.error is not None or all(
                reading.position is not None for reading in self._fetcher.readings.values()
            )

    def _take(self, partitions: Sequence[TopicPartition], most: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        """What is there of these partitions, or of all; raises what a poll would raise."""
        if self._rebalancer is not None and self._rebalancer.revoking:
            return {}
        taken = self._buffer.records(most, partitions)
        if not taken:
            error = self._buffer.take_error()
            if error is not None:
                raise error
        return taken

    def _most(self, max_records: int | None) -> int:
        if max_records is not None and not isinstance(max_records, int):
            raise TypeError(f"max_records is a whole number, not {max_records!r}")
        if max_records is not None and max_records < 1:
            raise IllegalArgumentError("max_records must be at least 1.")
        return int(self.config["max_poll_records"] if max_records is None else max_records)

    def _do_duties(self, deadline: float, polled_at: float | None = None) -> None:
        subscribed = self._subscription.names is not None
        if subscribed:
            self._look_for_missing()
        if self._rebalancer is None:
            if subscribed:
                self._take_everything()
            return
        self._commits.tell()
        if subscribed:
            if self._rebalancer.membership.closed:
                self._become_another_member()  # Ctrl-C came between its end and this
            self._rebalancer.ensure(deadline, polled_at)
        self._commits.commit_now_and_then()

    def __iter__(self) -> KafkaConsumer:
        return self

    def __next__(self) -> ConsumerRecord:
        iterator = self._buffer.iterator or self._one_by_one()
        try:
            record = next(iterator)
        except BaseException:
            # After an error it has ended as well, but the records have not.
            self._buffer.iterator = None
            raise
        # Also where its own poll brought partitions, which ends iterators: what that poll found is still in this one.
        self._buffer.iterator = iterator
        return record

    def _one_by_one(self) -> Iterator[ConsumerRecord]:
        """Positions move record by record here: what was not handed out yet is not committed either."""
        timeout = self.config["consumer_timeout_ms"]
        while not self._session.closed:
            found = self.poll(min(timeout, 1e9), update_offsets=False)
            if not found:
                if timeout == float("inf"):
                    continue
                return
            ahead, held = self._buffer.ahead, self._buffer.held
            for where in found:
                records = held[where]
                while records:
                    record = records.popleft()
                    ahead[where] = record.offset + 1
                    yield record
                del ahead[where], held[where]

    # ------------------------------------------------------------------------------------------------------- topics

    def topics(self) -> set[str]:
        """All topics of the cluster that this consumer may see."""
        view = self._session.ask(_learn(None))
        return {name for name, topic in view.topics.items() if not topic.internal}

    def partitions_for_topic(self, topic: str) -> set[int]:
        """Empty if there is no such topic."""
        if not isinstance(topic, str):
            raise TypeError(f"a topic is named by a str, not {type(topic).__name__}")
        view = self._session.ask(_learn([topic]))
        found = view.topics.get(topic)
        return set(found.partitions) if found is not None else set()

    # --------------------------------------------------------------------------------------------------- the ends

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Commits (if that is automatic), leaves the group, ends the network's thread. Commits that are still on their
        way are waited for, and their callbacks run."""
        if self._session.closed:
            return
        if self._background.forked:
            self._session.closed = True  # the parent's, and so is its place in the group
            return
        try:
            self._commits.finish(None if timeout_ms is None else timeout_ms / 1000)
            self._leave_group(autocommit=autocommit)
        except KafkaError:
            pass  # whoever closes wants to go; the group notices by itself
        except Exception:
            logger.exception("the listener of %s failed while the consumer was closed", self.config["group_id"])
        finally:
            self._end()  # after Ctrl-C, too: nothing is left behind

    def _end(self) -> None:
        self._session.closed = True

        def last() -> None:
            self._fetcher.close()
            self._network.close()

        self._background.close(last)
        self._commits.give_up()
        self._interceptors.close()
        for name in ("key_deserializer", "value_deserializer"):
            if hasattr(self.config[name], "deserialize") and hasattr(self.config[name], "close"):
                self.config[name].close()

    def _leave_group(self, *, autocommit: bool = True) -> None:
        if self._rebalancer is None or self._subscription.names is None:
            if self._rebalancer is not None and autocommit:
                self._commits.before_revoking()
            return
        membership = self._rebalancer.membership
        try:
            if autocommit:
                self._rebalancer.leave()
        finally:  # a listener that fails does not keep the partitions from the others
            ending = self._background.begin(membership.end)
            with suppress(KafkaError):  # the group notices by itself
                ending.wait(min(LEAVING, self._commits.time_left()))

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = False) -> None:
        """The cluster is known since the consumer was made; `refresh` asks for it anew."""
        if refresh:
            self._session.ask(find_cluster(), timeout_ms)

    def bootstrap_connected(self) -> bool:
        return self._network.connected

    def metrics(self, raw: bool = False) -> dict[str, dict[str, float]]:
        """What was done so far, under Kafka's names."""
        return measured(self._fetcher, self._rebalancer, self._commits.committer)

    def __enter__(self) -> KafkaConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Nobody knows whether the record in work was done with when an exception came out of it: it is read again.
        self.close(autocommit=kind is None)

    def __del__(self) -> None:
        if not hasattr(self, "_session") or self._session.closed:
            return
        if self._background.on_thread:
            self._end()  # the collector came by there, where nothing can be waited for
        else:
            self.close(autocommit=False, timeout_ms=1000)

    def _nudge(self) -> None:
        _nudge(self._fetcher)


def _disown(buffer: ref[FetchBuffer]) -> None:
    """In the child of a fork: what an iterator still has belongs to the parent."""
    found = buffer()
    if found is not None:
        found.iterator = None


def _nudge(fetcher: Fetcher) -> None:
    """Whoever waits for records looks again."""
    with fetcher.changed:
        fetcher.changed.notify_all()


def _learn(topics: Sequence[str] | None, *, create: bool = False) -> Conversation[ClusterView]:
    view: ClusterView = yield Learn(topics, anew=True, create=create and topics is not None)
    return view


def _partitions(view: ClusterView, topic: str) -> Iterable[int]:
    known = view.topics.get(topic)
    return known.partitions if known is not None else ()
