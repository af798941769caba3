"""Subscriptions by regular expression: which topics a pattern stands for.

Kafka resolves patterns on the broker with RE2, which follows all states of a pattern at once instead of going back and
forth like most engines; so does this node, with the same engine. Linear is not cheap yet: a pattern of ten characters
can have ten thousand states, and there may be ten thousand topics. RE2 lets go of the interpreter's lock while it
matches, so that happens on a worker, one small step at a time: many patterns take turns, a slow one holds up neither
the loop nor the others, and no more than a few compiled ones are in memory. It holds the lock while it compiles, hence
the limits on what is compiled: ten milliseconds for the worst that was found. So does loading the engine, which takes
as long if it has to come from the disk. Each of these is a step of its own, so that they do not add up.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.metadata.topic_name import is_internal
from moldau.runtime.ports import Loop, TimerHandle, Workers

logger = logging.getLogger("moldau.coordinator.group")

MAX_LENGTH: Final = 2000
# Classes of Unicode have hundreds of ranges each. Names of topics are ASCII, so nobody needs many.
MAX_UNICODE_CLASSES: Final = 20
# What the engine may use to compile a pattern, and then to match it: the states it has met are remembered.
_PROGRAM_MEMORY: Final = 512 << 10
_MEMORY: Final = 8 << 20
# How many patterns are being matched in turns, each with its memory.
_ACTIVE: Final = 4
# States times names in one step on the worker: some ten milliseconds at worst.
_STEP: Final = 200_000
_NAMES_AT_ONCE: Final = 1000
# Characters of a name that count as one: ids of producers may be very long.
_LENGTH: Final = 256
# Of names that are not those of topics: nothing is remembered of them.
_NO_VERSION: Final = -2
# How long the answer to a new subscription waits for the topics. They come with a later heartbeat otherwise.
_PATIENCE_S: Final = 0.5
_REMEMBERED: Final = 100

Topics: TypeAlias = frozenset[str]


def check_pattern(pattern: str) -> None:
    """KafkaError(INVALID_REGULAR_EXPRESSION) for what is not a pattern or is too large."""
    if len(pattern) > MAX_LENGTH:
        raise _invalid(pattern[:40] + "...", f"it is longer than {MAX_LENGTH} characters")
    if pattern.count("\\p") + pattern.count("\\P") > MAX_UNICODE_CLASSES:
        raise _invalid(pattern, f"it names more than {MAX_UNICODE_CLASSES} classes of Unicode")
    _compile(pattern, _PROGRAM_MEMORY)


class TopicPattern:
    """Matches whole names, as Kafka does."""

    def __init__(self, pattern: str) -> None:
        check_pattern(pattern)
        self._compiled = _compile(pattern, _MEMORY)
        self.states = max(self._compiled.programsize, 1)

    def matches(self, name: str) -> bool:
        return self._compiled.fullmatch(name.encode()) is not None


def _compile(pattern: str, memory: int) -> Any:
    import re2

    options = re2.Options()
    options.max_mem = memory
    options.never_capture = True
    options.log_errors = False
    try:
        # As bytes: with text the binding counts characters for positions that nobody asks for.
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        raise _invalid(pattern, error.args[0].decode(errors="replace")) from None
    finally:
        # The binding remembers what it compiled, with all the memory that goes with it.
        re2.purge()


def _load() -> None:
    """When the first pattern comes: most nodes never see one, and all of them have to start."""
    import re2  # noqa: F401


def _invalid(pattern: str, why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, f"{pattern!r} is not a regular expression: {why}.")


class _Matching:
    """One pattern on its way over the names of all topics. Its steps run on a worker, never two at once."""

    def __init__(self, pattern: str, names: tuple[str, ...], version: int) -> None:
        self.pattern = pattern
        self.version = version
        self.waiting: list[Callable[[Topics, int], None]] = []
        self.found: list[str] = []
        self._names = names
        self._compiled: TopicPattern | None = None
        self._at = 0

    def step(self) -> bool:
        """Whether it is done."""
        if self._compiled is None:
            self._compiled = TopicPattern(self.pattern)
            return False
        matches = self._compiled.matches
        left = min(max(_STEP // self._compiled.states, 1), _NAMES_AT_ONCE)
        while left > 0 and self._at < len(self._names):
            name = self._names[self._at]
            if matches(name):
                self.found.append(name)
            self._at += 1
            left -= 1 + len(name) // _LENGTH
        return self._at >= len(self._names)


class PatternResolver:
    """The patterns of all groups of this node. Everything but the steps happens on the loop."""

    def __init__(self, workers: Workers, loop: Loop) -> None:
        self._workers = workers
        self._loop = loop
        # The offset of the last metadata that created or deleted a topic, and the names since then.
        self.version = -1
        self._names: tuple[str, ...] = ()
        # What is known for this version.
        self._known: dict[str, Topics] = {}
        self._checks: deque[tuple[str, Deferred[None]]] = deque()
        # Those whose turn it is stand first; `_under_way` has the one that is being worked on, too.
        self._matchings: deque[_Matching] = deque()
        self._under_way: dict[tuple[str, int], _Matching] = {}
        self._loaded = False
        self._busy = False
        self._closed = False

    def on_topics(self, image: MetadataImage) -> None:
        """Topics have come or gone. Internal ones are subscribed to by name or not at all."""
        self.version = image.offset
        self._names = tuple(name for name in image.topics.by_name if not is_internal(name))
        self._known.clear()

    def known(self, pattern: str) -> Topics | None:
        return self._known.get(pattern)

    def prepare(self, pattern: str) -> Deferred[None]:
        """Fails with INVALID_REGULAR_EXPRESSION; else comes when the topics are known, or after a moment without."""
        answer: Deferred[None] = Deferred()
        if pattern in self._known:
            answer.resolve(None)
            return answer
        timer: TimerHandle | None = None

        def proceed() -> None:
            if not answer.settled:
                if timer is not None:
                    timer.cancel()
                answer.resolve(None)

        def checked(_: None, error: BaseException | None) -> None:
            nonlocal timer
            if error is not None:
                answer.fail(error)
                return
            timer = self._loop.call_later(_PATIENCE_S, proceed)
            self.resolve(pattern, lambda topics, version: proceed())

        self._check(pattern).then(checked)
        return answer

    def select(self, pattern: str, names: Sequence[str]) -> Deferred[Topics]:
        """Which of these names the pattern stands for; fails with INVALID_REGULAR_EXPRESSION."""
        answer: Deferred[Topics] = Deferred()

        def checked(_: None, error: BaseException | None) -> None:
            if error is not None:
                answer.fail(error)
                return
            matching = _Matching(pattern, tuple(names), _NO_VERSION)
            matching.waiting.append(lambda found, version: answer.resolve(found))
            self._matchings.append(matching)
            self._go_on()

        self._check(pattern).then(checked)
        return answer

    def _check(self, pattern: str) -> Deferred[None]:
        check: Deferred[None] = Deferred()
        self._checks.append((pattern, check))
        self._go_on()
        return check

    def resolve(self, pattern: str, done: Callable[[Topics, int], None]) -> None:
        """Calls `done` with the topics and the version of the metadata they are of; with none if it is no pattern."""
        known = self._known.get(pattern)
        if known is not None:
            done(known, self.version)
            return
        matching = self._under_way.get((pattern, self.version))
        if matching is None:
            matching = self._under_way[pattern, self.version] = _Matching(pattern, self._names, self.version)
            self._matchings.append(matching)
        matching.waiting.append(done)
        self._go_on()

    def resolve_all(self, patterns: Collection[str], done: Callable[[dict[str, Topics], int], None]) -> None:
        """The same for several; the version is the oldest of theirs."""
        found: dict[str, Topics] = {}
        oldest = self.version

        def one(pattern: str) -> Callable[[Topics, int], None]:
            def take(topics: Topics, version: int) -> None:
                nonlocal oldest
                found[pattern] = topics
                oldest = min(oldest, version)
                if len(found) == len(patterns):
                    done(found, oldest)

            return take

        for pattern in patterns:
            self.resolve(pattern, one(pattern))

    def close(self) -> None:
        """Nobody is left to be told."""
        self._closed = True
        self._checks.clear()
        self._matchings.clear()
        self._under_way.clear()

    # --------------------------------------------------------------------------------------------------- the worker

    def _go_on(self) -> None:
        if self._busy or self._closed:
            return
        if not self._loaded and (self._checks or self._matchings):
            self._loaded = True
            self._submit(_load, lambda _, error: None)
        elif self._checks:
            # Whoever waits for an answer comes first. What was compiled is not kept: it may wait long for its turn.
            pattern, check = self._checks.popleft()
            self._submit(lambda: check_pattern(pattern), lambda _, error: _settle(check, error))
        elif self._matchings:
            matching = self._matchings.popleft()
            self._submit(matching.step, lambda is_done, error: self._stepped(matching, is_done, error))

    def _submit(self, job: Callable[[], bool | None], done: Callable[[bool, BaseException | None], None]) -> None:
        def back(result: bool | None, error: BaseException | None) -> None:
            self._busy = False
            if not self._closed:
                done(bool(result), error)
                self._go_on()

        self._busy = True
        self._workers.submit(job, back)

    def _stepped(self, matching: _Matching, is_done: bool, error: BaseException | None) -> None:
        if error is None and not is_done:
            # Behind the others whose turn it is; who is not among them yet waits until one of these is done.
            self._matchings.insert(min(_ACTIVE - 1, len(self._matchings)), matching)
            return
        self._under_way.pop((matching.pattern, matching.version), None)
        topics = frozenset(matching.found)
        if error is not None:
            # It was checked when its member joined; a log of another broker may still hold one that is none here.
            logger.warning("a subscription stands for no topic: %s", error)
            topics = frozenset()
        if matching.version == self.version:
            while len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[matching.pattern] = topics
        for tell in matching.waiting:
            tell(topics, matching.version)


def _settle(check: Deferred[None], error: BaseException | None) -> None:
    if error is None:
        check.resolve(None)
    else:
        check.fail(error)
