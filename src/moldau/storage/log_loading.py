"""Finding the logs of a node at its start, and opening them.

What a directory holds is known by the names in it and by its checkpoints. Every directory is opened on a worker of its
own (`directory_load`); what was opened is handed over on the loop, together with what had to be recovered.
"""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.deferred import Deferred
from moldau.runtime.ports import Clock, Disk, Random, Workers
from moldau.storage.checkpoint import CheckpointError, OffsetCheckpoint
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.directory_load import DirectoryLoad, FoundLog
from moldau.storage.directory_work import failure_of
from moldau.storage.file_names import (
    DELETE_DIRECTORY,
    FUTURE_DIRECTORY,
    METADATA_TOPIC,
    LogDirectoryName,
    parse_directory,
)
from moldau.storage.future_logs import FutureLogs
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirectory, LogDirError
from moldau.storage.partition_metadata import read_topic_id
from moldau.storage.storage_error import OUT_OF_DESCRIPTORS, SHORT_OF_DESCRIPTORS, StorageError
from moldau.types import TopicPartition, Uuid

logger = logging.getLogger("moldau.storage")

_MIB: Final = 1 << 20


class LogLoading:
    """One start. `adopt` takes over a log that was opened; `directory_failed` is told the path and the reason."""

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        random: Random,
        removal: DeferredRemoval,
        futures: FutureLogs,
        topic_config: Callable[[str], LogConfig],
        adopt: Callable[[Log], None],
        directory_failed: Callable[[str, str], object],
    ) -> None:
        self._config = config
        self._disk = disk
        self._clock = clock
        self._random = random
        self._removal = removal
        self._futures = futures
        self._topic_config = topic_config
        self._adopt = adopt
        self._directory_failed = directory_failed
        self._loads: list[DirectoryLoad] = []

    def run(self, directories: Sequence[LogDirectory]) -> None:
        """Opens everything here and now."""
        self._prepare(directories)
        for load in self._loads:
            self._loaded(load, failure_of(load.run))

    def run_on(self, workers: Workers, directories: Sequence[LogDirectory]) -> Deferred[None]:
        """Every directory on a worker of its own; `progress` tells how far it is."""
        done: Deferred[None] = Deferred()
        self._prepare(directories)
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
    def progress(self) -> tuple[int, int]:
        """Logs opened, and logs there are."""
        return sum(load.finished for load in self._loads), sum(load.total for load in self._loads)

    # ----------------------------------------------------------------------------------------------------- finding

    def _prepare(self, directories: Sequence[LogDirectory]) -> None:
        names: dict[LogDirectory, Sequence[str]] = {}
        for directory in directories:
            if directory.is_online:
                try:
                    names[directory] = self._disk.list(directory.path)
                except OSError as error:
                    self._failed(directory, error)
        all_online = len(names) == len(directories)
        for directory in names:
            try:
                self._loads.append(self._prepare_directory(directory, names, all_online))
            except OSError as error:
                self._failed(directory, error)

    def _prepare_directory(
        self, directory: LogDirectory, names: Mapping[LogDirectory, Sequence[str]], all_online: bool
    ) -> DirectoryLoad:
        clean = directory.take_clean_shutdown()
        recovery_points = _read(directory.recovery_points)
        log_starts = _read(directory.log_starts)
        high_watermarks = _read(directory.high_watermarks)
        compacted = _read(directory.cleaner_offsets)
        found = []
        for name, named in self._log_directories(directory, names[directory]):
            path = posixpath.join(directory.path, name)
            if named.mark == FUTURE_DIRECTORY:
                heir = self._futures.resolve(directory, name, names, all_online)
                if heir is not None:
                    found.append(_found_heir(directory, heir))
                continue
            if named.mark == DELETE_DIRECTORY:
                self._removal.add([path], self._config.log_segment_delete_delay_ms)
            if named.mark:
                continue
            place = named.topic_partition
            found.append(
                FoundLog(
                    path,
                    place,
                    log_starts.get(place, 0),
                    recovery_points.get(place, 0),
                    high_watermarks.get(place, 0),
                    compacted.get(place),
                    clean,
                )
            )
        if found and not clean:
            logger.warning(
                "%s was not closed in order: what its %d logs had not forced to disk is checked now",
                directory.path,
                len(found),
            )
        return DirectoryLoad(directory, found, clean, self._open, self._clock)

    def _log_directories(self, directory: LogDirectory, names: Sequence[str]) -> Iterable[tuple[str, LogDirectoryName]]:
        for name in names:
            named = parse_directory(name)
            if named is None or named.topic_partition.topic == METADATA_TOPIC:
                continue
            if self._disk.is_directory(posixpath.join(directory.path, name)):
                yield name, named

    def _open(self, found: FoundLog) -> Log:
        return Log.open(
            found.path,
            self._topic_config(found.partition.topic),
            self._disk,
            self._clock,
            log_start_offset=found.log_start_offset,
            recovery_point=found.recovery_point,
            clean_shutdown=found.clean,
            topic_id=_topic_id(self._disk, found.path),
            random=self._random,
            removal=self._removal,
            producer_expiration_ms=self._config.producer_id_expiration_ms,
            compacted_once=found.compacted_up_to is not None,
        )

    # --------------------------------------------------------------------------------------------------- taking over

    def _loaded(self, load: DirectoryLoad, error: BaseException | None) -> None:
        """Takes over what was opened. A disk that failed on the way takes its directory offline with it."""
        for log in load.logs:
            self._adopt(log)
        if isinstance(error, OSError | StorageError):
            self._failed(load.directory, error)
        elif error is not None:
            raise error
        elif load.total and not load.was_clean:
            recovered = load.recovered
            logger.warning(
                "%s is whole again: %d of %d logs were read, %d segments with %.1f MiB, in %.1f s; %d bytes that were "
                "not complete were cut off",
                load.directory.path,
                recovered.logs,
                load.total,
                recovered.segments,
                recovered.bytes / _MIB,
                load.seconds,
                recovered.bytes_cut,
            )

    def _failed(self, directory: LogDirectory, error: OSError | StorageError) -> None:
        if error.errno in OUT_OF_DESCRIPTORS:
            # The disk is sound. Nobody would be helped by a node that takes half of its partitions for lost.
            raise LogDirError(f"The logs in {directory.path} could not be opened. {SHORT_OF_DESCRIPTORS}") from error
        self._directory_failed(directory.path, str(error))


def _found_heir(directory: LogDirectory, name: str) -> FoundLog:
    """A log whose move was finished at this start: nobody has closed it in order, whatever its directory says."""
    named = parse_directory(name)
    assert named is not None
    return FoundLog(posixpath.join(directory.path, name), named.topic_partition, 0, 0, 0, None, False)


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
