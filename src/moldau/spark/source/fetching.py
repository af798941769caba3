"""What the brokers have of the ranges of a task, answer by answer.

The clients' own reader fetches (`PartitionReader`): ahead of Spark, all ranges of a task with one request per broker,
from the closest replica, each answer sized to what is left of its range. Here it is decided what trouble means for a
range, whose records are known to have been there: leaders that move and brokers that restart are waited for, offsets
that are gone are a loss of data, and a broker that has nothing to say about offsets it once named is given
kafkaConsumer.pollTimeoutMs.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Final

from moldau.client.admin.offsets import EARLIEST, LATEST, FoundOffset, IsolationLevel, list_offsets
from moldau.client.cluster import Cluster
from moldau.client.consumer.fetch_state import FetchState
from moldau.client.consumer.fetched import FetchedRecords
from moldau.client.consumer.partition_reader import PartitionReader
from moldau.client.conversation import NOT_THERE, Conversation, Learn, retrying
from moldau.client.fetching import FetchLimits
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import LogTruncationError
from moldau.spark.source.loss import report_loss
from moldau.spark.source.ranges import OffsetRange, Task
from moldau.spark.source.settings import SourceSettings
from moldau.types import ZERO_UUID, TopicPartition

# How long a wait for records goes on without a look at how each range is doing.
_LOOK: Final = 0.1
# How much longer than it may wait a broker may be silent before it counts as away.
_SILENCE: Final = 5.0

_GONE: Final = ErrorCode.OFFSET_OUT_OF_RANGE


class TaskFetcher:
    """Iterates over what comes for the ranges of a task, each of another partition, until every range is through."""

    def __init__(self, cluster: Cluster, task: Task, settings: SourceSettings) -> None:
        self._cluster = cluster
        self._settings = settings
        self._ranges = {wanted.where: wanted for wanted in task}
        self._progress = dict.fromkeys(self._ranges, monotonic())
        # When a broker last said anything about a partition: its own time, and ours.
        self._heard = dict.fromkeys(self._ranges, (0, 0.0))

    def __iter__(self) -> Iterator[tuple[OffsetRange, FetchedRecords]]:
        settings = self._settings
        reader = PartitionReader(
            self._cluster,
            {where: wanted.start for where, wanted in self._ranges.items()},
            {where: wanted.end for where, wanted in self._ranges.items()},
            limits=FetchLimits(*settings.fetch),
            isolation=settings.isolation,
            check_crcs=settings.check_crc,
            rack=settings.rack,
            patience=settings.poll_timeout,
        )
        with reader:
            while reader.positions:
                try:
                    answers = reader.poll(_LOOK)
                except KafkaError as error:
                    self._mend(reader, error)
                    continue
                for fetched in answers:
                    wanted = self._ranges[fetched.where]
                    if self._is_another(wanted):
                        self._renewed(reader, wanted, fetched.position)
                    else:
                        yield wanted, fetched
                # Spark may have taken its time over the records; that is nothing the broker can be blamed for.
                now = monotonic()
                for where in self._ranges if answers else ():
                    self._progress[where] = now
                self._look_after(reader)

    # ------------------------------------------------------------------------------------------------- trouble

    def _look_after(self, reader: PartitionReader) -> None:
        """Ranges that get nothing: they are given up when it has been too long, or what they are part of is gone."""
        now = monotonic()
        for where in tuple(reader.positions):
            reading, wanted = reader.reading(where), self._ranges[where]
            if reading.taken_at != self._heard[where][0]:
                self._heard[where] = reading.taken_at, now
            if reading.failure is not None:
                self._failing(reader, reading, wanted)
            elif now - self._progress[where] > self._settings.poll_timeout:
                self._nothing(reader, reading, wanted)

    def _nothing(self, reader: PartitionReader, reading: FetchState, wanted: OffsetRange) -> None:
        """Nothing came for too long, from a place where there was something when the range was made."""
        where, settings = wanted.where, self._settings
        waited = f"within {settings.poll_timeout:g} s (kafkaConsumer.pollTimeoutMs)"
        if monotonic() - self._heard[where][1] > settings.fetch.max_wait_ms / 1000 + _SILENCE:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"No broker gave an answer about {where} {waited}.")
        edge = reading.last_stable if settings.isolation is IsolationLevel.READ_COMMITTED else reading.end
        self._lost(
            f"Partition {where} gave nothing for offset {reader.positions[where]} {waited}; it ends at {edge}, "
            f"and was to be read up to {wanted.end}"
        )
        reader.drop(where)

    def _failing(self, reader: PartitionReader, reading: FetchState, wanted: OffsetRange) -> None:
        where, failure = wanted.where, reading.failure
        assert failure is not None
        if self._is_another(wanted):
            self._renewed(reader, wanted, reader.positions[where])
        elif failure.code in NOT_THERE and reading.failures > self._settings.retries + 1:
            position = reader.positions[where]
            self._lost(f"Partition {where} is no longer there; it was to be read from {position} to {wanted.end}")
            reader.drop(where)
        elif monotonic() - (reading.failing_since or 0.0) > self._settings.poll_timeout:
            raise failure

    def _mend(self, reader: PartitionReader, error: KafkaError) -> None:
        """Finds out where to go on after offsets that are gone; raises what will not pass."""
        stopped = {where: reader.reading(where).failure for where in tuple(reader.positions)}
        cut = [where for where, failure in stopped.items() if isinstance(failure, LogTruncationError)]
        gone = [where for where, failure in stopped.items() if failure and failure.code is _GONE]
        if not cut and not (gone and error.code is _GONE):
            raise error
        for where in cut:
            position = reader.positions[where]
            self._lost(f"Partition {where} was cut back below offset {position}, up to which it had been read")
            reader.seek(where, position)
        for where in gone:
            self._find_position(reader, where)

    def _find_position(self, reader: PartitionReader, where: TopicPartition) -> None:
        position, wanted = reader.positions[where], self._ranges[where]
        if self._is_another(wanted):
            self._renewed(reader, wanted, position)
            return
        earliest, latest = self._edge(where, EARLIEST), self._edge(where, LATEST)
        if earliest <= position <= latest:
            # Another broker answered than the one that refused: a leader that is still catching up. It is asked again
            # by itself, after a pause.
            if monotonic() - self._progress[where] > self._settings.poll_timeout:
                raise KafkaError(_GONE)
        elif position < earliest:
            self._lost(f"Partition {where} begins at {earliest}, and was to be read from {position}")
            if earliest < wanted.end:
                reader.seek(where, earliest)
            else:
                reader.drop(where)
        else:
            self._lost(f"Partition {where} ends at {latest}, and was to be read from {position}")
            reader.drop(where)

    def _edge(self, where: TopicPartition, edge: int) -> int:
        answer = self._cluster.run(list_offsets({where: edge}))[where]
        if not isinstance(answer, FoundOffset):
            raise answer
        return answer.offset

    def _is_another(self, wanted: OffsetRange) -> bool:
        """Whether another topic has the name by now. What this process knew of it may be older than the range."""
        if not self._differs(wanted):
            return False
        self._cluster.run(_learned_anew(wanted.topic))
        return self._differs(wanted)

    def _differs(self, wanted: OffsetRange) -> bool:
        topic = self._cluster.view.topics.get(wanted.topic)
        return topic is not None and ZERO_UUID not in (wanted.topic_id, topic.id) and topic.id != wanted.topic_id

    def _renewed(self, reader: PartitionReader, wanted: OffsetRange, position: int) -> None:
        reader.drop(wanted.where)
        self._lost(
            f"Topic {wanted.topic!r} was deleted and made anew; partition {wanted.partition} of the former one was to "
            f"be read from {position} to {wanted.end}"
        )

    def _lost(self, what: str) -> None:
        report_loss(what, fail=self._settings.fail_on_data_loss)


def _learned_anew(topic: str) -> Conversation[None]:
    def attempt() -> Conversation[None]:
        yield Learn([topic], anew=True)

    return retrying(attempt)
