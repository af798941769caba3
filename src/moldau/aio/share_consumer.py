"""`AIOKafkaShareConsumer`: a member of a share group for asyncio; what `KafkaShareConsumer` does, awaited.

    async with AIOKafkaShareConsumer("orders", group_id="packers", share_acknowledgement_mode="explicit") as consumer:
        async for record in consumer:
            consumer.acknowledge(record, AcknowledgeType.ACCEPT if await pack(record) else AcknowledgeType.RELEASE)

There is nothing to take records from while nobody asks for them: what is acquired is locked for everybody else. So each
`getmany` is one poll, on a thread of the consumer's, and so is what has to wait for brokers; they come one after the
other. A wait that is cancelled ends the poll; what it had got by then the next one returns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

from moldau.aio.bridge import Worker, unsecured
from moldau.client.share.acknowledgements import AcknowledgeType
from moldau.client.share.acquired import ShareRecord
from moldau.client.share.face import Callback, KafkaShareConsumer, Outcomes
from moldau.errors.named import ConsumerStoppedError, WakeupError
from moldau.types import TopicPartition

T = TypeVar("T")
Records = dict[TopicPartition, list[ShareRecord]]


class AIOKafkaShareConsumer:
    """For one task at a time. Settings as for `KafkaShareConsumer`; `loop` is taken and not needed."""

    def __init__(self, *topics: str, loop: asyncio.AbstractEventLoop | None = None, **settings: Any) -> None:
        unsecured(settings)
        self._topics = topics
        self._settings = {name: value for name, value in settings.items() if value is not None}
        self._consumer: KafkaShareConsumer | None = None
        self._worker: Worker | None = None
        # One thread at a time has the consumer.
        self._turn = asyncio.Lock()
        # What was polled for somebody who did not wait for it, and what an iterator has not come to yet.
        self._left: Records = {}
        self._iterating: deque[ShareRecord] = deque()
        self._stopping = False

    # -------------------------------------------------------------------------------------------------- the life

    async def start(self) -> None:
        """Connects, and joins the group if there is something to read."""
        if self._consumer is not None:
            return
        self._stopping = False
        worker = self._worker = Worker("moldau-aio-share-consumer")
        try:
            self._consumer = await worker.open(lambda: KafkaShareConsumer(*self._topics, **self._settings))
        except BaseException:
            self._worker = None
            worker.close()
            raise

    async def stop(self) -> None:
        """Tells what was acknowledged, gives back everything else, leaves the group."""
        consumer, worker = self._consumer, self._worker
        if consumer is None or worker is None or self._stopping:
            return
        self._stopping = True
        if worker.forked:
            self._consumer = self._worker = None  # the parent's, and so is its place in the group
            return
        consumer.wakeup()
        async with self._turn:
            await worker.run(consumer.close)
        self._consumer = self._worker = None
        self._left, self._iterating = {}, deque()
        worker.close()

    async def __aenter__(self) -> AIOKafkaShareConsumer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # ----------------------------------------------------------------------------------------------- what is read

    async def subscribe(self, topics: Iterable[str]) -> None:
        consumer = self._started()
        await self._run(lambda: consumer.subscribe(topics))

    async def unsubscribe(self) -> None:
        await self._run(self._started().unsubscribe)

    def subscription(self) -> frozenset[str]:
        return frozenset(self._topics if self._consumer is None else self._consumer.subscription())

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions this member reads from at the moment; others read from them as well."""
        return frozenset() if self._consumer is None else frozenset(self._consumer.assignment())

    async def getmany(self, *, timeout_ms: float = 0, max_records: int | None = None) -> Records:
        """The next records by partition; waits up to `timeout_ms` for the first of them. As `poll` of the other face:
        it takes acknowledgements along, which implicitly are those of all records of the last one."""
        consumer = self._started()
        return await self._poll(lambda: consumer.poll(timeout_ms, max_records))

    async def getone(self) -> ShareRecord:
        """The next record; waits for it, and polls when all of the last poll were handed out."""
        while not self._iterating:
            for records in (await self.getmany(timeout_ms=1000)).values():
                self._iterating += records
        return self._iterating.popleft()

    async def __aiter__(self) -> AsyncIterator[ShareRecord]:
        try:
            while True:
                yield await self.getone()
        except ConsumerStoppedError:
            return

    async def _poll(self, poll: Callable[[], Records]) -> Records:
        async with self._turn:
            if self._left:
                found, self._left = self._left, {}
                return found
            consumer, worker = self._started(), self._worker
            assert worker is not None
            polling = asyncio.ensure_future(worker.run(poll))
            try:
                return await asyncio.shield(polling)
            except asyncio.CancelledError:
                # The lock is held until the thread is done with it: it is told to be, and soon is.
                consumer.wakeup()
                try:
                    self._left = await asyncio.shield(polling)
                except WakeupError:
                    pass
                consumer._woken = False  # it was for this poll, which may have been over before
                raise
            except WakeupError:
                if self._stopping:
                    raise ConsumerStoppedError("The share consumer was stopped.") from None
                raise

    # -------------------------------------------------------------------------------------------- acknowledgements

    def acknowledge(self, record: Any, ack_type: AcknowledgeType | int = AcknowledgeType.ACCEPT) -> None:
        """Says what became of a record; told to the broker with the next poll or commit."""
        self._started().acknowledge(record, ack_type)

    def acknowledge_offset(
        self, topic: str, partition: int, offset: int, ack_type: AcknowledgeType | int = AcknowledgeType.ACCEPT
    ) -> None:
        """The same by its place; also for a record that could not be read."""
        self._started().acknowledge_offset(topic, partition, offset, ack_type)

    async def commit(self) -> Outcomes:
        """Tells what became of records, and waits for the brokers' answers: per partition None, or what went wrong."""
        return await self._run(self._started().commit_sync)

    def set_acknowledgement_commit_callback(self, callback: Callback | None) -> None:
        """`callback(offsets, error)` when brokers have answered, on the event loop."""
        consumer, loop = self._started(), asyncio.get_running_loop()
        if callback is None or not callable(callback):
            consumer.set_acknowledgement_commit_callback(callback)
            return
        consumer.set_acknowledgement_commit_callback(
            lambda offsets, error: loop.call_soon_threadsafe(callback, offsets, error)
        )

    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long a record that was handed out is ours; None until a broker has said so."""
        return self._started().acquisition_lock_timeout_ms()

    def metrics(self) -> dict[str, dict[str, float]]:
        return self._started().metrics()

    # -------------------------------------------------------------------------------------------------------- inside

    def _started(self) -> KafkaShareConsumer:
        if self._consumer is None or self._stopping:
            raise ConsumerStoppedError("The share consumer is not started.")
        return self._consumer

    async def _run(self, call: Callable[[], T]) -> T:
        async with self._turn:
            self._started()
            assert self._worker is not None
            return await self._worker.run(call)
