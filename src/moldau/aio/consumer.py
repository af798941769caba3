"""`AIOKafkaConsumer`: aiokafka's class, on our core.

The consumer polls on a thread of its own when somebody waits for records, and puts them into a buffer; a coroutine that
is cancelled while it waits loses none of them. Positions and commits count what was taken out of the buffer.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from re import Pattern
from time import monotonic
from types import TracebackType
from typing import Any

from moldau.aio.bridge import Worker, unsecured
from moldau.client.consumer.face import KafkaConsumer
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.structs import OffsetAndMetadata, OffsetAndTimestamp
from moldau.errors.named import IllegalStateError
from moldau.types import TopicPartition

# One wait of the polling thread: a stop or a seek has to wait for it at most this long.
_SLICE_MS = 200

_DEFAULTS = {"session_timeout_ms": 10_000, "partition_assignment_strategy": ("roundrobin",), "max_poll_records": 500}


class AIOKafkaConsumer:
    """Settings as for `KafkaConsumer`. `loop` is taken and not needed."""

    def __init__(self, *topics: str, loop: asyncio.AbstractEventLoop | None = None, **settings: Any) -> None:
        unsecured(settings)
        settings.setdefault("bootstrap_timeout_ms", 5000)
        settings.pop("rebalance_timeout_ms", None)
        settings.pop("consumer_timeout_ms", None)
        given = {name: value for name, value in settings.items() if value is not None}
        self._settings = {**_DEFAULTS, **given}
        self._settings["interceptors"] = [_Intercepting(self, each) for each in given.get("interceptors", ())]
        self._wish: tuple[str, tuple[Any, ...]] | None = ("subscribe", (topics, None, None)) if topics else None
        self._consumer: KafkaConsumer | None = None
        self._worker: Worker | None = None
        self._buffer: deque[tuple[TopicPartition, deque[ConsumerRecord]]] = deque()
        self._left: Future[Any] | None = None
        self._polling: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        if self._consumer is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._worker = Worker("moldau-aio-consumer")
        try:
            self._consumer = await self._worker.run(lambda: KafkaConsumer(**self._settings))
            if self._wish is not None:
                what, arguments = self._wish
                await self._worker.run(getattr(self._consumer, what), *arguments)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Commits (if that is automatic), leaves the group, disconnects."""
        worker, self._worker = self._worker, None
        consumer, self._consumer = self._consumer, None
        if worker is None:
            return
        if consumer is not None:
            await worker.run(consumer.close)
        worker.close()

    # ----------------------------------------------------------------------------------------------- what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self._set("assign", list(partitions))

    def subscribe(
        self, topics: Sequence[str] = (), pattern: str | Pattern[str] | None = None, listener: Any = None
    ) -> None:
        """The listener's methods may be coroutines; they are awaited on the event loop."""
        self._set("subscribe", topics, pattern, None if listener is None else _OnLoop(self, listener))

    def _set(self, what: str, *arguments: Any) -> None:
        self._buffer.clear()
        if self._consumer is None:
            self._wish = (what, arguments)
        elif self._leaving:
            assert self._worker is not None
            self._worker.submit(getattr(self._consumer, what), *arguments)
        else:
            getattr(self._consumer, what)(*arguments)

    def unsubscribe(self) -> None:
        """Leaves the group, behind the back of the event loop: listeners may be coroutines that run there."""
        consumer = self._started()
        assert self._worker is not None
        self._buffer.clear()
        self._left = self._worker.submit(consumer.unsubscribe)

    @property
    def _leaving(self) -> bool:
        return self._left is not None and not self._left.done()

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset() if self._leaving else frozenset(self._started().assignment())

    def subscription(self) -> frozenset[str]:
        return frozenset() if self._leaving else frozenset(self._started().subscription() or ())

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
            record = self._next(partitions)
            if record is not None:
                return record
            await self._fill(_SLICE_MS, None)

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """What is there by partition; waits up to `timeout_ms` for the first."""
        deadline = monotonic() + timeout_ms / 1000
        first = True
        while True:
            taken = self._take(partitions, max_records)
            remaining = (deadline - monotonic()) * 1000
            if taken or (remaining <= 0 and not first):
                return taken
            await self._fill(max(0.0, min(remaining, _SLICE_MS)), max_records)
            first = False

    async def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, Any]:
        """As `KafkaConsumer.poll_arrow`: one pyarrow.RecordBatch per partition, without an object per record."""
        return await self._columns("poll_arrow", timeout_ms, max_records)  # type: ignore[no-any-return]

    async def to_arrow(self, timeout_ms: float | None = None, max_records: int | None = None) -> Any:
        """As `KafkaConsumer.to_arrow`: everything up to the ends of this moment as one pyarrow.Table."""
        return await self._columns("to_arrow", timeout_ms, max_records)

    async def _columns(self, method: str, *arguments: Any) -> Any:
        consumer = self._started()
        assert self._worker is not None
        # On the polling thread, so that a poll somebody gave up waiting for is over before.
        return await self._worker.run(self._poll_columns, consumer, method, *arguments)

    def _poll_columns(self, consumer: KafkaConsumer, method: str, *arguments: Any) -> Any:
        # What was polled as objects and not taken is read again, as columns.
        for where in {where for where, records in self._buffer if records} & consumer.assignment():
            consumer.seek(where, consumer._ahead[where])
        self._buffer.clear()
        return getattr(consumer, method)(*arguments)

    def __aiter__(self) -> AIOKafkaConsumer:
        self._started()
        return self

    async def __anext__(self) -> ConsumerRecord:
        try:
            return await self.getone()
        except IllegalStateError:
            raise StopAsyncIteration from None

    async def _fill(self, timeout_ms: float, most: int | None) -> None:
        """Waits for a poll. One that somebody else has given up waiting for is gone on with: whatever it brings lies in
        the buffer, and whatever went wrong in it is raised here."""
        consumer = self._started()
        assert self._worker is not None
        if self._polling is None:
            self._polling = self._worker.begin(self._poll, consumer, timeout_ms, most)
            polled: asyncio.Future[None] = self._polling
            await asyncio.wait({polled})
        else:
            polled = self._polling
            await asyncio.wait({polled}, timeout=timeout_ms / 1000)
        if polled.done():
            if self._polling is polled:
                self._polling = None
            polled.result()

    def _poll(self, consumer: KafkaConsumer, timeout_ms: float, most: int | None) -> None:
        for where, records in consumer.poll(timeout_ms, max_records=most).items():
            if not records:
                continue
            consumer._ahead.setdefault(where, records[0].offset)
            self._buffer.append((where, deque(records)))

    def _next(self, partitions: Sequence[TopicPartition]) -> ConsumerRecord | None:
        consumer = self._started()
        for where, records in self._wanted(consumer, partitions):
            record = records.popleft()
            self._advance(consumer, where, record, records)
            return record
        return None

    def _take(
        self, partitions: Sequence[TopicPartition], most: int | None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        consumer = self._started()
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        left = most or 1 << 30
        for where, records in self._wanted(consumer, partitions):
            count = min(left, len(records))
            share = [records.popleft() for _ in range(count)]
            taken.setdefault(where, []).extend(share)
            self._advance(consumer, where, share[-1], records)
            left -= count
            if not left:
                break
        return taken

    def _wanted(
        self, consumer: KafkaConsumer, partitions: Sequence[TopicPartition]
    ) -> list[tuple[TopicPartition, deque[ConsumerRecord]]]:
        """What lies in the buffer; what was fetched for partitions that are no longer ours is dropped."""
        if not self._buffer:
            return []
        ours = consumer.assignment()
        self._buffer = deque((where, records) for where, records in self._buffer if records and where in ours)
        paused = consumer.paused()
        return [
            (where, records)
            for where, records in self._buffer
            if where not in paused and (not partitions or where in partitions)
        ]

    def _advance(
        self, consumer: KafkaConsumer, where: TopicPartition, last: ConsumerRecord, left: deque[ConsumerRecord]
    ) -> None:
        more = bool(left) or any(other == where and records for other, records in self._buffer)
        if more:
            consumer._ahead[where] = last.offset + 1
        else:
            consumer._ahead.pop(where, None)

    # -------------------------------------------------------------------------------------------------- positions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._started().seek(partition, offset)
        self._drop([partition])

    async def seek_to_beginning(self, *partitions: TopicPartition) -> bool:
        await self._run("seek_to_beginning", *partitions)
        self._drop(partitions)
        return True

    async def seek_to_end(self, *partitions: TopicPartition) -> bool:
        await self._run("seek_to_end", *partitions)
        self._drop(partitions)
        return True

    async def seek_to_committed(self, *partitions: TopicPartition) -> dict[TopicPartition, int | None]:
        found: dict[TopicPartition, int | None] = {}
        for where in partitions or tuple(self.assignment()):
            found[where] = await self.committed(where)
            if found[where] is not None:
                self.seek(where, found[where] or 0)
        return found

    def _drop(self, partitions: Sequence[TopicPartition]) -> None:
        gone = {TopicPartition(*where) for where in partitions}
        self._buffer = deque(entry for entry in self._buffer if partitions and entry[0] not in gone)

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
        given = offsets
        if offsets is not None:
            given = {
                where: OffsetAndMetadata(each) if isinstance(each, int) else OffsetAndMetadata(*each)
                for where, each in offsets.items()
            }
        await self._run("commit", given)

    async def committed(self, partition: TopicPartition) -> int | None:
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
        if self._consumer is None:
            raise IllegalStateError("The consumer is not started.")
        return self._consumer

    def _on_loop(self, said: Any) -> Any:
        """The outcome of what was called on the polling thread; of a coroutine after it ran on the event loop."""
        if not inspect.isawaitable(said):
            return said
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(_await(said), self._loop).result()

    async def _run(self, method: str, *arguments: Any) -> Any:
        consumer = self._started()
        assert self._worker is not None
        return await self._worker.run(getattr(consumer, method), *arguments)


class _OnLoop:
    """A listener whose coroutines run on the event loop while the polling thread waits for them."""

    def __init__(self, consumer: AIOKafkaConsumer, listener: Any) -> None:
        self._consumer = consumer
        self._listener = listener

    def on_partitions_revoked(self, partitions: Iterable[TopicPartition]) -> None:
        self._tell("on_partitions_revoked", partitions)

    def on_partitions_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        self._tell("on_partitions_assigned", partitions)

    def on_partitions_lost(self, partitions: Iterable[TopicPartition]) -> None:
        known = hasattr(self._listener, "on_partitions_lost")
        self._tell("on_partitions_lost" if known else "on_partitions_revoked", partitions)

    def _tell(self, what: str, partitions: Iterable[TopicPartition]) -> None:
        self._consumer._on_loop(getattr(self._listener, what)(partitions))


class _Intercepting:
    """An interceptor whose methods may be coroutines, likewise."""

    def __init__(self, consumer: AIOKafkaConsumer, interceptor: Any) -> None:
        self._consumer = consumer
        self._interceptor = interceptor

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._interceptor, name)
        return lambda *arguments: self._consumer._on_loop(method(*arguments))


async def _await(something: Any) -> Any:
    return await something
