"""`AIOKafkaProducer`: aiokafka's class, on our core."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from moldau.aio.batch import BatchBuilder
from moldau.aio.bridge import Mailbox, Worker, fail, settle, unsecured
from moldau.client.producer.delivery import Delivery, FutureRecordMetadata, RecordMetadata
from moldau.client.producer.face import KafkaProducer
from moldau.client.structs import ConsumerGroupMetadata, OffsetAndMetadata
from moldau.errors.named import IllegalOperation, IllegalStateError, ProducerClosed
from moldau.types import TopicPartition

# aiokafka's names for what has another one elsewhere.
_RENAMED = {"max_batch_size": "batch_size"}


class AIOKafkaProducer:
    """Settings as for `KafkaProducer`; `max_batch_size` is its `batch_size`. `loop` is taken and not needed."""

    def __init__(self, *, loop: asyncio.AbstractEventLoop | None = None, **settings: Any) -> None:
        unsecured(settings)
        settings.setdefault("bootstrap_timeout_ms", 5000)
        settings.setdefault("request_timeout_ms", 40_000)
        self._settings = {_RENAMED.get(name, name): value for name, value in settings.items()}
        self._producer: KafkaProducer | None = None
        self._worker: Worker | None = None
        self._mailbox: Mailbox | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # By batch: its records and, beside them, their futures. Two lists, because a pair per record is one object more
        # for the garbage collector to go through again and again.
        self._waiting: dict[Delivery, tuple[list[FutureRecordMetadata], list[asyncio.Future[RecordMetadata]]]] = {}

    async def start(self) -> None:
        """Connects; with a transactional_id also ends what an earlier producer of that id left open."""
        if self._producer is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._mailbox = Mailbox(self._loop)
        self._worker = Worker("moldau-aio-producer")
        try:
            self._producer = await self._worker.open(lambda: KafkaProducer(**self._settings))
            if self._settings.get("transactional_id") is not None:
                await self._worker.run(self._producer.init_transactions)
        except BaseException:
            if self._producer is not None:
                self._worker.begin(self._producer.close, 0)
            self._worker.close()
            self._worker = self._producer = None
            raise

    async def stop(self) -> None:
        """Sends what is left and disconnects."""
        if self._producer is None or self._worker is None:
            return
        producer, self._producer = self._producer, None
        if not self._worker.forked:
            await self._worker.run(producer.close)
        self._worker.close()

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes]] | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Takes a record on; the future that is returned has its metadata once it is acknowledged."""
        producer = self._producer
        if producer is None:
            raise _not_started()
        given = list(headers) if headers else None
        sent: FutureRecordMetadata | None = producer._fast(topic, value, key, given, partition, timestamp_ms)
        if sent is None:
            sent = await self._run("_send_slowly", topic, value, key, given, partition, timestamp_ms)
        future: asyncio.Future[RecordMetadata] = asyncio.Future(loop=self._loop)
        waiting = self._waiting.get(sent.delivery)
        if waiting is None:
            self._watch(sent, future)
        else:
            waiting[0].append(sent)
            waiting[1].append(future)
        return future

    def _watch(self, sent: FutureRecordMetadata, future: asyncio.Future[RecordMetadata]) -> None:
        """One callback per batch, whatever the number of its records; their futures are settled on the event loop."""
        delivery: Delivery = sent.delivery
        waiting = self._waiting.get(delivery)
        if waiting is not None:
            waiting[0].append(sent)
            waiting[1].append(future)
            return
        self._waiting[delivery] = ([sent], [future])
        mailbox = self._mailbox
        assert mailbox is not None

        def arrived(_outcome: Any) -> None:
            mailbox.put(self._settle, delivery)

        sent.add(arrived, False)
        sent.add(arrived, True)

    def _settle(self, delivery: Delivery) -> None:
        records, futures = self._waiting.pop(delivery, ((), ()))
        if delivery.done and delivery.error is None:
            for future, metadata in zip(futures, delivery.described(records), strict=True):
                if not future.done():
                    future.set_result(metadata)
            return
        for sent, future in zip(records, futures, strict=True):
            if future.done():
                continue
            if not sent.is_done:
                self._watch(sent, future)  # the batch was split, and this record's part is still under way
                continue
            error = sent.exception
            if error is None:
                settle(future, sent.value)
            else:
                fail(future, error)

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes]] | None = None,
    ) -> RecordMetadata:
        return await (await self.send(topic, value, key, partition, timestamp_ms, headers))

    def create_batch(self) -> BatchBuilder:
        """An empty batch to be filled by hand and sent with `send_batch`; it takes `max_batch_size` bytes."""
        return BatchBuilder(self._started())

    async def send_batch(self, batch: BatchBuilder, topic: str, *, partition: int) -> asyncio.Future[RecordMetadata]:
        """Takes the records of a batch on, all or none; the future that is returned has the metadata of the first once
        every one is acknowledged, or the error of the first that was not."""
        producer = self._started()
        assert self._worker is not None
        sent = await self._worker.run(batch._send, producer, topic, partition)
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[RecordMetadata]] = []
        for record in sent:
            futures.append(loop.create_future())
            self._watch(record, futures[-1])
        together: asyncio.Future[RecordMetadata] = loop.create_future()
        asyncio.gather(*futures, return_exceptions=True).add_done_callback(lambda all: _settle_all(together, all))
        return together

    async def flush(self) -> None:
        """Returns when every record sent so far is acknowledged or has failed."""
        await self._run("flush")

    async def partitions_for(self, topic: str) -> set[int]:
        found: set[int] = await self._run("partitions_for", topic)
        return found

    async def begin_transaction(self) -> None:
        await self._run("begin_transaction")

    async def commit_transaction(self) -> None:
        await self._run("commit_transaction")

    async def abort_transaction(self) -> None:
        await self._run("abort_transaction")

    def transaction(self) -> TransactionContext:
        """`async with producer.transaction():` commits at its end, or aborts if it ends in an exception."""
        return TransactionContext(self)

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, Any], group_id: str | ConsumerGroupMetadata
    ) -> None:
        given = {
            TopicPartition(*where): OffsetAndMetadata(each) if isinstance(each, int) else OffsetAndMetadata(*each)
            for where, each in offsets.items()
        }
        await self._run("send_offsets_to_transaction", given, group_id)

    async def __aenter__(self) -> AIOKafkaProducer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _started(self) -> KafkaProducer:
        if self._producer is None:
            raise _not_started()
        return self._producer

    async def _run(self, method: str, *arguments: Any) -> Any:
        producer = self._started()
        assert self._worker is not None
        try:
            return await self._worker.run(getattr(producer, method), *arguments)
        except IllegalStateError as error:
            raise IllegalOperation(str(error)) from None  # aiokafka's name for it


def _not_started() -> ProducerClosed:
    return ProducerClosed("The producer is not started, or was stopped.")


def _settle_all(together: asyncio.Future[RecordMetadata], outcomes: asyncio.Future[list[Any]]) -> None:
    if outcomes.cancelled():
        together.cancel()
        return
    errors = [each for each in outcomes.result() if isinstance(each, BaseException)]
    if errors:
        fail(together, errors[0])
    else:
        settle(together, outcomes.result()[0])


class TransactionContext:
    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer

    async def __aenter__(self) -> TransactionContext:
        await self._producer.begin_transaction()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self._producer.commit_transaction()
        else:
            await self._producer.abort_transaction()
