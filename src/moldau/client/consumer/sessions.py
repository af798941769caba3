"""Fetches in flight, and their sessions (KIP-227): the broker remembers what is wanted, and is told only what changed.

Session and epoch 0 opens one and names everything; after that each request counts the epoch up. A broker that has
forgotten the session, or does not keep any, is told everything again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.client.leaders import by_topic
from moldau.client.metadata import ClusterView
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from moldau.types import NO_EPOCH, ZERO_UUID, TopicPartition

_NO_SESSION: Final = 0
_FIRST: Final = 0
_OUTSIDE: Final = -1
_LAST_EPOCH: Final = 0x7FFFFFFF

# Fetches wait at the broker, so they have connections of their own.
MAIN: Final = "fetch"
ASIDE: Final = "fetch aside"

# An answer that has records comes at once. What took longer than this is waiting for some.
_AT_ONCE: Final = 0.01
# Not worth a request of its own when the first is back in this time.
_SOON: Final = 0.02
_BRIEFLY: Final = 0.05


class Wanted(NamedTuple):
    """What a fetch says of one partition; the session goes on as long as none of this changes."""

    offset: int
    leader_epoch: int
    last_epoch: int
    log_start: int
    max_bytes: int


class FetchSession:
    """With one node, over one connection."""

    def __init__(self, *, incremental: bool = True) -> None:
        self._incremental = incremental
        self._id = _NO_SESSION
        self._epoch = _FIRST if incremental else _OUTSIDE
        self._told: dict[TopicPartition, Wanted] = {}
        self._ids: dict[str, bytes] = {}

    def reset(self) -> None:
        self._id, self._epoch = _NO_SESSION, _FIRST if self._incremental else _OUTSIDE
        self._told.clear()

    def fill(self, request: FetchRequest, wanted: Mapping[TopicPartition, Wanted], view: ClusterView) -> None:
        """Puts into the request what the broker does not know yet."""
        ids = {name: view.topics[name].id for name in {where.topic for where in wanted} if name in view.topics}
        if any(self._ids.get(name, id) != id for name, id in ids.items()):
            self.reset()  # a topic was deleted and made again: nothing the session says of it is true
        self._ids.update(ids)
        if self._id == _NO_SESSION:
            changed = dict(wanted)
            forgotten: list[TopicPartition] = []
        else:
            changed = {where: each for where, each in wanted.items() if self._told.get(where) != each}
            forgotten = [where for where in self._told if where not in wanted]
        request.session_id, request.session_epoch = self._id, self._epoch
        request.topics = [
            FetchTopic(
                topic=topic,
                topic_id=self._ids.get(topic, ZERO_UUID),
                partitions=[_partition(where, changed[where]) for where in partitions],
            )
            for topic, partitions in by_topic(changed).items()
        ]
        request.forgotten_topics_data = [
            ForgottenTopic(
                topic=topic,
                topic_id=self._ids.get(topic, ZERO_UUID),
                partitions=[where.partition for where in partitions],
            )
            for topic, partitions in by_topic(forgotten).items()
        ]
        self._told = dict(wanted)

    def answered(self, session_id: int) -> None:
        """The broker has understood, and says under which number it remembers (0: it does not)."""
        if not self._incremental:
            return
        if session_id == _NO_SESSION:
            self.reset()
            return
        self._id = session_id
        self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1


def _partition(where: TopicPartition, wanted: Wanted) -> FetchPartition:
    return FetchPartition(
        partition=where.partition,
        current_leader_epoch=wanted.leader_epoch,
        fetch_offset=wanted.offset,
        last_fetched_epoch=wanted.last_epoch if wanted.last_epoch >= 0 else NO_EPOCH,
        log_start_offset=-1,
        partition_max_bytes=wanted.max_bytes,
    )


class FetchesInFlight:
    """By node and channel. Usually a node has one fetch in flight. A fetch for partitions without new records waits at
    the broker, up to `fetch_max_wait_ms`, and answers come in order. So what turns up meanwhile (a seek, a partition
    that was assigned or resumed) goes out over a second connection. There no fetch waits for long, so that the next
    seek need not either; and it comes back a moment before the first does: then both are one again.
    """

    def __init__(self) -> None:
        self._until: dict[tuple[int, str], tuple[float, float]] = {}

    def begin(self, node: int, channel: str, now: float, wait: float = 0.0) -> None:
        self._until[node, channel] = (now, now + wait)

    def end(self, node: int, channel: str) -> None:
        self._until.pop((node, channel), None)

    def underway(self, node: int, channel: str) -> bool:
        return (node, channel) in self._until

    def aside(self, node: int, now: float) -> tuple[float, float] | None:
        """What to do beside a fetch that is under way: (seconds until that is worth it, seconds it may then wait)."""
        if (node, ASIDE) in self._until:
            return None
        begun, until = self._until[node, MAIN]
        wait = until - max(now, begun + _AT_ONCE) - _SOON
        return (max(0.0, begun + _AT_ONCE - now), min(wait, _BRIEFLY)) if wait > 0 else None
