"""Moving replicas to another log directory while they are served.

The records are copied from the current log into a future one, a portion at a time: read and written by a worker, so
that a slow disk holds nobody up, and counted on the loop. When the copy has caught up it is forced to disk; what was
written meanwhile is little and is copied on the loop, and in the same turn the two logs change places (`future_logs`
says how, and what a crash leaves). Producers and consumers notice nothing. Moving a replica back to where it is gives
up the move. A move that ended with the process, however that ended, begins anew with the next one.
"""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Callable, Container
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.runtime.ports import FileSlice, Runtime
from moldau.slicing import Work
from moldau.storage.log import Log
from moldau.storage.log_manager import LogManager
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.replica")

# Small enough that the Python work for a portion of one-record batches holds the GIL for a millisecond or so.
_PORTION: Final = 128 << 10
# So much may be copied on the loop at the end.
_LAST_PORTION: Final = 1 << 20
_RETRY_SECONDS: Final = 0.1
# A move that is held back looks so often whether it may go faster.
_LOOK_SECONDS: Final = 1.0


class _Move:
    __slots__ = ("cuts", "forced", "future", "partition", "source")

    def __init__(self, partition: Partition, future: Log) -> None:
        self.partition = partition
        self.source = partition.log
        self.future = future
        self.cuts = self.source.durability.cuts
        self.forced = False  # once: what came after it is little


