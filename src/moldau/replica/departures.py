"""Topics that were deleted: nobody finds them from that moment on, and their partitions go one after the other.

Thousands of them may go together, so they go in slices. A topic that is created under the name meanwhile does not wait
for all of that: the partition whose place it needs goes first.
"""

from __future__ import annotations

from collections.abc import Callable

from moldau.deferred import Deferred
from moldau.errors import MoldauError
from moldau.metadata.image import TopicImage
from moldau.replica.partition import Partition
from moldau.slicing import Slicer, Work, run_whole
from moldau.types import TopicPartition, Uuid


class _Departure:
    __slots__ = ("open", "topic")

    def __init__(self, topic: TopicImage, open: dict[int, Partition]) -> None:
        self.topic = topic
        # Those that were open and have not left yet.
        self.open = open


class Departures:
    """`leave` is called at least once for each partition, with its `Partition` the first time if it was open."""

    def __init__(
        self,
        slicer: Slicer,
        leave: Callable[[TopicPartition, Uuid, Partition | None], None],
        failed: Callable[[MoldauError], None],
    ) -> None:
        self._slicer = slicer
        self._leave = leave
        self._failed = failed
        # By name, the oldest first: a topic may be deleted, created and deleted again.
        self._topics: dict[str, list[_Departure]] = {}
        self._running = False

    def __bool__(self) -> bool:
        return bool(self._topics)

    def add(self, topic: TopicImage, open: dict[int, Partition]) -> None:
        self._topics.setdefault(topic.name, []).append(_Departure(topic, open))

    def begin(self) -> None:
        """A few at once, the rest in later turns of the loop."""
        if self._running or not self._topics:
            return
        self._running = True
        outcome = self._slicer.run(self._all())
        if isinstance(outcome, Deferred):
            outcome.then(self._ended)

    def _ended(self, _value: None, error: BaseException | None) -> None:
        if error is not None:
            self._failed(MoldauError(f"Partitions of a deleted topic could not be given up: {error}"))

    def hasten(self, place: TopicPartition) -> None:
        """Somebody else needs this place now."""
        for departure in self._topics.get(place.topic, ()):
            if place.partition in departure.topic.partitions:
                self._let_go(departure, place.partition)

    def finish(self) -> None:
        """All of them now, as at a stop."""
        run_whole(self._all())

    def _all(self) -> Work[None]:
        try:
            while self._topics:
                name, departures = next(iter(self._topics.items()))
                departure = departures[0]
                for index in departure.topic.partitions:
                    self._let_go(departure, index)
                    yield
                if departure in departures:
                    departures.remove(departure)
                if not departures:
                    self._topics.pop(name, None)
        finally:
            self._running = False

    def _let_go(self, departure: _Departure, index: int) -> None:
        topic = departure.topic
        self._leave(TopicPartition(topic.name, index), topic.id, departure.open.pop(index, None))
