"""All logs of a node: found at the start, created in the directory with the fewest, given up when their topics are.

The manager knows the logs and their directories. Opening them is the business of `log_loading`, giving them up of
`retirement`, closing them of `log_closing`, and what is done with them now and then of `upkeep`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.ports import Clock, Disk, Loop, Random, Workers
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.directory_work import DirectoryWork
from moldau.storage.file_names import DELETE_DIRECTORY
from moldau.storage.forcing import Forcing
from moldau.storage.future_logs import FutureLogs
from moldau.storage.log import Log
from moldau.storage.log_closing import LogClosing
from moldau.storage.log_dirs import LogDirectory, open_directories
from moldau.storage.log_loading import LogLoading
from moldau.storage.partition_metadata import write_topic_id
from moldau.storage.retirement import Retirement
from moldau.storage.storage_error import StorageError
from moldau.storage.strays import Strays
from moldau.types import ZERO_UUID, TopicPartition, Uuid


class LogManager:
    """Without `loop` and `workers` everything is done in place, as tools and tests want it.

    `failed` is told once of every failure of a disk, whoever was using it: see `PartitionDirectory.failed`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        random: Random,
        *,
        cluster_id: str,
        topic_config: Callable[[str], LogConfig] | None = None,
        loop: Loop | None = None,
        workers: Workers | None = None,
    ) -> None:
        self._config = config
        self.disk = disk
        self._clock = clock
        self._random = random
        self._cluster_id = cluster_id
        defaults = config.log_defaults()
        self._topic_config = topic_config or (lambda topic: defaults)
        self._workers = workers
        self._logs: dict[TopicPartition, Log] = {}
        self._work: dict[str, DirectoryWork] = {}
        self._loading: LogLoading | None = None
        self._running: Sequence[LogClosing] = ()
        self.directories: list[LogDirectory] = []
        self.broker_epoch = -1
        self.failed: Callable[[StorageError], None] = lambda error: None
        # Public for the rooms beside this one: files that wait to be removed, logs that belong nowhere, logs on their
        # way in and out.
        self.strays = Strays()
        self.removal = DeferredRemoval(disk, clock)
        self.forcing = Forcing(clock)
        self.futures = FutureLogs(disk, clock, random, self.removal, config.producer_id_expiration_ms)
        self.retirement = Retirement(disk, random, self.removal, self._directory_and_work, self.report, loop)

    def report(self, error: StorageError) -> None:
        """Where every failure of a disk arrives."""
        self.failed(error)

    # ---------------------------------------------------------------------------------------------------- start

    def start(self) -> None:
        """Takes hold of the directories and opens every log in them; LogDirError if that is not possible."""
        self.open()
        self.load(self._topic_config)

    def open(self) -> None:
        """Takes hold of the directories; LogDirError if that is not possible."""
        self.directories = open_directories(
            self.disk,
            self._config.log_directories,
            cluster_id=self._cluster_id,
            node_id=self._config.node_id,
            random=self._random,
        )
        self._work = {directory.path: DirectoryWork(self._workers) for directory in self.directories}

    def load(self, topic_config: Callable[[str], LogConfig]) -> None:
        """Opens every log, with the settings of its topic: recovery must know whether a log is compacted, since what
        is a hole in others is ordinary there."""
        try:
            self._begin_loading(topic_config).run(self.directories)
        except BaseException:
            self.abandon()
            raise

    def load_on(self, workers: Workers, topic_config: Callable[[str], LogConfig]) -> Deferred[None]:
        """The same with every directory on a worker of its own; `load_progress` tells how far it is."""
        return self._begin_loading(topic_config).run_on(workers, self.directories)

    @property
    def load_progress(self) -> tuple[int, int]:
        """Logs opened, and logs there are."""
        return (0, 0) if self._loading is None else self._loading.progress

    def _begin_loading(self, topic_config: Callable[[str], LogConfig]) -> LogLoading:
        self._loading = LogLoading(
            self._config,
            self.disk,
            self._clock,
            self._random,
            self.removal,
            self.futures,
            topic_config,
            self._adopt,
            self.directory_failed,
        )
        return self._loading

    def _adopt(self, log: Log) -> None:
        other = self._logs.get(log.topic_partition)
        if other is not None:
            log, stray = self.strays.told_apart(log, other)
            self.retirement.retire(stray, self.strays.mark(stray))
        self._own(log)

    def _own(self, log: Log) -> Log:
        log.directory.report = self.report
        self._logs[log.topic_partition] = log
        return log

    # ----------------------------------------------------------------------------------------------------- logs

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        return MappingProxyType(self._logs)

    def get(self, partition: TopicPartition) -> Log | None:
        return self._logs.get(partition)

    def is_free(self, partition: TopicPartition) -> bool:
        """Whether a log of this name may be created: nothing must be left of an earlier one, in no checkpoint either.

        If not, whatever is left is removed, and `retirement.freed` is called when that is done.
        """
        if not self.retirement.is_free(partition):
            return False
        stale = [
            directory
            for directory in self.directories
            if directory.is_online and any(partition in checkpoint.entries for checkpoint in directory.checkpoints)
        ]
        for directory in stale:
            self._drop_stale_entries(directory)
        return not any(partition in checkpoint.entries for one in stale for checkpoint in one.checkpoints)

    def get_or_create(
        self, partition: TopicPartition, topic_id: Uuid, config: LogConfig, directory_id: Uuid | None = None
    ) -> Log:
        """The partition's log, created where `directory_id` says or where there are fewest logs.

        KafkaError INCONSISTENT_TOPIC_ID if there is one that belongs to another topic of the same name, and
        KAFKA_STORAGE_ERROR while an earlier one is on its way out (`is_free`).
        """
        log = self._logs.get(partition)
        if log is not None:
            self._check_topic_id(log, topic_id)
            return log
        if not self.is_free(partition):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"The earlier log of {partition} is still being deleted.")
        directory = self._choose(directory_id)
        path = posixpath.join(directory.path, str(partition))
        try:
            self.disk.make_directories(path)
            write_topic_id(self.disk, path, topic_id)
            log = Log.open(
                path,
                config,
                self.disk,
                self._clock,
                topic_id=topic_id,
                random=self._random,
                removal=self.removal,
                producer_expiration_ms=self._config.producer_id_expiration_ms,
            )
        except StorageError as error:
            self.report(error)
            raise
        except OSError as error:
            failure = StorageError(directory.path, f"Creating {partition}", error)
            self.report(failure)
            raise failure from error
        return self._own(log)

    def delete(self, partition: TopicPartition) -> None:
        """Takes a log out of use at once and off the disk a little later. Nothing happens if there is none."""
        self._retire(partition, DELETE_DIRECTORY)

    def set_aside(self, partition: TopicPartition) -> None:
        """Takes a log that belongs to no partition of the cluster out of the way (`strays`)."""
        log = self._logs.get(partition)
        if log is not None:
            self._retire(partition, self.strays.mark(log))

    def exchange(self, partition: TopicPartition) -> Log:
        """Puts the future log of a partition in the place of its current one, which is deleted; returns the new one.

        Both must hold the same records, and the future one must have been announced. StorageError if a disk fails; it
        has been reported then, and the partition is offline unless its log is still where it was.
        """
        current = self._logs[partition]
        try:
            self.futures.give_up_name(current)
            future = self._own(self.futures.logs.pop(partition))
            self.retirement.retire(current, DELETE_DIRECTORY)
            self.futures.take_name(future)
        except StorageError as error:
            self.report(error)
            raise
        return future

    def _retire(self, partition: TopicPartition, mark: str) -> None:
        log = self._logs.pop(partition, None)
        if log is not None:
            self.retirement.retire(log, mark)
        try:
            self.futures.discard(partition)
        except StorageError as error:
            self.report(error)  # of the disk it was to move to: no matter for whoever gives up the log

    def truncate(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Cuts logs back to where they agree with their leaders.

        Their recovery points go back first and durably: what is written in place of the cut records has not been
        forced to disk, and a start after a power cut must look at it.
        """
        behind = set()
        for partition, offset in offsets.items():
            log = self._logs[partition]
            if offset < log.durability.recovery_point:
                behind.add(log.directory.parent)
            log.durability.recovery_point = min(log.durability.recovery_point, offset)
        for directory in self.directories:
            if directory.is_online and directory.path in behind:
                points = {
                    partition: log.durability.settled_offset for partition, log in self.logs_in(directory.path).items()
                }
                try:
                    directory.recovery_points.write(points)
                except OSError as error:
                    failure = StorageError(directory.path, "Writing a checkpoint", error)
                    self.report(failure)
                    raise failure from error
        for partition, offset in offsets.items():
            self._logs[partition].local.truncate_to(offset)

    def logs_in(self, path: str) -> dict[TopicPartition, Log]:
        """The logs that live in one directory."""
        return {partition: log for partition, log in self._logs.items() if log.directory.parent == path}

    def _check_topic_id(self, log: Log, topic_id: Uuid) -> None:
        if log.topic_id is None:
            try:
                # Durably: whose records these are must not be forgotten a second time.
                write_topic_id(self.disk, log.directory.path, topic_id, sync=True)
            except OSError as error:
                raise log.directory.failed("Marking", error) from error
            log.topic_id = topic_id
        elif log.topic_id != topic_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_TOPIC_ID,
                f"The log in {log.directory.path} belongs to another topic of the same name.",
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
            counts[log.directory.parent] += 1
        return min(online, key=lambda directory: counts[directory.path])

    # --------------------------------------------------------------------------------------------- directories

    @property
    def has_offline_directory(self) -> bool:
        return any(not directory.is_online for directory in self.directories)

    def directory_id(self, path: str) -> Uuid | None:
        return next((directory.id for directory in self.directories if directory.path == path), None)

    def is_online(self, path: str) -> bool:
        return any(directory.path == path and directory.is_online for directory in self.directories)

    def offline_ids(self) -> list[Uuid]:
        """The directories that are out of service, as the controller knows them; those never read have no id."""
        return [directory.id for directory in self.directories if not directory.is_online and directory.id != ZERO_UUID]

    def work_in(self, path: str) -> DirectoryWork:
        """Where jobs for one directory are queued."""
        return self._work[path]

    def directory_failed(self, path: str, reason: str) -> list[TopicPartition]:
        """Takes a directory and its logs out of service; returns the partitions that are gone with it."""
        for directory in self.directories:
            if directory.path == path and directory.is_online:
                directory.failure = reason
                directory.release()
        self.futures.directory_failed(path)
        gone = list(self.logs_in(path))
        for partition in gone:
            self._logs.pop(partition).segments.release()
        self.retirement.directory_failed(path)
        return gone

    def _directory_and_work(self, path: str) -> tuple[LogDirectory, DirectoryWork]:
        directory = next(directory for directory in self.directories if directory.path == path)
        return directory, self._work[path]

    def _drop_stale_entries(self, directory: LogDirectory) -> None:
        here = set(self.logs_in(directory.path))

        def dropped(error: BaseException | None) -> None:
            if isinstance(error, OSError):
                self.report(StorageError(directory.path, "Writing a checkpoint", error))
            elif error is not None:
                raise error
            else:
                self.retirement.freed()

        self._work[directory.path].submit(lambda: directory.keep_entries(here.__contains__), dropped)

    # ---------------------------------------------------------------------------------------------------- stop

    def close(self) -> None:
        """Forces everything to disk, writes the checkpoints and, if all went well, the mark of a clean stop."""
        self.retirement.finish()
        try:
            for closing in self._closings():
                closing.run()
        finally:
            self.abandon()

    def close_on(self, workers: Workers) -> Deferred[None]:
        """The same on workers, all directories and several logs at a time. Never fails; `hurry` ends it early."""
        self.retirement.finish()
        done: Deferred[None] = Deferred()
        closings = self._running = self._closings()
        left = len(closings)

        def closed() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self._logs.clear()  # they have let go of their files
                self.abandon()
                done.resolve(None)

        if not closings:
            self.abandon()
            done.resolve(None)
        for closing in closings:
            closing.run_on(workers, self._work[closing.directory.path], closed)
        return done

    def hurry(self) -> None:
        """Closing has taken too long: what is not closed by now is left to the next start."""
        for closing in self._running:
            closing.give_up()

    def _closings(self) -> Sequence[LogClosing]:
        return [
            LogClosing(directory, list(self.logs_in(directory.path).values()), self.broker_epoch)
            for directory in self.directories
            if directory.is_online
        ]

    def abandon(self) -> None:
        """Lets go of everything without writing."""
        self.futures.abandon()
        for log in self._logs.values():
            log.segments.release()
        self._logs.clear()
        for directory in self.directories:
            directory.release()