class LogMoves:
    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        replicas: ReplicaManager,
        logs: LogManager,
        busy: Container[TopicPartition],
        runtime: Runtime,
    ) -> None:
        self._config = config
        self._replicas = replicas
        self._logs = logs
        self._busy = busy  # being compacted: their directories must keep their names
        self._runtime = runtime
        self._moves: dict[TopicPartition, _Move] = {}
        self._stopped = False

    def stop(self) -> None:
        """Copies end where they are; the next process makes them anew."""
        self._stopped = True
        self._moves.clear()

    def resume(self) -> Work[None]:
        """Begins those moves anew that ended with an earlier process: they were promised."""
        futures = self._logs.futures
        for (topic_id, index), paths in tuple(futures.interrupted.items()):
            yield
            partition = self._replicas.find_or_open(topic_id, index)
            if partition is not None and (topic_id, index) in futures.interrupted:
                try:
                    self.alter(*partition.topic_partition, posixpath.dirname(paths[0]))
                except KafkaError as error:
                    logger.warning("the move of %s does not go on: %s", partition.topic_partition, error)
            futures.forget_interrupted(topic_id, index)

    def alter(self, topic: str, index: int, path: str) -> None:
        """Begins to move a replica to the directory `path`, or gives up a move if it is there; KafkaError."""
        directory = self._directory(path)
        place = TopicPartition(topic, index)
        partition = self._partition(place)
        self._drop_stale(place)
        future = self._logs.futures.logs.get(place)
        if future is not None and future.directory.parent == directory:
            return
        self._cancel(place)
        if partition.log.directory.parent == directory:
            self._logs.futures.forget_interrupted(partition.topic_id, index)
            return
        try:
            future = self._logs.futures.create(partition.log, directory)
        except StorageError as error:
            self._logs.report(error)
            raise
        self._logs.futures.forget_interrupted(partition.topic_id, index)
        move = self._moves[place] = _Move(partition, future)
        logger.info("%s begins to move from %s to %s", place, partition.log.directory.parent, directory)
        self._step(move)

    def _directory(self, path: str) -> str:
        for directory in self._logs.directories:
            if posixpath.normpath(directory.path) == posixpath.normpath(path):
                if not directory.is_online:
                    raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"The log directory {path} is offline.")
                return directory.path
        raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not a log directory of this broker.")

    def _partition(self, place: TopicPartition) -> Partition:
        try:
            return self._replicas.get(*place)
        except KafkaError as error:
            if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{place} is not on this broker.") from error
            raise

    def _drop_stale(self, place: TopicPartition) -> None:
        """Forgets a move whose log has been deleted or whose disk has failed."""
        move = self._moves.get(place)
        if move is not None and not self._is_current(move):
            del self._moves[place]

    def _cancel(self, place: TopicPartition) -> None:
        self._moves.pop(place, None)
        try:
            self._logs.futures.discard(place)
        except StorageError as error:
            self._logs.report(error)

    def _is_current(self, move: _Move) -> bool:
        place = move.source.topic_partition
        return (
            not self._stopped
            and self._moves.get(place) is move
            and self._logs.get(place) is move.source
            and self._logs.futures.logs.get(place) is move.future
            and move.partition.log is move.source
        )

    # ------------------------------------------------------------------------------------------------------ copying

    def _step(self, move: _Move) -> None:
        if not self._is_current(move):
            # Deleted, cancelled, or a disk failed: what is left of the copy has been or is now given up.
            if self._moves.get(move.source.topic_partition) is move:
                self._cancel(move.source.topic_partition)
            return
        try:
            self._advance(move)
        except StorageError as error:
            self._logs.report(error)
            self._cancel(move.source.topic_partition)
        except KafkaError as error:
            self._failed(move, error)

    def _advance(self, move: _Move) -> None:
        source, future = move.source, move.future
        if source.durability.cuts != move.cuts or future.log_end_offset < source.log_start_offset:
            # Cut off at its end or its beginning: what was copied may be wrong, so it is copied anew.
            move.cuts = source.durability.cuts
            future.local.truncate_fully_and_start_at(source.log_start_offset)
        if future.log_end_offset < source.log_end_offset:
            left = source.bytes_between(future.log_end_offset, source.log_end_offset)
            if not move.forced or left > _LAST_PORTION:
                self._copy_in_worker(move)
                return
            while future.log_end_offset < source.log_end_offset:
                _copy(source, future, _portion(move))
        if not move.forced:
            self._force(move)
        elif source.topic_partition in self._busy or not self._logs.retirement.is_free(source.topic_partition):
            # Being compacted, or not yet out of the way in the place it comes back to.
            self._runtime.loop.call_later(_RETRY_SECONDS, lambda: self._step(move))
        else:
            self._exchange(move)

    def _copy_in_worker(self, move: _Move) -> None:
        source, future, portion = move.source, move.future, _portion(move)

        def copied(size: int | None, error: BaseException | None) -> None:
            if error is not None and source.durability.cuts != move.cuts:
                # A follower's log was cut while it was read: what was read is nothing, and all is copied anew.
                self._step(move)
                return
            if error is not None:
                self._failed(move, error)
                return
            # The future log has a worker again only when this one is done, so it has one owner at a time.
            self._wait_for_rate(move, size or 0)

        self._runtime.workers.submit(lambda: _copy(source, future, portion), copied)

    def _wait_for_rate(self, move: _Move, copied: int) -> None:
        """Goes on when so many bytes are allowed for; at the rate of the moment, which may be raised meanwhile."""
        rate = self._config().replica_alter_log_dirs_io_max_bytes_per_second
        delay = copied / rate if rate > 0 else _LOOK_SECONDS
        if delay <= 0.001:
            self._step(move)
        elif delay <= _LOOK_SECONDS:
            self._runtime.loop.call_later(delay, lambda: self._step(move))
        else:
            left = copied - int(rate * _LOOK_SECONDS)
            self._runtime.loop.call_later(_LOOK_SECONDS, lambda: self._wait_for_rate(move, left))

    def _force(self, move: _Move) -> None:
        commit, announce = move.future.commit(), self._logs.futures.announce(move.future)
        move.forced = True

        def force() -> None:
            if commit is not None:
                commit.run()
            announce()

        def forced(_: None, error: BaseException | None) -> None:
            if error is not None:
                self._failed(move, error)
                return
            if commit is not None:
                commit.done()
            self._step(move)

        self._runtime.workers.submit(force, forced)

    def _failed(self, move: _Move, error: BaseException) -> None:
        place = move.source.topic_partition
        if not self._is_current(move):
            self._step(move)
            return
        logger.error("%s could not be moved: %s", place, error)
        self._cancel(place)
        if isinstance(error, OSError):
            directory = move.future.directory.parent
            self._logs.report(StorageError(directory, f"Moving {place}", error))
        elif isinstance(error, StorageError):
            self._logs.report(error)

    # ----------------------------------------------------------------------------------------------------- exchange

    def _exchange(self, move: _Move) -> None:
        """Both logs hold the same records: the future one takes over everything else, and the place."""
        source, future, place = move.source, move.future, move.source.topic_partition
        future.local.update_config(source.config)
        if source.config.durable:
            future.flush()
        future.local.advance_high_watermark(source.high_watermark)
        future.local.advance_log_start(source.log_start_offset)
        future.local.first_dirty_offset = source.local.first_dirty_offset
        future.epochs.clear()
        for entry in source.epochs.entries:
            future.epochs.assign(*entry)
        for producer_id, producer in source.producers.entries.items():
            # Producers whose batches are gone are remembered all the same.
            future.producers.entries.setdefault(producer_id, producer)
        del self._moves[place]
        move.partition.log = self._logs.exchange(place)
        logger.info("%s lives in %s now", place, future.directory.parent)
        if self._replicas.replication is not None:
            self._replicas.replication.directories.check(move.partition)
        if move.partition.is_leader:
            move.partition.advance_high_watermark()
        self._replicas.moved(move.partition)


def _portion(move: _Move) -> FileSlice | int:
    """The next bytes of the source, or the offset to go on with where compaction has left none."""
    source, offset = move.source, move.future.log_end_offset
    records = source.read(offset, _PORTION, source.log_end_offset, at_least_one=True).records
    return records if isinstance(records, FileSlice) else source.log_end_offset


def _copy(source: Log, future: Log, portion: FileSlice | int) -> int:
    if isinstance(portion, int):
        future.local.skip_to(portion)
        return 0
    try:
        data = memoryview(portion.read())
    except OSError as error:
        # Of the two disks it is this one.
        raise StorageError(source.directory.parent, f"Reading {source.topic_partition}", error) from error
    return future.append_as_follower(data, 0, len(data)).bytes
