"""All logs of a node: found at the start, created in the directory with the fewest, deleted in two steps.

The manager also keeps the checkpoints, one file per directory and kind. They may lag behind the logs, never run
ahead of them: an old recovery point only makes the next start slower.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.ports import Clock, Disk, Random, Workers
from moldau.storage.checkpoint import CheckpointError, OffsetCheckpoint
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.directory_load import DirectoryLoad, FoundLog
from moldau.storage.file_names import (
    DELETE_DIRECTORY,
    FUTURE_DIRECTORY,
    METADATA_TOPIC,
    STRAY_DIRECTORY,
    LogDirectoryName,
    marked_directory,
    parse_directory,
)
from moldau.storage.future_logs import FutureLogs
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory, LogDirError, open_directories
from moldau.storage.partition_metadata import read_topic_id, write_topic_id
from moldau.storage.sealed_flush import SealedFlush
from moldau.storage.storage_error import StorageError
from moldau.types import ZERO_UUID, TopicPartition, Uuid


@dataclass(slots=True, frozen=True)
class DirectoryDescription:
    """What DescribeLogDirs says of one directory."""

    path: str
    id: Uuid
    is_online: bool
    total_bytes: int = -1
    usable_bytes: int = -1
    sizes: Mapping[TopicPartition, int] = field(default_factory=dict)
    futures: Mapping[TopicPartition, int] = field(default_factory=dict)  # logs that are being moved here


class LogManager:
    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        random: Random,
        *,
        cluster_id: str,
        topic_config: Callable[[str], LogConfig] | None = None,
    ) -> None:
        self._config = config
        self._disk = disk
        self._clock = clock
        self._random = random
        self._cluster_id = cluster_id
        defaults = config.log_defaults()
        self._topic_config = topic_config or (lambda topic: defaults)
        self._removal = DeferredRemoval(disk, clock)
        self._logs: dict[TopicPartition, Log] = {}
        self.futures = FutureLogs(disk, clock, random, self._removal, config.producer_id_expiration_ms)
        self._flushing: set[TopicPartition] = set()
        self.directories: list[LogDirectory] = []
        self.broker_epoch = -1
        # Log directories with new logs whose names a power cut could still take away.
        self._created_in: set[str] = set()
        self._loads: list[DirectoryLoad] = []

    # ---------------------------------------------------------------------------------------------------- start

    def start(self) -> None:
        """Takes hold of the directories and opens every log in them; LogDirError if that is not possible."""
        self.open()
        self.load(self._topic_config)

    def open(self) -> None:
        """Takes hold of the directories; LogDirError if that is not possible."""
        self.directories = open_directories(
            self._disk,
            self._config.log_directories,
            cluster_id=self._cluster_id,
            node_id=self._config.node_id,
            random=self._random,
        )

    def load(self, topic_config: Callable[[str], LogConfig]) -> None:
        """Opens every log, with the settings of its topic: recovery must know whether a log is compacted, since what
        is a hole in others is ordinary there."""
        self._topic_config = topic_config
        try:
            for load in self._prepare():
                self._loaded(load, _failure_of(load.run))
        except BaseException:
            self.abandon()
            raise

    def load_on(self, workers: Workers, topic_config: Callable[[str], LogConfig]) -> Deferred[None]:
        """The same with every directory on a worker of its own; `load_progress` tells how far it is."""
        self._topic_config = topic_config
        done: Deferred[None] = Deferred()
        self._loads = self._prepare()
        left = len(self._loads)

        def finished(load: DirectoryLoad, error: BaseException | None) -> None:
            nonlocal left
            left -= 1
            try:
                self._loaded(load, error)
            except Exception as fault:
                if not done.settled:
                    done.fail(fault)
            if left == 0 and not done.settled:
                done.resolve(None)

        if not self._loads:
            done.resolve(None)
        for load in self._loads:
            workers.submit(load.run, lambda _, error, load=load: finished(load, error))  # type: ignore[misc]
        return done

    @property
    def load_progress(self) -> tuple[int, int]:
        """Logs opened, and logs there are."""
        return sum(load.finished for load in self._loads), sum(load.total for load in self._loads)

    def _prepare(self) -> list[DirectoryLoad]:
        loads = []
        for directory in self.directories:
            if directory.is_online:
                try:
                    loads.append(self._prepare_directory(directory))
                except OSError as error:
                    self.directory_failed(directory.path, str(error))
        return loads

    def _prepare_directory(self, directory: LogDirectory) -> DirectoryLoad:
        clean = directory.take_clean_shutdown()
        recovery_points = _read(directory.recovery_points)
        log_starts = _read(directory.log_starts)
        high_watermarks = _read(directory.high_watermarks)
        compacted = _read(directory.cleaner_offsets)
        found = []
        for name, named in self._log_directories(directory):
            path = posixpath.join(directory.path, name)
            if named.mark in (DELETE_DIRECTORY, FUTURE_DIRECTORY):
                self._removal.add([path], self._config.log_segment_delete_delay_ms)
            if named.mark:
                continue
            if self.futures.gives_way(path, self._others(directory)):
                self._removal.add([path], 0)
                continue
            place = named.topic_partition
            found.append(
                FoundLog(
                    path,
                    place,
                    log_starts.get(place, 0),
                    recovery_points.get(place, 0),
                    high_watermarks.get(place, 0),
                    place in compacted,
                )
            )

        def open_log(log: FoundLog) -> Log:
            return Log.open(
                log.path,
                self._topic_config(log.partition.topic),
                self._disk,
                self._clock,
                log_start_offset=log.log_start_offset,
                recovery_point=log.recovery_point,
                clean_shutdown=clean,
                topic_id=_topic_id(self._disk, log.path),
                random=self._random,
                removal=self._removal,
                producer_expiration_ms=self._config.producer_id_expiration_ms,
                compacted_once=log.compacted_once,
            )

        return DirectoryLoad(directory, found, open_log)

    def _loaded(self, load: DirectoryLoad, error: BaseException | None) -> None:
        """Takes over what was opened. A disk that failed on the way takes its directory offline with it."""
        for log in load.logs:
            self._check_single(log.topic_partition, log.directory)
            self._logs[log.topic_partition] = log
        if isinstance(error, OSError | StorageError):
            self.directory_failed(load.directory.path, str(error))
        elif error is not None:
            raise error

    def _others(self, directory: LogDirectory) -> list[str]:
        return [other.path for other in self.directories if other is not directory and other.is_online]

    def _log_directories(self, directory: LogDirectory) -> Iterable[tuple[str, LogDirectoryName]]:
        for name in self._disk.list(directory.path):
            named = parse_directory(name)
            if named is None or named.topic_partition.topic == METADATA_TOPIC:
                continue
            if self._disk.is_directory(posixpath.join(directory.path, name)):
                yield name, named

    def _check_single(self, partition: TopicPartition, path: str) -> None:
        other = self._logs.get(partition)
        if other is not None:
            raise LogDirError(
                f"{partition} has a log in {other.directory} and another in {path}; remove the older one."
            )

    # ----------------------------------------------------------------------------------------------------- logs

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        return MappingProxyType(self._logs)

    def get(self, partition: TopicPartition) -> Log | None:
        return self._logs.get(partition)

    def get_or_create(
        self, partition: TopicPartition, topic_id: Uuid, config: LogConfig, directory_id: Uuid | None = None
    ) -> Log:
        """The partition's log, created where `directory_id` says or where there are fewest logs.

        KafkaError INCONSISTENT_TOPIC_ID if there is one that belongs to another topic of the same name.
        """
        log = self._logs.get(partition)
        if log is not None:
            self._check_topic_id(log, topic_id)
            return log
        directory = self._choose(directory_id)
        path = posixpath.join(directory.path, str(partition))
        try:
            self._disk.make_directories(path)
            write_topic_id(self._disk, path, topic_id)
        except OSError as error:
            raise StorageError(directory.path, f"Creating {partition}", error) from error
        self._created_in.add(directory.path)
        log = Log.open(
            path,
            config,
            self._disk,
            self._clock,
            topic_id=topic_id,
            random=self._random,
            removal=self._removal,
            producer_expiration_ms=self._config.producer_id_expiration_ms,
        )
        self._logs[partition] = log
        return log

    def sync_created(self) -> None:
        """Makes the directories of new logs durable, all at once; to be called before anything is written to them."""
        created, self._created_in = self._created_in, set()
        for path in sorted(created):
            try:
                self._disk.sync_directory(path)
            except OSError as error:
                raise StorageError(path, "Creating logs", error) from error

    def delete(self, partition: TopicPartition) -> None:
        """Takes a log out of use at once and off the disk a little later. Nothing happens if there is none."""
        self._set_aside(partition, DELETE_DIRECTORY)

    def set_aside(self, partition: TopicPartition) -> None:
        """Keeps a log that belongs to no partition of the cluster out of the way, for somebody to look at."""
        self._set_aside(partition, STRAY_DIRECTORY)

    def exchange(self, partition: TopicPartition) -> Log:
        """Puts the future log of a partition in the place of its current one, which is deleted; returns the new one.

        Both must hold the same records.
        """
        current = self._logs[partition]
        future = self.futures.take_place_of(current)
        self._logs[partition] = future
        self._retire(current, DELETE_DIRECTORY)
        return future

    def _set_aside(self, partition: TopicPartition, mark: str) -> None:
        self.futures.discard(partition)
        log = self._logs.pop(partition, None)
        if log is not None:
            self._retire(log, mark)

    def _retire(self, log: Log, mark: str) -> None:
        partition = log.topic_partition
        log.rename_directory(marked_directory(partition, self._random.bytes(16).hex(), mark))
        log.abandon_for_readers()
        if mark == DELETE_DIRECTORY:
            self._removal.add([log.directory], log.config.file_delete_delay_ms)

    def truncate(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Cuts logs back to where they agree with their leaders.

        Their recovery points go back first and durably: what is written in place of the cut records has not been
        forced to disk, and a start after a power cut must look at it.
        """
        behind = False
        for partition, offset in offsets.items():
            log = self._logs[partition]
            behind = behind or offset < log.recovery_point
            log.recovery_point = min(log.recovery_point, offset)
        if behind:
            self.checkpoint_recovery_points()
        for partition, offset in offsets.items():
            self._logs[partition].truncate_to(offset)

    def _check_topic_id(self, log: Log, topic_id: Uuid) -> None:
        if log.topic_id is None:
            try:
                write_topic_id(self._disk, log.directory, topic_id)
            except OSError as error:
                raise StorageError(log.parent_directory, f"Marking {log.topic_partition}", error) from error
            log.topic_id = topic_id
        elif log.topic_id != topic_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_TOPIC_ID,
                f"The log in {log.directory} belongs to another topic of the same name.",
            )

    def _choose(self, directory_id: Uuid | None) -> LogDirectory:
        online = [directory for directory in self.directories if directory.is_online]
        for directory in online:
            if directory.id == directory_id:
                return directory
        if not online:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "All log directories are offline.")
        if len(online) == 1:
            return online[0]  # counting would make a topic of many partitions cost their square
        counts = {directory.path: 0 for directory in online}
        for log in self._logs.values():
            counts[log.parent_directory] += 1
        return min(online, key=lambda directory: counts[directory.path])

    # --------------------------------------------------------------------------------------------- directories

    @property
    def has_offline_directory(self) -> bool:
        return any(not directory.is_online for directory in self.directories)

    def directory_id(self, path: str) -> Uuid | None:
        return next((directory.id for directory in self.directories if directory.path == path), None)

    def offline_ids(self) -> list[Uuid]:
        """The directories that are out of service, as the controller knows them; those never read have no id."""
        return [directory.id for directory in self.directories if not directory.is_online and directory.id != ZERO_UUID]

    def directory_failed(self, path: str, reason: str) -> list[TopicPartition]:
        """Takes a directory and its logs out of service; returns the partitions that are gone with it."""
        for directory in self.directories:
            if directory.path == path and directory.is_online:
                directory.failure = reason
                directory.release()
        self.futures.directory_failed(path)
        gone = [partition for partition, log in self._logs.items() if log.parent_directory == path]
        for partition in gone:
            self._logs.pop(partition).abandon()
        return gone

    def describe(self) -> list[DirectoryDescription]:
        return [self._describe(directory) for directory in self.directories]

    def _describe(self, directory: LogDirectory) -> DirectoryDescription:
        if not directory.is_online:
            return DirectoryDescription(directory.path, directory.id, False)
        sizes = {partition: log.size for partition, log in self._logs.items() if log.parent_directory == directory.path}
        futures = {
            partition: log.size
            for partition, log in self.futures.logs.items()
            if log.parent_directory == directory.path
        }
        try:
            total, usable = self._disk.total_bytes(directory.path), self._disk.free_bytes(directory.path)
        except OSError:
            return DirectoryDescription(directory.path, directory.id, False)
        return DirectoryDescription(directory.path, directory.id, True, total, usable, sizes, futures)

    # --------------------------------------------------------------------------------------------- regular work

    def checkpoint_recovery_points(self) -> None:
        self._checkpoint(lambda directory: directory.recovery_points, lambda log: log.settled_offset)

    def checkpoint_log_starts(self) -> None:
        """Only where a log starts later than its first segment says: otherwise the files tell."""
        self._checkpoint(
            lambda directory: directory.log_starts,
            lambda log: log.log_start_offset if log.log_start_offset > log.segments.first.base_offset else None,
        )

    def checkpoint_high_watermarks(self) -> None:
        self._checkpoint(lambda directory: directory.high_watermarks, lambda log: log.high_watermark)

    def _checkpoint(self, file: Callable[[LogDirectory], OffsetCheckpoint], value: Callable[[Log], int | None]) -> None:
        for directory in self.directories:
            if not directory.is_online:
                continue
            offsets = {
                partition: offset
                for partition, log in self._logs.items()
                if log.parent_directory == directory.path and (offset := value(log)) is not None
            }
            try:
                file(directory).write(offsets)
            except OSError as error:
                raise StorageError(directory.path, "Writing a checkpoint", error) from error

    def flush_overdue(self) -> None:
        """Forces logs to disk that have waited for `flush.ms`."""
        now = self._clock.now_ms()
        for log in self._logs.values():
            if now - log.last_flush_ms >= log.config.flush_ms:
                log.flush()

    def flush_sealed(self, workers: Workers, failed: Callable[[StorageError], None]) -> None:
        """Forces closed segments to disk off the loop, so that a crash finds little to read again."""
        for partition, log in self._logs.items():
            if partition in self._flushing:
                continue
            flush = log.sealed_flush()
            if flush is not None:
                self._flushing.add(partition)
                workers.submit(flush.run, self._flushed(partition, log, flush, failed))

    def _flushed(
        self, partition: TopicPartition, log: Log, flush: SealedFlush, failed: Callable[[StorageError], None]
    ) -> Callable[[None, BaseException | None], None]:
        def done(_: None, error: BaseException | None) -> None:
            self._flushing.discard(partition)
            if error is None:
                flush.done()
            elif isinstance(error, OSError):
                failed(StorageError(log.parent_directory, f"Flushing {partition}", error, lost=True))
            else:
                raise error

        return done

    def expire_producers(self) -> None:
        now = self._clock.now_ms()
        for log in self._logs.values():
            log.producers.expire(now)

    def remove_deleted(self, workers: Workers | None = None) -> None:
        """Removes files and directories whose time has come; off the loop if there are workers."""
        due = self._removal.take_due()
        if workers is None:
            self._removal.remove(due)
        elif due:
            workers.submit(lambda: self._removal.remove(due), _removed)

    # ---------------------------------------------------------------------------------------------------- stop

    def close(self) -> None:
        """Forces everything to disk, writes the checkpoints and, if all went well, the mark of a clean stop."""
        try:
            for directory in self.directories:
                if directory.is_online:
                    self._close(directory)
        finally:
            self.abandon()

    def _close(self, directory: LogDirectory) -> None:
        logs = {partition: log for partition, log in self._logs.items() if log.parent_directory == directory.path}
        try:
            for log in logs.values():
                log.close()
            directory.recovery_points.write({partition: log.settled_offset for partition, log in logs.items()})
            directory.log_starts.write(
                {
                    partition: log.log_start_offset
                    for partition, log in logs.items()
                    if log.log_start_offset > log.segments.first.base_offset
                }
            )
            directory.high_watermarks.write({partition: log.high_watermark for partition, log in logs.items()})
            directory.mark_clean_shutdown(self.broker_epoch)
        except (OSError, StorageError) as error:
            # Without the mark the next start repairs what may be missing; the other directories close as usual.
            self.directory_failed(directory.path, str(error))

    def abandon(self) -> None:
        """Lets go of everything without writing."""
        self.futures.abandon()
        for log in self._logs.values():
            log.abandon()
        self._logs.clear()
        for directory in self.directories:
            directory.release()


def _removed(_: None, error: BaseException | None) -> None:
    """A file that cannot be removed is no error: its name tells the next start that it is to go."""
    if error is not None:
        raise error


def _topic_id(disk: Disk, path: str) -> Uuid | None:
    try:
        return read_topic_id(disk, path)
    except CheckpointError:
        return None


def _read(checkpoint: OffsetCheckpoint) -> dict[TopicPartition, int]:
    """A checkpoint that cannot be read counts as empty: recovery then starts from the beginning."""
    try:
        return checkpoint.read()
    except CheckpointError:
        return {}


def _failure_of(run: Callable[[], None]) -> BaseException | None:
    try:
        run()
    except Exception as error:
        return error
    return None
