"""Partitions from given offsets on, without a group: what `moldau consume` and Spark's source read with.

The consumer's fetcher over a cluster's own network, so what it can do is done here too: fetches ahead of the one who
reads, leaders that move, replicas that are closer, positions compared with the leader's log. Answers are handed out
whole, for those who decode them in their own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from types import TracebackType
from typing import Final

from moldau.client.admin.offsets import IsolationLevel
from moldau.client.cluster import Cluster
from moldau.client.consumer.fetch_state import FetchState
from moldau.client.consumer.fetched import AS_THEY_ARE, FetchedRecords
from moldau.client.consumer.fetcher import Fetcher, FetchOptions
from moldau.client.conversation import Conversation, Learn, retrying
from moldau.client.fetching import FetchLimits
from moldau.errors import KafkaError
from moldau.types import TopicPartition

# How long a wait may go without a look at whether it still makes sense.
_LOOK: Final = 0.2
# As long as metadata is good for, by default: then the leader is asked again which replica is the closest.
_PREFERENCE: Final = 300.0


class PartitionReader:
    """`positions` are what is still to be read. One thread at a time uses a reader; `close` it when done."""

    def __init__(
        self,
        cluster: Cluster,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None = None,
        *,
        limits: FetchLimits | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        check_crcs: bool = True,
        rack: str = "",
        patience: float | None = None,
    ) -> None:
        """Up to `ends`, exclusive, where they are given. `patience` is how long nothing but failures is put up with."""
        limits = limits or FetchLimits()
        self.positions = {where: start for where, start in starts.items() if ends is None or start < ends[where]}
        self._ends = ends
        self._patience = cluster.timeout if patience is None else patience
        if self.positions:
            cluster.run(_known(sorted({where.topic for where in self.positions})))
        self._background, network = cluster.open()
        options = FetchOptions(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            partition_bytes=limits.partition_bytes,
            lone_partition_bytes=limits.partition_bytes,
            isolation=isolation,
            check_crcs=check_crcs,
            rack=rack,
            sessions=False,
            reset=None,
            preference=_PREFERENCE,
            deserializers=AS_THEY_ARE,
        )
        self._fetcher = Fetcher(network, options)
        for where in self.positions:
            self.seek(where, self.positions[where])
        self._background.call(self._fetcher.pump)

    def __enter__(self) -> PartitionReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops fetching; the cluster's connections stay."""
        self._background.call(self._fetcher.close)

    def seek(self, where: TopicPartition, offset: int) -> None:
        """Goes on somewhere else."""
        # One answer ahead: with the one that was handed out, that makes two in memory.
        reading = FetchState(where, until=None if self._ends is None else self._ends[where], ahead=1)
        reading.asked = True
        reading.seek(offset)
        with self._fetcher.changed:
            self.positions[where] = offset
            self._fetcher.readings[where] = reading
            self._fetcher.error = None

    def drop(self, where: TopicPartition) -> None:
        """Stops reading a partition; what is on its way for it is ignored."""
        with self._fetcher.changed:
            self.positions.pop(where, None)
            self._fetcher.readings.pop(where, None)

    def reading(self, where: TopicPartition) -> FetchState:
        """What is known of a partition: how far it goes, and what goes wrong with it."""
        return self._fetcher.readings[where]

    def poll(self, timeout: float) -> list[FetchedRecords]:
        """Waits up to `timeout` seconds for answers with batches; none in that time is an empty list.

        KafkaError when a partition cannot be read (its offset is gone, it may not be read), or when all there is to
        read has failed for as long as the patience says.
        """
        fetcher = self._fetcher
        deadline = monotonic() + timeout
        with fetcher.changed:
            while self.positions:
                found = [self._take(reading) for reading in tuple(fetcher.readings.values()) if reading.buffered]
                if found:
                    self._background.call(fetcher.pump)
                    return found
                self._complain()
                remaining = deadline - monotonic()
                if remaining <= 0:
                    break
                fetcher.changed.wait(min(remaining, _LOOK))
        return []

    def _take(self, reading: FetchState) -> FetchedRecords:
        fetched = reading.buffered.popleft()
        where, position = reading.where, fetched.next_position
        reading.position, reading.position_epoch = position, fetched.last_epoch
        self.positions[where] = position
        if reading.until is not None and position >= reading.until:
            self.drop(where)
        return fetched

    def _complain(self) -> None:
        """Raises what will not pass, and what has not passed for too long."""
        fetcher = self._fetcher
        if fetcher.error is not None:
            error, fetcher.error = fetcher.error, None
            raise error
        since = [reading.failing_since for reading in fetcher.readings.values()]
        if all(each is not None and monotonic() - each > self._patience for each in since):
            for reading in fetcher.readings.values():
                if reading.failure is not None:
                    raise KafkaError(reading.failure.code, str(reading.failure))


def _known(topics: list[str]) -> Conversation[None]:
    def attempt() -> Conversation[None]:
        yield Learn(topics)

    return retrying(attempt)
