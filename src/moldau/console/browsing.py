"""Records of a topic, forwards from a place or backwards from one, with a filter: so many at a time.

What a page may cost is bounded in every direction: seconds, records looked at, bytes in one answer, bytes kept of a
record. Where a bound is met first, the page says how far it came and goes on from there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, NamedTuple

from moldau.client.admin.offsets import EARLIEST, LATEST, IsolationLevel, list_offsets
from moldau.client.cluster import Cluster
from moldau.client.conversation import AskAll, Conversation, Learn
from moldau.client.fetching import Fetched, FetchLimits, fetch_request, read_fetch
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import Record
from moldau.types import TopicPartition

Places = dict[TopicPartition, int]

_LOOKED_AT: Final = 200_000
# Of one question, which waits for nothing that is not there yet, in parts of the whole time.
_ANSWER: Final = 1.25
_LIMITS: Final = FetchLimits(max_wait_ms=0, min_bytes=0, max_bytes=4 * 1024 * 1024, partition_bytes=512 * 1024)
# Kept of a key, a value and a header's value; the whole of one record has its own page.
KEPT: Final = 16 * 1024
_KEPT_HEADERS: Final = 100
# Partitions in one look; of larger topics one is chosen.
MOST_PARTITIONS: Final = 64
# Backwards, so many offsets are read at once where most are not wanted; twice as many each time.
_WINDOW: Final = 500
_LARGEST_WINDOW: Final = 16_000


class Part(NamedTuple):
    """A key, a value, a header: the bytes that were kept, and how many there are. None is null."""

    data: bytes | None
    size: int

    @property
    def cut(self) -> bool:
        return self.data is not None and len(self.data) < self.size


class Seen(NamedTuple):
    partition: int
    offset: int
    timestamp: int
    key: Part
    value: Part
    headers: tuple[tuple[str, Part], ...]
    more_headers: int = 0


@dataclass(slots=True, frozen=True)
class Wanted:
    """Which records are shown: those with exactly this key, and with this text somewhere in key, value or headers."""

    key: str = ""
    text: str = ""

    @property
    def all(self) -> bool:
        return not self.key and not self.text

    def test(self) -> Callable[[Record], bool]:
        key, text = self.key.encode("utf-8", "replace"), self.text.encode("utf-8", "replace")

        def fits(record: Record) -> bool:
            if key and record.key != key:
                return False
            if not text:
                return True
            return (
                (record.value is not None and text in record.value)
                or (record.key is not None and text in record.key)
                or any(text in name.encode("utf-8", "replace") or text in (value or b"")
                       for name, value in record.headers)
            )  # fmt: skip

        return fits


@dataclass(slots=True)
class Look:
    """`places` is where the next look goes on: forwards the next offsets, backwards those behind the next ones."""

    records: list[Seen] = field(default_factory=list)
    places: Places = field(default_factory=dict)
    looked_at: int = 0
    # Is there more in the direction of the look; did it end before it was done.
    more: bool = False
    stopped: bool = False
    # Of partitions that could not be read, why.
    problems: dict[int, str] = field(default_factory=dict)


class Browsing:
    """Looks at some partitions of one topic, for so many seconds at most, on the thread of whoever asks."""

    def __init__(self, cluster: Cluster, seconds: float, *, committed: bool = False, kept: int = KEPT) -> None:
        self._seconds = seconds
        self._cluster = cluster
        self._isolation = IsolationLevel(committed)
        self._kept = kept

    def starts(self, partitions: Sequence[TopicPartition]) -> Places:
        return self._bounds(partitions, EARLIEST)

    def ends(self, partitions: Sequence[TopicPartition]) -> Places:
        return self._bounds(partitions, LATEST)

    def _bounds(self, partitions: Sequence[TopicPartition], moment: int) -> Places:
        """Partitions that do not answer are left out: the others can be read."""
        answers = self._cluster.run(
            list_offsets(dict.fromkeys(partitions, moment), isolation=self._isolation), self._seconds * _ANSWER
        )
        found = {where: each.offset for where, each in answers.items() if not isinstance(each, KafkaError)}
        if partitions and not found:
            raise next(each for each in answers.values() if isinstance(each, KafkaError))
        return found

    def forwards(self, places: Mapping[TopicPartition, int], wanted: Wanted, most: int) -> Look:
        """From these offsets on."""
        partitions = list(places)
        starts, ends = self.starts(partitions), self.ends(partitions)
        look = Look(
            places={w: min(max(places[w], starts[w]), ends[w]) for w in partitions if w in starts and w in ends}
        )
        fits, until = wanted.test(), monotonic() + self._seconds
        while len(look.records) < most and (active := {w: at for w, at in look.places.items() if at < ends[w]}):
            if monotonic() > until or look.looked_at >= _LOOKED_AT:
                look.stopped = True
                break
            share = -(-(most - len(look.records)) // len(active))
            before = dict(look.places)
            for part in self._fetch(active, look):
                where, found, end = part.partition, 0, ends[part.partition]
                for record in part.records():
                    if record.offset >= end or found >= share or len(look.records) >= most:
                        break
                    look.looked_at += 1
                    look.places[where] = record.offset + 1
                    if fits(record):
                        found += 1
                        look.records.append(self._seen(where, record))
                else:
                    look.places[where] = max(look.places[where], min(part.next_position, end))
            if look.places == before:
                break
        look.more = any(at < ends[where] for where, at in look.places.items())
        look.records.sort(key=lambda record: (record.timestamp, record.partition, record.offset))
        return look

    def backwards(self, places: Mapping[TopicPartition, int], wanted: Wanted, most: int) -> Look:
        """What lies before these offsets, the newest first."""
        partitions = list(places)
        starts, ends = self.starts(partitions), self.ends(partitions)
        look = Look(
            places={w: min(max(places[w], starts[w]), ends[w]) for w in partitions if w in starts and w in ends}
        )
        until = monotonic() + self._seconds
        window = most if wanted.all else max(_WINDOW, most)
        while len(look.records) < most and (active := {w: at for w, at in look.places.items() if at > starts[w]}):
            if monotonic() > until or look.looked_at >= _LOOKED_AT:
                look.stopped = True
                break
            share = -(-(most - len(look.records)) // len(active))
            span = min(share, window) if wanted.all else -(-window // len(active))
            begins = {where: max(starts[where], at - span) for where, at in active.items()}
            found = self._window(begins, active, wanted, share, look)
            if not found:
                break
            for where, newest in found.items():
                look.records += newest
                # What was found beyond its share is met again from here.
                look.places[where] = newest[0].offset if len(newest) == share else begins[where]
            window = min(window * 2, _LARGEST_WINDOW)
        look.more = any(at > starts[where] for where, at in look.places.items())
        look.records.sort(key=lambda record: (record.timestamp, record.partition, record.offset), reverse=True)
        return look

    def _window(
        self, begins: Places, ends: Mapping[TopicPartition, int], wanted: Wanted, share: int, look: Look
    ) -> dict[TopicPartition, deque[Seen]]:
        """The newest that fit between these offsets, of each partition that could be read."""
        fits = wanted.test()
        places, newest = dict(begins), {where: deque[Seen](maxlen=share) for where in begins}
        while active := {where: at for where, at in places.items() if at < ends[where]}:
            before = dict(places)
            for part in self._fetch(active, look):
                where, end = part.partition, ends[part.partition]
                for record in part.records():
                    if record.offset >= end:
                        break
                    look.looked_at += 1
                    if fits(record):
                        newest[where].append(self._seen(where, record))
                places[where] = min(part.next_position, end)
            if places == before:
                # Nothing but what is hidden from this look, or what could not be read.
                break
        return {where: newest[where] for where in newest if where.partition not in look.problems}

    def _fetch(self, places: Mapping[TopicPartition, int], look: Look) -> Iterator[Fetched]:
        asked = {where: at for where, at in places.items() if where.partition not in look.problems}
        if not asked:
            return
        parts, problems = self._cluster.run(_fetch(asked, self._isolation), self._seconds * _ANSWER)
        for where, problem in problems.items():
            look.problems[where.partition] = str(problem)
        for part in parts:
            if part.error is ErrorCode.NONE:
                yield part
            else:
                look.problems[part.partition.partition] = part.error.text

    def _seen(self, where: TopicPartition, record: Record) -> Seen:
        return Seen(
            where.partition,
            record.offset,
            record.timestamp,
            self._part(record.key),
            self._part(record.value),
            tuple((name[:500], self._part(value)) for name, value in record.headers[:_KEPT_HEADERS]),
            max(0, len(record.headers) - _KEPT_HEADERS),
        )

    def _part(self, data: bytes | None) -> Part:
        return Part(None, 0) if data is None else Part(bytes(data[: self._kept]), len(data))


def _fetch(
    places: Mapping[TopicPartition, int], isolation: IsolationLevel
) -> Conversation[tuple[list[Fetched], dict[TopicPartition, KafkaError]]]:
    view: ClusterView = yield Learn(sorted({where.topic for where in places}))
    problems: dict[TopicPartition, KafkaError] = {}
    by_leader: dict[int, Places] = {}
    for where, at in places.items():
        try:
            by_leader.setdefault(view.leader(where), {})[where] = at
        except KafkaError as error:
            problems[where] = error
    responses: list[Any] = yield AskAll(
        [fetch_request(view, group, _LIMITS, isolation, leader) for leader, group in by_leader.items()]
    )
    parts: list[Fetched] = []
    for group, response in zip(by_leader.values(), responses, strict=True):
        if isinstance(response, KafkaError):
            problems |= dict.fromkeys(group, response)
        else:
            parts += read_fetch(view, group, response, isolation)
    if any(part.error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH) for part in parts):
        # The next question knows the new leader.
        yield Learn(sorted({where.topic for where in places}), anew=True)
    return parts, problems
