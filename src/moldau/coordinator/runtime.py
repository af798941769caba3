"""The shards of one internal topic on this broker: which are loaded, and how operations get to them.

The server calls `load` when this broker becomes the leader of a partition of the topic and `unload` when it no longer
is. In between, whoever has an id asks `partition_of(id)` and then `write`, `read` or `look`. A partition that is not
here answers NOT_COORDINATOR, one that is still being read COORDINATOR_LOAD_IN_PROGRESS.

A new leader reads its log to the end, but its high watermark may be behind that of the leader before. Operations that
change something can be decided at once, since their answers wait for the high watermark. One that only reads what is
committed would answer with less than clients were told already, so for it the partition is loading until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, Generic, TypeVar

from moldau.coordinator.loading import Loading
from moldau.coordinator.marker import Marker
from moldau.coordinator.partition_hash import partition_for
from moldau.coordinator.partition_log import PartitionLog
from moldau.coordinator.record_framing import RecordTypes
from moldau.coordinator.shard import Shard, ShardContext
from moldau.coordinator.write_path import Operation, ShardWriter
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.protocol.records import Compression, EndTransaction
from moldau.runtime.ports import Clock, Loop
from moldau.slicing import Slicer, Work
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

logger = logging.getLogger("moldau.coordinator")

S = TypeVar("S", bound=Shard)
T = TypeVar("T")

LOAD_SLICE: Final = 5 << 20
COMMIT_TIMEOUT_MS: Final = 5000


class CoordinatorRuntime(Generic[S]):
    def __init__(
        self,
        topic: str,
        record_types: RecordTypes,
        shard_factory: Callable[[ShardContext], S],
        log: PartitionLog,
        loop: Loop,
        clock: Clock,
        *,
        load_slice: int = LOAD_SLICE,
        commit_timeout_ms: int = COMMIT_TIMEOUT_MS,
        compression: int = Compression.NONE,
        slicer: Slicer | None = None,
    ) -> None:
        self.topic = topic
        self.image: MetadataImage = EMPTY_IMAGE
        self._types = record_types
        self._factory = shard_factory
        self._log = log
        self._loop = loop
        self._clock = clock
        self._load_slice = load_slice
        self._commit_timeout_ms = commit_timeout_ms
        self._compression = compression
        self._slicer = Slicer(loop, clock) if slicer is None else slicer
        self._active: dict[int, ShardWriter[S]] = {}
        self._loading: dict[int, tuple[ShardWriter[S], Loading]] = {}
        # What was to be done on all shards and those that are being loaded have to do when they are.
        self._owed: dict[int, list[tuple[str, Operation[S, Any]]]] = {}
        # The newest epoch each partition was loaded or unloaded with: an older message changes nothing.
        self._epochs: dict[int, int] = {}

    # -------------------------------------------------------------------------------------------------- operations

    def partition_of(self, identifier: str) -> int:
        """The partition an id belongs to; COORDINATOR_NOT_AVAILABLE while the topic does not exist."""
        topic = self.image.topics.get(self.topic)
        if topic is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return partition_for(identifier, len(topic.partitions))

    def write(
        self,
        name: str,
        partition: int,
        operation: Operation[S, T],
        *,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        transactional: bool = False,
    ) -> Deferred[T]:
        """Decides and applies, now or as soon as those before it are done; the answer comes when the high watermark has
        passed the records.

        `name` says what it is to whoever reads a log. Every failure arrives in the Deferred, as a KafkaError.
        """
        try:
            writer = self._writer(partition)
        except KafkaError as error:
            refused: Deferred[T] = Deferred()
            refused.fail(error)
            return refused
        logger.debug("%s on %s-%d", name, self.topic, partition)
        return writer.write(
            operation, producer_id=producer_id, producer_epoch=producer_epoch, transactional=transactional
        )

    def idle_writer(self, identifier: str) -> ShardWriter[S] | None:
        """The writer of an id, if it is loaded here and an operation would have its turn at once."""
        topic = self.image.topics.by_name.get(self.topic)
        if topic is None:
            return None
        writer = self._active.get(partition_for(identifier, len(topic.partitions)))
        return writer if writer is not None and writer.idle else None

    def write_all(self, name: str, operation: Operation[S, T]) -> None:
        """The same operation on every shard that is loaded here, one after the other; on others when they are."""
        for partition in self._loading:
            self._owed.setdefault(partition, []).append((name, operation))
        self._slicer.run(self._write_all(name, operation))

    def _write_all(self, name: str, operation: Operation[S, T]) -> Work[None]:
        for partition in list(self._active):
            self.write(name, partition, operation).then(self._report)
            yield

    def _report(self, _: object, error: BaseException | None) -> None:
        if error is not None and not isinstance(error, KafkaError):
            logger.error("an operation on all of %s went wrong", self.topic, exc_info=error)

    def write_marker(self, partition: int, marker: Marker) -> Deferred[None]:
        """Ends a transaction in a partition: appends the marker, and the shard applies or drops what was pending."""
        try:
            writer = self._writer(partition)
        except KafkaError as error:
            refused: Deferred[None] = Deferred()
            refused.fail(error)
            return refused
        ending = EndTransaction(marker.committed, marker.coordinator_epoch)
        return writer.write_marker(marker.producer_id, marker.producer_epoch, ending, marker.transaction_version)

    def read(self, name: str, partition: int, operation: Callable[[S, int], T]) -> T:
        """Calls `operation(shard, committed offset)` and returns what it returns; KafkaError if it is not loaded here.

        Whoever must not see uncommitted changes reads the timeline as of the committed offset.
        """
        writer = self._reader(partition)
        return operation(writer.shard, writer.committed)

    def look(self, name: str, partition: int, operation: Callable[[S, int], Work[T]]) -> Work[T]:
        """The same for what takes long; if the shard is lost on the way, what was seen of it does not count."""
        writer = self._reader(partition)
        return self._seen(writer, operation(writer.shard, writer.committed))

    def _seen(self, writer: ShardWriter[S], work: Work[T]) -> Work[T]:
        result = yield from work
        if writer.closed or not writer.leads:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return result

    def shards(self) -> Iterator[tuple[int, S, int]]:
        """Every loaded shard: its partition, itself, its committed offset."""
        for partition, writer in list(self._active.items()):
            if not writer.closed and writer.leads:
                yield partition, writer.shard, writer.committed

    @property
    def loading(self) -> bool:
        """Whether some of what belongs here cannot be read yet."""
        return bool(self._loading) or any(writer.committed < writer.found_end for writer in self._active.values())

    def is_loaded(self, partition: int) -> bool:
        return partition in self._active

    def _writer(self, partition: int) -> ShardWriter[S]:
        writer = self._active.get(partition)
        if writer is not None:
            # Between what the replica hears and what the runtime hears, or with a disk that has failed.
            if writer.leads:
                return writer
        elif partition in self._loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def _reader(self, partition: int) -> ShardWriter[S]:
        writer = self._writer(partition)
        if writer.committed < writer.found_end:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return writer

    # ---------------------------------------------------------------------------------------- loading and unloading

    def load(self, partition: int, leader_epoch: int) -> None:
        """This broker leads the partition in `leader_epoch`: reads it, then answers for it."""
        if leader_epoch <= self._epochs.get(partition, -1):
            return
        self._drop(partition)
        where = TopicPartition(self.topic, partition)
        try:
            writer = ShardWriter(
                where,
                leader_epoch,
                self._factory,
                self._log,
                self._loop,
                self._clock,
                commit_timeout_ms=self._commit_timeout_ms,
                compression=self._compression,
                slicer=self._slicer,
            )
        except KafkaError as error:
            # Its disk refuses it: when it can be opened, the same epoch is told again.
            logger.info("%s cannot be loaded: %s", where, error)
            return
        self._epochs[partition] = leader_epoch
        loading = Loading(
            writer,
            self._types,
            self._log,
            self._loop,
            self._clock,
            slice_bytes=self._load_slice,
            finished=lambda error: self._loaded(partition, writer, error),
        )
        self._loading[partition] = (writer, loading)
        loading.start()

    def _loaded(self, partition: int, writer: ShardWriter[S], error: Exception | None) -> None:
        del self._loading[partition]
        owed = self._owed.pop(partition, [])
        if error is not None:
            # Not to be loaded means not to be answered for: the partition waits for another leader or epoch.
            self._go_on(writer.close())
            return
        self._active[partition] = writer
        self._log.watch(writer.partition, writer.high_watermark_moved)
        writer.advance(self._log.high_watermark(writer.partition))
        self._go_on(writer.shard.on_loaded(self.image))
        for name, operation in owed:
            self.write(name, partition, operation).then(self._report)

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        """Another broker leads the partition in `leader_epoch`; None when the partition is gone altogether."""
        if leader_epoch is not None:
            if leader_epoch <= self._epochs.get(partition, -1):
                return
            self._epochs[partition] = leader_epoch
        else:
            self._epochs.pop(partition, None)
        self._drop(partition)

    def _drop(self, partition: int) -> None:
        self._go_on(self._let_go(partition))

    def _let_go(self, partition: int) -> Work[None] | None:
        """Nobody is answered from the shard any more; the work tells those who wait inside it."""
        self._owed.pop(partition, None)
        pending = self._loading.pop(partition, None)
        if pending is not None:
            writer, loading = pending
            loading.cancel()
            return writer.close()
        active = self._active.pop(partition, None)
        if active is None:
            return None
        self._log.unwatch(active.partition, active.high_watermark_moved)
        return active.close()

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """A new image of the metadata; loading and unloading are asked for separately."""
        self.image = image
        works = [writer.shard.on_new_image(image, delta) for writer in self._active.values()]
        self._go_on(chain.from_iterable(work for work in works if work is not None))

    def _go_on(self, works: Iterable[object] | None) -> None:
        def work() -> Work[None]:
            yield from works or ()

        if works is not None:
            self._slicer.run(work())

    def close(self) -> None:
        for partition in [*self._loading, *self._active]:
            # At once: the loop may not come round again.
            for _ in self._let_go(partition) or ():
                pass
