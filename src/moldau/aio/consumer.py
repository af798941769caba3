"""`AIOKafkaConsumer`: aiokafka's class, on our core.

The group lives on a thread of its own (`poller`), from `start` on and whatever the event loop does. Records are taken
on the event loop, out of what was fetched ahead; so a wait that is cancelled loses none, and positions and commits
count what was taken.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from re import Pattern
from time import monotonic
from types import TracebackType
from typing import Any, Final

from moldau.aio.bridge import Worker, log_failure, unsecured
from moldau.aio.listeners import LISTENER_LIMIT, Listeners, OnLoop
from moldau.aio.poller import Poller
from moldau.client.consumer.face import KafkaConsumer
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.consumer.interceptors import Interceptors
from moldau.client.consumer.subscription import check_subscription
from moldau.client.structs import OffsetAndMetadata, OffsetAndTimestamp
from moldau.errors.named import ConsumerStoppedError, IllegalOperation, IllegalStateError
from moldau.types import TopicPartition

_DEFAULTS: Final = {
    "request_timeout_ms": 40_000,
    "bootstrap_timeout_ms": 5000,
}

# Of groups whose members agree among themselves.
_CLASSIC_DEFAULTS: Final = {"session_timeout_ms": 10_000, "partition_assignment_strategy": ("roundrobin",)}

# As many records as there are, where nothing else is said.
_EVERYTHING: Final = 1 << 30


class AIOKafkaConsumer:
    """Settings as for `KafkaConsumer`. `loop` is taken and not needed."""

    def __init__(self, *topics: str, loop: asyncio.AbstractEventLoop | None = None, **settings: Any) -> None:
        unsecured(settings)
        settings.pop("rebalance_timeout_ms", None)
        settings.pop("consumer_timeout_ms", None)
        given = {name: value for name, value in settings.items() if value is not None}
        classic = given.get("group_protocol", "classic") == "classic"
        self._settings = {**_DEFAULTS, **(_CLASSIC_DEFAULTS if classic else {}), **given}
        self._listeners = Listeners(self._settings.get("max_poll_interval_ms", 0) / 1000)
        self._interceptors = Interceptors(given.get("interceptors", ()))
        # Within the consumer they see commits only; records are taken here, and shown to them here.
        self._settings["interceptors"] = [
            OnLoop(self._listeners, each, ("on_commit", "close")) for each in self._interceptors.each
        ]
        self._wish: tuple[str, tuple[Any, ...]] | None = None
        self._consumer: KafkaConsumer | None = None
        self._worker: Worker | None = None
        self._poller: Poller | None = None
        self._changing: Future[Any] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._stopping: asyncio.Task[None] | None = None
        if topics:
            self.subscribe(topics)

    # -------------------------------------------------------------------------------------------------- the life

    async def start(self) -> None:
        """Connects; with a subscription also joins the group and waits for a share of the work and where it begins.
        Whatever is written from now on is read."""
        if self._consumer is not None:
            return
        self._stopping = None
        self._listeners.loop = asyncio.get_running_loop()
        worker = self._worker = Worker("moldau-aio-consumer")
        try:
            self._consumer = consumer = await worker.open(lambda: KafkaConsumer(**self._settings))
            if self._wish is not None:
                what, arguments = self._wish
                await worker.run(getattr(consumer, what), *arguments)
            self._poller = Poller(consumer, self._listeners.loop, self._wake)
            self._poller.start()
            await self._wait_for(consumer._ready_to_read)
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Nobody waits for the end of what could not begin: who was cancelled wants to go on at once."""
        worker, consumer, poller = self._worker, self._consumer, self._poller
        self._worker = self._consumer = self._poller = None
        if worker is not None:
            if consumer is not None:
                worker.begin(_end, poller, consumer)
            worker.close()

    async def stop(self) -> None:
        """Commits (if that is automatic), leaves the group, disconnects."""
        if self._stopping is None:
            if self._worker is None:
                return
            if self._worker.forked:
                self._consumer = self._worker = self._poller = None  # the parent's, and so is its place in the group
                return
            self._stopping = asyncio.get_running_loop().create_task(self._stop())
        if not self._listeners.in_one:  # the end waits for listeners, not they for it
            await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        worker, consumer, poller = self._worker, self._consumer, self._poller
        self._wake()
        if worker is not None and consumer is not None:
            await worker.run(_end, poller, consumer)
        self._consumer = self._worker = self._poller = None
        self._wake()
        if worker is not None:
            worker.close()

    # ----------------------------------------------------------------------------------------------- what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self._check_mode(assigns=True)
        self._set("assign", list(partitions))

    def _check_mode(self, *, assigns: bool) -> None:
        """Here, because what is done between two rounds can tell nobody."""
        if self._consumer is None:
            assigned = self._wish is not None and self._wish[0] == "assign"
            subscribed = self._wish is not None and not assigned
        else:
            subscribed = not self._pending and self._consumer.subscription() is not None
            assigned = not self._pending and not subscribed and bool(self._consumer.assignment())
        if subscribed if assigns else assigned:
            raise IllegalStateError("A consumer either subscribes to topics or is assigned partitions.")

    def subscribe(
        self, topics: Sequence[str] = (), pattern: str | Pattern[str] | None = None, listener: Any = None
    ) -> None:
        """The listener's methods may be coroutines; they are awaited on the event loop, and may await this consumer."""
        if bool(topics) is (pattern is not None):
            raise TypeError("either topics or a pattern are needed, and not both")
        check_subscription(topics, pattern, listener)
        try:
            pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no pattern: {error}") from None
        self._check_mode(assigns=False)
        hooks = ("on_partitions_revoked", "on_partitions_assigned", "on_partitions_lost")
        self._set("subscribe", topics, pattern, None if listener is None else OnLoop(self._listeners, listener, hooks))

    def _set(self, what: str, *arguments: Any) -> None:
        consumer, poller = self._consumer, self._poller
        if consumer is None or poller is None:
            self._wish = (what, arguments)
        elif self._pending or (what == "subscribe" and consumer.config["group_id"] is None):
            # Behind what is being done already, or because a broker is asked.
            self._begin(lambda: getattr(consumer, what)(*arguments))
        else:
            getattr(consumer, what)(*arguments)
            consumer._nudge()

    def unsubscribe(self) -> None:
        """Leaves the group, behind the back of the event loop: listeners may be coroutines that run there."""
        self._begin(self._started().unsubscribe)

    def _begin(self, change: Callable[[], Any]) -> None:
        assert self._poller is not None
        self._changing = self._poller.do(change)
        self._changing.add_done_callback(log_failure)

    @property
    def _pending(self) -> bool:
        return self._changing is not None and not self._changing.done()

    def assignment(self) -> frozenset[TopicPartition]:
        if self._consumer is None or self._pending:
            return frozenset()
        return frozenset(self._consumer.assignment())

    def subscription(self) -> frozenset[str]:
        if self._consumer is None:
            what, arguments = self._wish or ("", ())
            return frozenset(arguments[0] if what == "subscribe" else ())
        if self._pending:
            return frozenset()
        names = self._consumer.subscription()
        # As there, also the topics of what was assigned.
        return frozenset(where.topic for where in self._consumer.assignment()) if names is None else frozenset(names)

    def pause(self, *partitions: TopicPartition) -> None:
        self._started().pause(*partitions)

    def paused(self) -> set[TopicPartition]:
        return self._started().paused()

    def resume(self, *partitions: TopicPartition) -> None:
        self._started().resume(*partitions)

    # ---------------------------------------------------------------------------------------------------- records

    async def getone(self, *partitions: TopicPartition) -> ConsumerRecord:
        """The next record, of these partitions if some are named; waits for it."""
        while True:
            found = await self._take(partitions, 1, None)
            for records in found.values():
                for record in records:
                    return record

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """What is there by partition; waits up to `timeout_ms` for the first, or until the consumer is stopped."""
        if max_records is not None and (not isinstance(max_records, int) or max_records < 1):
            raise ValueError(f"max_records must be a whole number from 1 on, not {max_records!r}")
        limit = self._settings.get("max_poll_records") if max_records is None else max_records
        most = _EVERYTHING if limit is None else self._started()._most(limit)
        return await self._take(partitions, most, monotonic() + timeout_ms / 1000)

    async def _take(
        self, partitions: Sequence[TopicPartition], most: int, deadline: float | None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        while True:
            consumer, poller = self._started(), self._poller
            assert poller is not None
            poller.asked_at = monotonic()
            # What was given up is not read on while that is being done.
            found = {} if self._pending else consumer._take(partitions, most)
            if found:
                return await self._interceptors.on_consume_awaited(found) if self._interceptors.each else found
            if poller.error is not None:
                error, poller.error = poller.error, None
                raise error
            if deadline is not None and monotonic() >= deadline:
                return found
            await self._news(partial(self._has_news, consumer, partitions), deadline)
            if deadline is not None and self._stopping is not None:
                return found

    def _has_news(self, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]) -> bool:
        return not self._pending and consumer._has_news_of(partitions)

    async def _wait_for(self, condition: Callable[[], bool]) -> None:
        """Until it is true as the poller goes its rounds; raises what goes wrong in them."""
        while not condition():
            poller = self._poller
            assert poller is not None
            if poller.error is not None:
                error, poller.error = poller.error, None
                raise error
            await self._news(condition, None)

    async def _news(self, there: Callable[[], bool], deadline: float | None) -> None:
        """Waits to be woken, unless what is waited for is there already."""
        poller = self._poller
        if poller is None:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        poller.waiting += 1
        try:
            if not there():
                await asyncio.wait((waiter,), timeout=None if deadline is None else max(0.0, deadline - monotonic()))
        finally:
            poller.waiting -= 1
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, Any]:
        """As `KafkaConsumer.poll_arrow`: one pyarrow.RecordBatch per partition, without an object per record."""
        return await self._between_rounds("poll_arrow", timeout_ms, max_records)  # type: ignore[no-any-return]

    async def to_arrow(self, timeout_ms: float | None = None, max_records: int | None = None) -> Any:
        """As `KafkaConsumer.to_arrow`: everything up to the ends of this moment as one pyarrow.Table."""
        return await self._between_rounds("to_arrow", timeout_ms, max_records)

    async def _between_rounds(self, method: str, *arguments: Any) -> Any:
        """These do the duties of a round by themselves, so no other must be under way."""
        consumer, poller = self._started(), self._poller
        assert poller is not None
        return await asyncio.shield(asyncio.wrap_future(poller.do(lambda: getattr(consumer, method)(*arguments))))

    def __aiter__(self) -> AIOKafkaConsumer:
        self._started()
        return self

    async def __anext__(self) -> ConsumerRecord:
        try:
            return await self.getone()
        except ConsumerStoppedError:
            raise StopAsyncIteration from None

    # -------------------------------------------------------------------------------------------------- positions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._started().seek(partition, offset)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> bool:
        return await self._seek("seek_to_beginning", partitions)

    async def seek_to_end(self, *partitions: TopicPartition) -> bool:
        return await self._seek("seek_to_end", partitions)

    async def _seek(self, method: str, partitions: Sequence[TopicPartition]) -> bool:
        """Returns when the place is known: what is written after that is not passed over."""
        chosen = partitions or tuple(self.assignment())
        getattr(self._started(), method)(*chosen)
        for where in chosen:
            await self._run("position", where)
        return True

    async def seek_to_committed(self, *partitions: TopicPartition) -> dict[TopicPartition, int | None]:
        found: dict[TopicPartition, int | None] = {}
        chosen = partitions or tuple(self.assignment())
        if not chosen:
            raise ValueError("no partitions are assigned, and so there is none to move in")
        self._started()._buffer.readings(chosen)
        for where in chosen:
            found[where] = await self.committed(where)
            if found[where] is not None:
                self.seek(where, found[where] or 0)
        return found

    async def position(self, partition: TopicPartition) -> int:
        found: int = await self._run("position", partition)
        return found

    def highwater(self, partition: TopicPartition) -> int | None:
        return self._started().highwater(partition)

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        return self._started().last_stable_offset(partition)

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        return self._started().last_poll_timestamp(partition)

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = await self._run("beginning_offsets", list(partitions))
        return found

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = await self._run("end_offsets", list(partitions))
        return found

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        found: dict[TopicPartition, OffsetAndTimestamp | None] = await self._run("offsets_for_times", timestamps)
        return found

    # ------------------------------------------------------------------------------------------ commits and topics

    async def commit(self, offsets: Mapping[TopicPartition, Any] | None = None) -> None:
        """What was taken so far, or the given offsets: numbers, or pairs of number and metadata."""
        self._check_group()
        given = None if offsets is None else _offsets_to_commit(offsets)
        self._started()._buffer.readings(given or ())
        await self._run("commit", given)

    async def committed(self, partition: TopicPartition) -> int | None:
        self._check_group()
        found: int | None = await self._run("committed", partition)
        return found

    async def topics(self) -> set[str]:
        found: set[str] = await self._run("topics")
        return found

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """What is known of a topic at this moment."""
        known = self._started()._network.view.topics.get(topic)
        return set(known.partitions) if known is not None and known.partitions else None

    # -------------------------------------------------------------------------------------------------------- inside

    async def __aenter__(self) -> AIOKafkaConsumer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _started(self) -> KafkaConsumer:
        if self._consumer is None or self._poller is None:
            raise ConsumerStoppedError("The consumer is not started.")
        if self._stopping is not None and not self._listeners.under_way:
            raise ConsumerStoppedError("The consumer was stopped.")
        self._consumer._background.check_process()
        return self._consumer

    def _check_group(self) -> None:
        if self._started().config["group_id"] is None:
            raise IllegalOperation("A consumer without a group_id has no committed offsets.")

    async def _run(self, method: str, *arguments: Any) -> Any:
        consumer = self._started()
        assert self._worker is not None
        return await self._worker.run(getattr(consumer, method), *arguments)


def _end(poller: Poller | None, consumer: KafkaConsumer) -> None:
    if poller is not None:
        poller.stop(LISTENER_LIMIT)
    consumer.close()


def _offsets_to_commit(offsets: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    """ValueError for whatever is not numbers, or pairs of number and text, by partition."""
    found: dict[TopicPartition, OffsetAndMetadata] = {}
    for where, each in offsets.items() if isinstance(offsets, Mapping) else ():
        offset, metadata, *_ = (each, "") if isinstance(each, int) else each if len(each) > 1 else (None, None)
        if isinstance(offset, int) and isinstance(metadata, str):
            found[TopicPartition(*where)] = OffsetAndMetadata(offset, metadata)
    if not found or len(found) < len(offsets):
        raise ValueError(f"offsets are numbers, or pairs of number and text, by partition, not {offsets!r}")
    return found
