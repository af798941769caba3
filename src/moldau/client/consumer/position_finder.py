"""Where to begin: at what the group committed, or where the reset policy says."""

from __future__ import annotations

from moldau.client.admin.offsets import FoundOffset, IsolationLevel, list_offsets
from moldau.client.consumer.fetch_state import EARLIEST, LATEST, FetchState
from moldau.client.consumer.fetcher import Fetcher
from moldau.client.consumer.offsets import GroupOffsets
from moldau.client.conversation import Conversation
from moldau.client.exceptions import named
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import NoOffsetForPartitionError
from moldau.types import NO_EPOCH, TopicPartition


class PositionFinder:
    """Gives readings without a position one. On the network's thread."""

    def __init__(self, fetcher: Fetcher, group: GroupOffsets | None, timeout: float) -> None:
        self._fetcher = fetcher
        self._group = group
        self._timeout = timeout
        fetcher.find_positions = self.find

    def find(self, readings: list[FetchState]) -> None:
        turns = {reading: reading.turn for reading in readings}
        network = self._fetcher.network

        def found(offsets: dict[TopicPartition, FoundOffset] | None, error: BaseException | None) -> None:
            with self._fetcher.changed:
                for reading, turn in turns.items():
                    reading.looking = False
                    if offsets is not None and reading.where in offsets and reading.turn == turn:
                        start = offsets[reading.where]
                        reading.seek(start.offset, start.leader_epoch)
                    else:
                        reading.not_before = network.clock.monotonic() + network.backoff.delay(0)
                still = any(reading.position is None and reading.turn == turn for reading, turn in turns.items())
                if error is not None and still and not (isinstance(error, KafkaError) and error.retriable):
                    self._fetcher.error = named(error)
                self._fetcher.changed.notify_all()
            self._fetcher.pump()

        network.perform(self._starts(list(readings)), self._timeout).then(found)

    def _starts(self, readings: list[FetchState]) -> Conversation[dict[TopicPartition, FoundOffset]]:
        starts: dict[TopicPartition, FoundOffset] = {}
        unsaid = [reading.where for reading in readings if reading.reset is None]
        if unsaid and self._group is not None:
            committed = yield from self._group.fetch(unsaid)
            for where, offset in committed.items():
                starts[where] = FoundOffset(offset.offset, leader_epoch=offset.leader_epoch)
        default = self._fetcher.options.reset
        times: dict[TopicPartition, int] = {}
        missing: list[TopicPartition] = []
        for reading in readings:
            if reading.where in starts:
                continue
            if reading.reset is not None:
                times[reading.where] = reading.reset
            elif default is not None:
                time = default.time(self._fetcher.network.clock.now_ms())
                times[reading.where] = EARLIEST if reading.appeared and time == LATEST else time
            else:
                missing.append(reading.where)
        absent: set[TopicPartition] = set()
        starts.update((yield from self._by_time(times, absent)))
        for reading in readings:
            # Whatever is in it when it is there was written while it was waited for.
            reading.appeared = reading.appeared or reading.where in absent
        if missing:
            names = ", ".join(str(where) for where in missing)
            raise NoOffsetForPartitionError(f"There is no committed offset and no reset policy for {names}.")
        return starts

    def _by_time(
        self, times: dict[TopicPartition, int], absent: set[TopicPartition]
    ) -> Conversation[dict[TopicPartition, FoundOffset]]:
        """`absent` is told of those that are not there yet."""
        if not times:
            return {}
        isolation = self._fetcher.options.isolation
        found = yield from list_offsets(times, isolation=isolation)
        starts: dict[TopicPartition, FoundOffset] = {}
        for where, offset in found.items():
            if isinstance(offset, KafkaError):
                if not offset.retriable:
                    raise offset
                if offset.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not self._is_there(where):
                    absent.add(where)
            elif offset.found:
                starts[where] = offset
        late = [where for where, offset in found.items() if isinstance(offset, FoundOffset) and not offset.found]
        if late:  # no record is that young: begin with the next one to come
            ends = yield from list_offsets(dict.fromkeys(late, -1), isolation=isolation)
            starts.update({where: end for where, end in ends.items() if isinstance(end, FoundOffset)})
        return {where: FoundOffset(start.offset, start.timestamp, NO_EPOCH) for where, start in starts.items()}

    def _is_there(self, where: TopicPartition) -> bool:
        """As far as brokers have said; a leader that does not know its partition may just have started."""
        topic = self._fetcher.network.view.topics.get(where.topic)
        return topic is not None and where.partition in topic.partitions


def offsets_by_time(
    times: dict[TopicPartition, int], isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
) -> Conversation[dict[TopicPartition, FoundOffset]]:
    """For applications: the first error ends it."""
    found = yield from list_offsets(times, isolation=isolation)
    result: dict[TopicPartition, FoundOffset] = {}
    for where, offset in found.items():
        if isinstance(offset, KafkaError):
            raise KafkaError(offset.code, str(offset)) if offset.code is not ErrorCode.NONE else offset
        result[where] = offset
    return result
