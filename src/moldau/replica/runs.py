"""Produce requests that are written together: what the express way (`_speed/express`) asks the replicas.

Only partitions that this broker alone is in charge of have runs: then records count as soon as they are in the log,
whatever the producer asked for, and no answer waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau._speed import BatchHeader
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.runtime.ports import Clock, Commits
from moldau.storage.run import Run, Written, admits, close_run, open_run
from moldau.types import Uuid


class Runs:
    def __init__(
        self,
        replicas: ReplicaManager,
        clock: Clock,
        last_version: int,
        commits: Commits | None = None,
        served: object = None,
        is_closed: Callable[[], bool] = lambda: False,
    ) -> None:
        """`served` counts what is served so; `is_closed` while every request has to be looked at: somebody is held to a
        quota."""
        # Of Produce, as far as it is offered.
        self.last_version: Final = last_version
        self.commits: Final = commits
        self.served: Final = served
        self._replicas = replicas
        self._watched = replicas.fetches.watched
        self._now_ms = clock.now_ms
        self._is_closed = is_closed

    def of(self, _connection: object) -> Runs:
        """For one connection: here all may do the same."""
        return self

    def find(self, topic: str | Uuid, index: int) -> Partition | None:
        """The partition, if clients may write to it."""
        replicas = self._replicas
        hosted = replicas.by_name.get(topic) if isinstance(topic, str) else replicas.by_id.get(topic)
        return None if hosted is None or hosted.internal else hosted.partitions.get(index)

    def open(self, partition: Partition) -> Run | None:
        # Found in an earlier turn perhaps: its topic may have been deleted since, and it may not have left yet.
        if not partition.has_runs or self._is_closed() or partition.topic_id not in self._replicas.by_id:
            return None
        return open_run(partition.log.local, partition.leader_epoch, self._now_ms(), partition.traffic)

    def admits(self, partition: Partition, header: BatchHeader) -> bool:
        return admits(partition.log.local, header)

    def close(
        self,
        partition: Partition,
        position: int,
        end_offset: int,
        first: tuple[int, int],
        newest: tuple[int, int],
        places: dict[int, int],
        written: list[Written],
    ) -> None:
        close_run(partition.log.local, position, end_offset, first, newest, places, written)
        if partition in self._watched:
            self._replicas.wake_readers(partition)

    def failed(self, partition: Partition) -> None:
        partition.log.segments.active.tear()
