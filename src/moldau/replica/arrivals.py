"""Partitions that are to be opened: a few in each turn of the loop, or when somebody asks for one before.

Each is a directory and a few files, and thousands may come together. A topic that is new as a whole is only noted; its
partitions are looked up when their turn comes, as the metadata has them then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from moldau.metadata.image import EMPTY_IMAGE, MetadataImage, TopicImage
from moldau.metadata.topics_delta import LocalPartition, TopicDelta
from moldau.replica.partition import Partition
from moldau.runtime.ports import Clock, Loop
from moldau.slicing import Work
from moldau.types import TopicPartition, Uuid

# How many partitions are opened in one turn of the loop, and for how long. Fewer in the turn that brings the metadata,
# which has been busy with that already.
_OPENED_PER_TURN, _OPENING_SECONDS = 16, 0.001
_OPENED_AT_FIRST, _OPENING_AT_FIRST_SECONDS = 8, 0.0005
# How many are looked at in one go: very many may have been opened before, because somebody asked for them.
_LOOKED_AT = 64

_NOTHING: Mapping[Uuid, TopicDelta] = {}


class Arrivals:
    def __init__(
        self,
        broker_id: int,
        find: Callable[[Uuid, int], Partition | None],
        open: Callable[[LocalPartition], Partition | None],
        clock: Clock,
        loop: Loop,
    ) -> None:
        # Told of partitions that are opened later than the metadata said.
        self.opened_late: Callable[[Partition], None] = lambda partition: None
        self._broker_id = broker_id
        self._clock = clock
        self._loop = loop
        self._find = find
        self._open = open
        self._image = EMPTY_IMAGE
        self._places: dict[TopicPartition, LocalPartition] = {}
        # With those of its partitions that were not looked up yet.
        self._topics: dict[Uuid, Iterator[int] | None] = {}
        self._scheduled = False

    def __bool__(self) -> bool:
        return bool(self._places or self._topics)

    def add(self, local: LocalPartition) -> None:
        self._places[local.topic_partition] = local

    def add_topic(self, topic_id: Uuid) -> None:
        self._topics[topic_id] = None

    def forget(self, place: TopicPartition, topic_id: Uuid) -> None:
        """The place may be another topic's already."""
        local = self._places.get(place)
        if local is not None and local.topic_id == topic_id:
            del self._places[place]

    def open_now(self, topic: TopicImage, index: int) -> Partition | None:
        """The partition, if it waits and its disk lets it be opened."""
        local = self._places.pop(TopicPartition(topic.name, index), None)
        if local is None and topic.id in self._topics:
            local = self._local(topic, index)
        return self._open_late(local) if local is not None else None

    def open_first(self, image: MetadataImage, changed: Mapping[Uuid, TopicDelta]) -> None:
        """While metadata is being published in which these topics `changed`."""
        self._image = image
        self._open_some(_OPENED_AT_FIRST, _OPENING_AT_FIRST_SECONDS, changed)

    def open_more(self) -> None:
        self._open_some(_OPENED_PER_TURN, _OPENING_SECONDS, _NOTHING)

    def open_all(self) -> Work[None]:
        while self:
            local = self._next()
            if local is not None:
                self._open_late(local)
            yield

    def _open_some(self, limit: int, seconds: float, changed: Mapping[Uuid, TopicDelta]) -> None:
        until = self._clock.monotonic() + seconds
        try:
            while limit and self and self._clock.monotonic() <= until:
                local = self._next()
                if local is None:
                    continue
                topic = changed.get(local.topic_id)
                if topic is not None and local.topic_partition.partition in topic.partitions:
                    self._open(local)
                else:
                    self._open_late(local)
                limit -= 1
        finally:
            # Also when one of them failed: nobody would ask for the others, which are followed and not read.
            if self and not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self._continue)

    def _continue(self) -> None:
        self._scheduled = False
        self.open_more()

    def _open_late(self, local: LocalPartition) -> Partition | None:
        """After the metadata was published: whoever would have found it open then is told."""
        partition = self._open(local)
        if partition is not None:
            self.opened_late(partition)
        return partition

    def _next(self) -> LocalPartition | None:
        """One to be opened, if there is one among the next few."""
        if self._places:
            return self._places.pop(next(iter(self._places)))
        left = _LOOKED_AT
        while self._topics:
            topic_id, indexes = next(iter(self._topics.items()))
            topic = self._image.topics.by_id(topic_id)
            if topic is not None:
                if indexes is None:
                    indexes = self._topics[topic_id] = iter(tuple(topic.partitions))
                for index in indexes:
                    local = self._local(topic, index)
                    # Somebody may have asked for it before.
                    if local is not None and self._find(topic_id, index) is None:
                        return local
                    left -= 1
                    if left <= 0:
                        return None
            left -= 1
            del self._topics[topic_id]
            if left <= 0:
                return None
        return None

    def _local(self, topic: TopicImage, index: int) -> LocalPartition | None:
        state = topic.partitions.get(index)
        if state is None or self._broker_id not in state.replicas:
            return None
        return LocalPartition(TopicPartition(topic.name, index), topic.id, state)
