"""How many requests of each API and version came, and how long they took: where Kafka measures it, in its words.

Counted is every request, timed one of sixteen, and what begins on a connection (`Connection`): so it costs next to
nothing. A request waits in the queue from the moment at which the loop learnt that it is there until its turn comes;
it is local while it is being worked on, and remote while it waits: for records, replicas, the disk, or for its next
slice where it is large. Its answer waits in the response queue for the end of the turn, and is sent from then on until
the client's side has taken all of it.
"""

from __future__ import annotations

from typing import Final

from moldau.metrics.histogram import Histogram

# As Kafka names all fetches, those of followers and all others.
FETCH: Final = "Fetch"
FETCH_CONSUMER: Final = "FetchConsumer"
FETCH_FOLLOWER: Final = "FetchFollower"


class Spreads:
    """Of one kind of requests, each part of the time by itself."""

    __slots__ = ("local", "name", "queue", "remote", "response_queue", "send", "throttle", "total")

    def __init__(self, name: str) -> None:
        self.name = name
        self.queue, self.local, self.remote = Histogram(), Histogram(), Histogram()
        self.response_queue, self.send = Histogram(), Histogram()
        self.throttle, self.total = Histogram(), Histogram()


class ApiTimes:
    """Of one API; fetches of followers and of others apart, and together."""

    __slots__ = ("all", "of_consumers", "of_followers")

    def __init__(self, name: str) -> None:
        self.all = Spreads(name)
        is_fetch = name == FETCH
        self.of_consumers = Spreads(FETCH_CONSUMER) if is_fetch else None
        self.of_followers = Spreads(FETCH_FOLLOWER) if is_fetch else None

    @property
    def kinds(self) -> tuple[Spreads, ...]:
        return tuple(each for each in (self.all, self.of_consumers, self.of_followers) if each is not None)

    def spreads(self, is_follower: bool) -> tuple[Spreads, ...]:
        apart = self.of_followers if is_follower else self.of_consumers
        return (self.all,) if apart is None else (self.all, apart)


class Tally:
    """Requests of one API and version."""

    __slots__ = ("count", "of_followers", "times", "version")

    def __init__(self, version: int, times: ApiTimes) -> None:
        self.version = version
        self.times = times
        self.count = 0
        self.of_followers = 0

    def add(self, count: int, is_follower: bool) -> None:
        self.count += count
        if is_follower:
            self.of_followers += count


class Timing:
    """One request while it is observed."""

    __slots__ = (
        "_answered_at",
        "_begun_at",
        "_polled_at",
        "_spreads",
        "_times",
        "flushed_at",
        "handled_at",
        "throttle_seconds",
    )

    def __init__(self, times: ApiTimes, polled_at: float, begun_at: float) -> None:
        self._times = times
        self._spreads: tuple[Spreads, ...] = ()
        self._polled_at = polled_at
        self._begun_at = begun_at
        # When whoever handles it had done what could be done at once; None while he is at it.
        self.handled_at: float | None = None
        self._answered_at = begun_at
        self.flushed_at = begun_at
        self.throttle_seconds = 0.0

    def answered(self, now: float, is_follower: bool) -> None:
        self._answered_at = now
        self._spreads = self._times.spreads(is_follower)

    def left(self, now: float) -> None:
        """All of the answer has been taken."""
        handled_at = self._answered_at if self.handled_at is None else self.handled_at
        for spreads in self._spreads:
            spreads.queue.record(self._begun_at - self._polled_at)
            spreads.local.record(handled_at - self._begun_at)
            spreads.remote.record(self._answered_at - handled_at)
            spreads.response_queue.record(self.flushed_at - self._answered_at)
            spreads.send.record(now - self.flushed_at)
            spreads.throttle.record(self.throttle_seconds)
            spreads.total.record(now - self._polled_at)
