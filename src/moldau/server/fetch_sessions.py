"""Incremental fetch sessions (KIP-227): a fetcher names its partitions once and afterwards only what changed.

Theory of operation. A full fetch (epoch 0) names every partition and may be given a session; its answer carries the
session's id. Each following fetch carries the id and the next epoch, adds, changes or forgets partitions, and is served
for all the session holds; its answer leaves out every partition that has nothing new to say. Epoch -1 is a full fetch
that wants no session and closes the one it names. An unknown id or an unexpected epoch is an error for the whole
request, upon which the fetcher starts again with a full fetch: sessions are only ever an optimisation, so the cache may
refuse or evict them as it likes. A session is bound to topic names (up to version 12) or topic ids (from 13).

A session is gone through whole for every fetch, so its size is bounded.

When the cache is full, a new session may take the place of one that has been unused for two minutes; or of a consumer's
if it is a follower's own (privileged); or of a smaller one that is older than two minutes.

Pure: no clock, no IO. A partition is a tuple that is never changed, so what a fetcher does not mention again is served
from the very tuple it sent the first time. The reader asks for `partitions`, serves them, and passes what it found to
`finish`, which says what of it belongs into the answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from moldau.errors import ErrorCode
from moldau.runtime.ports import Random
from moldau.types import Uuid

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1

MIN_EVICTION_MS: Final = 120_000
# A session is gone through whole for every fetch; whoever asks for more partitions than this gets none.
MOST_PARTITIONS: Final = 10_000

_MAX_INT: Final = 2**31 - 1


class FetchPartition(NamedTuple):
    """What a fetcher asks of one partition; `topic` is the name, or the id in a session that uses ids."""

    topic: str | Uuid
    partition: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    log_start_offset: int = -1
    last_fetched_epoch: int = -1


class PartitionOutcome(NamedTuple):
    """What serving one partition came to, as far as a session needs to know."""

    topic: str | Uuid
    partition: int
    error: int
    high_watermark: int
    log_start_offset: int
    records_size: int
    # A preferred read replica or a diverging epoch: the fetcher must hear of it even without records.
    must_answer: bool = False


class SessionAnswer(NamedTuple):
    """For the response: the top-level error, the session id, and which outcomes to include, by index (None: all)."""

    error: ErrorCode
    session_id: int
    included: Sequence[int] | None


PartitionKey: TypeAlias = tuple[str | Uuid, int]

_WITHOUT_SESSION: Final = SessionAnswer(ErrorCode.NONE, NO_SESSION, None)
_EPOCH_MISMATCH: Final = SessionAnswer(ErrorCode.INVALID_FETCH_SESSION_EPOCH, NO_SESSION, ())


class FetchContext:
    """One fetch request in view of sessions. This base is the sessionless fetch, the plainest of the four."""

    __slots__ = ("partitions",)

    error: ErrorCode = ErrorCode.NONE

    def __init__(self, partitions: Sequence[FetchPartition]) -> None:
        self.partitions = partitions

    def finish(self, outcomes: Sequence[PartitionOutcome], now_ms: int) -> SessionAnswer:
        return _WITHOUT_SESSION

    def throttled(self) -> SessionAnswer:
        """For an empty answer that only says how long to wait: what was found is not marked as told."""
        return _WITHOUT_SESSION


class SessionErrorContext(FetchContext):
    """The request named a session it cannot use. Which partitions it meant is not known, so none are served."""

    __slots__ = ("error",)

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(())
        self.error = error

    def finish(self, outcomes: Sequence[PartitionOutcome], now_ms: int) -> SessionAnswer:
        return SessionAnswer(self.error, NO_SESSION, ())


class FullFetchContext(FetchContext):
    """Names every partition; answered in full, and with a session if the cache grants one."""

    __slots__ = ("_privileged", "_sessions", "_uses_topic_ids")

    def __init__(
        self, sessions: FetchSessions, partitions: Sequence[FetchPartition], uses_topic_ids: bool, privileged: bool
    ) -> None:
        super().__init__(partitions)
        self._sessions = sessions
        self._uses_topic_ids = uses_topic_ids
        self._privileged = privileged

    def finish(self, outcomes: Sequence[PartitionOutcome], now_ms: int) -> SessionAnswer:
        if not self._sessions.make_room(len(outcomes), self._privileged, now_ms):
            return _WITHOUT_SESSION
        asked = {(partition[0], partition[1]): partition for partition in self.partitions}
        cached: dict[PartitionKey, _CachedPartition] = {}
        for outcome in outcomes:
            key = (outcome[0], outcome[1])
            cached[key] = _CachedPartition(asked[key], outcome.high_watermark, outcome.log_start_offset)
        session = self._sessions.create(cached, self._uses_topic_ids, self._privileged, now_ms)
        return SessionAnswer(ErrorCode.NONE, session.id, None)


class IncrementalFetchContext(FetchContext):
    """Serves all partitions of a session and tells only what is new."""

    __slots__ = ("epoch", "session")

    def __init__(self, session: FetchSession) -> None:
        super().__init__(session.requests())
        self.session = session
        # What this request made of the session's own.
        self.epoch = session.epoch

    def finish(self, outcomes: Sequence[PartitionOutcome], now_ms: int) -> SessionAnswer:
        session = self.session
        if session.epoch != self.epoch:
            # Another request of the session overtook this one while it was waiting.
            return _EPOCH_MISMATCH
        return SessionAnswer(ErrorCode.NONE, session.id, session.select(outcomes))

    def throttled(self) -> SessionAnswer:
        if self.session.epoch != self.epoch:
            return _EPOCH_MISMATCH
        return SessionAnswer(ErrorCode.NONE, self.session.id, ())


class _CachedPartition:
    """The latest request for a partition, and what the fetcher was told last."""

    __slots__ = ("high_watermark", "log_start_offset", "request")

    def __init__(self, request: FetchPartition, high_watermark: int = -1, log_start_offset: int = -1) -> None:
        self.request = request
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset


class FetchSession:
    __slots__ = (
        "_partitions",
        "_requests",
        "cached_size",
        "created_ms",
        "epoch",
        "id",
        "last_used_ms",
        "privileged",
        "uses_topic_ids",
    )

    def __init__(
        self,
        session_id: int,
        partitions: dict[PartitionKey, _CachedPartition],
        uses_topic_ids: bool,
        privileged: bool,
        now_ms: int,
    ) -> None:
        self.id = session_id
        self.uses_topic_ids = uses_topic_ids
        self.privileged = privileged
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.cached_size = -1
        self._partitions = partitions
        self._requests: list[FetchPartition] | None = None

    def __len__(self) -> int:
        return len(self._partitions)

    def requests(self) -> Sequence[FetchPartition]:
        """All partitions, those that have gone longest without an answer first; built anew only after a change."""
        if self._requests is None:
            self._requests = [cached.request for cached in self._partitions.values()]
        return self._requests

    def update(self, partitions: Sequence[FetchPartition], forgotten: Sequence[PartitionKey]) -> None:
        if not partitions and not forgotten:
            return
        for partition in partitions:
            key = (partition[0], partition[1])
            cached = self._partitions.get(key)
            if cached is None:
                self._partitions[key] = _CachedPartition(partition)
            else:
                cached.request = partition
        for key in forgotten:
            self._partitions.pop(key, None)
        self._requests = None

    def select(self, outcomes: Sequence[PartitionOutcome]) -> Sequence[int]:
        """Which outcomes the fetcher must be told; from now on they count as told.

        Partitions answered with records move to the end, so that the next answer starts with those that had none when
        the bytes ran out.
        """
        included: list[int] = []
        for index, outcome in enumerate(outcomes):
            topic, partition, error, high_watermark, log_start_offset, records_size, must_answer = outcome
            key = (topic, partition)
            cached = self._partitions.get(key)
            if cached is None:
                continue
            if (
                records_size > 0
                or error
                or must_answer
                or cached.high_watermark != high_watermark
                or cached.log_start_offset != log_start_offset
            ):
                included.append(index)
                # After an error the partition is told again as soon as the error is gone, whatever it is then.
                cached.high_watermark = -1 if error else high_watermark
                cached.log_start_offset = log_start_offset
                if records_size > 0:
                    self.move_back(key)
        return included

    def move_back(self, key: PartitionKey) -> None:
        if len(self._partitions) > 1:
            self._partitions[key] = self._partitions.pop(key)
            self._requests = None


class FetchSessions:
    """The cache: as many sessions as `max.incremental.fetch.session.cache.slots` allows."""

    def __init__(self, max_slots: int, random: Random, eviction_ms: int = MIN_EVICTION_MS) -> None:
        self._max_slots = max_slots
        self._random = random
        self._eviction_ms = eviction_ms
        # By id, and at the same time in order of last use: a used session is put back at the end.
        self._sessions: dict[int, FetchSession] = {}
        # (privileged, size, id), sorted: the first is the least valuable.
        self._evictable_by_all: list[tuple[bool, int, int]] = []
        self._evictable_by_privileged: list[tuple[bool, int, int]] = []
        self.partition_count = 0
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(
        self,
        session_id: int,
        epoch: int,
        partitions: Sequence[FetchPartition],
        forgotten: Sequence[PartitionKey],
        *,
        uses_topic_ids: bool,
        privileged: bool,
        now_ms: int,
        distinct: bool = False,
    ) -> FetchContext:
        """What a fetch request with this id and epoch is to serve. `privileged` is a follower's fetch, `distinct` says
        that no partition is named twice."""
        if len(partitions) > 1 and not distinct:
            # A partition named twice counts once, with what was said last.
            unique = {(partition[0], partition[1]): partition for partition in partitions}
            if len(unique) < len(partitions):
                partitions = list(unique.values())
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION and (old := self._sessions.get(session_id)) is not None:
                self._remove(old)
            if epoch == FINAL_EPOCH or self._max_slots <= 0 or len(partitions) > MOST_PARTITIONS:
                return FetchContext(partitions)
            return FullFetchContext(self, partitions, uses_topic_ids, privileged)
        session = self._sessions.get(session_id)
        if session is None:
            return SessionErrorContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return SessionErrorContext(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            return SessionErrorContext(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(partitions, forgotten)
        if len(session) > MOST_PARTITIONS:
            self._remove(session)
            return SessionErrorContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if not len(session):
            self._remove(session)
            return FetchContext(partitions)
        self._touch(session, now_ms)
        session.epoch = next_epoch(epoch)
        return IncrementalFetchContext(session)

    def make_room(self, size: int, privileged: bool, now_ms: int) -> bool:
        """Whether there is a slot for a session of this size, after evicting a less valuable one if need be."""
        if len(self._sessions) < self._max_slots:
            return True
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now_ms - oldest.last_used_ms <= self._eviction_ms:
            evictable = self._evictable_by_privileged if privileged else self._evictable_by_all
            if not evictable or (privileged, size, 0) < evictable[0]:
                return False
            oldest = self._sessions[evictable[0][2]]
        self._remove(oldest)
        self.evictions += 1
        return True

    def create(
        self, partitions: dict[PartitionKey, _CachedPartition], uses_topic_ids: bool, privileged: bool, now_ms: int
    ) -> FetchSession:
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = 1 + self._random.below(_MAX_INT)
        session = FetchSession(session_id, partitions, uses_topic_ids, privileged, now_ms)
        self._sessions[session_id] = session
        self._touch(session, now_ms)
        return session

    def _touch(self, session: FetchSession, now_ms: int) -> None:
        del self._sessions[session.id]
        self._sessions[session.id] = session
        session.last_used_ms = now_ms
        old = now_ms - session.created_ms > self._eviction_ms
        size = len(session)
        if size != session.cached_size:
            self._forget_size(session)
            session.cached_size = size
            self.partition_count += size
        key = (session.privileged, size, session.id)
        if old:
            _add(self._evictable_by_all, key)
        if old or not session.privileged:
            _add(self._evictable_by_privileged, key)

    def _forget_size(self, session: FetchSession) -> None:
        if session.cached_size >= 0:
            key = (session.privileged, session.cached_size, session.id)
            _discard(self._evictable_by_all, key)
            _discard(self._evictable_by_privileged, key)
            self.partition_count -= session.cached_size

    def _remove(self, session: FetchSession) -> None:
        del self._sessions[session.id]
        self._forget_size(session)
        session.cached_size = -1


def next_epoch(epoch: int) -> int:
    """Counts up; past the largest it starts at 1, because 0 asks for a new session."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == _MAX_INT else epoch + 1


def _add(ordered: list[tuple[bool, int, int]], key: tuple[bool, int, int]) -> None:
    position = bisect_left(ordered, key)
    if position == len(ordered) or ordered[position] != key:
        ordered.insert(position, key)


def _discard(ordered: list[tuple[bool, int, int]], key: tuple[bool, int, int]) -> None:
    position = bisect_left(ordered, key)
    if position < len(ordered) and ordered[position] == key:
        del ordered[position]
