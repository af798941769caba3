"""One case tried with one library, beside the same with ours: what it returns, or the exception it ends in.

A case is given a `Trial`: the library, a topic of its own with two partitions of five records, and clients that are
closed after it.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from types import ModuleType
from typing import Any, Final, NamedTuple

from tools.migration.answers import Library, covers, plain

import moldau
import moldau.errors
from moldau.admin import NewTopic

# A case that takes longer has not ended. Most take milliseconds.
_LIMIT: Final = 100.0
_AT_ONCE: Final = 8

RECORDS: Final = 5


class NotEnded(Exception):
    """What a case answers that never does."""


class Trial:
    def __init__(self, library: Library, bootstrap: str, name: str) -> None:
        self.library = library
        self.package: ModuleType = library.package
        self.errors: ModuleType = library.errors
        self.bootstrap = bootstrap
        self.topic = name
        self.made: list[Any] = []

    def where(self, partition: int = 0) -> Any:
        return self.package.TopicPartition(self.topic, partition)

    def offset(self, offset: int) -> Any:
        return self.package.OffsetAndMetadata(offset, "", -1)

    def producer(self, **settings: Any) -> Any:
        return self._make(self.package.KafkaProducer, settings)

    def consumer(self, *topics: str, **settings: Any) -> Any:
        settings.setdefault("auto_offset_reset", "earliest")
        return self._make(self.package.KafkaConsumer, settings, *topics)

    def reader(self, *partitions: int, **settings: Any) -> Any:
        """A consumer with these partitions assigned; the first if none are named."""
        consumer = self.consumer(**settings)
        consumer.assign([self.where(number) for number in partitions or (0,)])
        return consumer

    def _make(self, kind: Any, settings: dict[str, Any], *arguments: Any) -> Any:
        client = kind(*arguments, bootstrap_servers=self.bootstrap, **settings)
        self.made.append(client)
        return client

    def close(self) -> None:
        for client in reversed(self.made):
            with suppress(Exception):
                client.close()


def take(consumer: Any, count: int) -> list[Any]:
    """This many records, or what is there after a while."""
    found: list[Any] = []
    for _ in range(100):
        found += [record for share in consumer.poll(100).values() for record in share]
        if len(found) >= count:
            break
    return found


Case = Callable[[Any], Any]
Cases = dict[str, Case]


class Outcome(NamedTuple):
    theirs: Any
    ours: Any

    @property
    def alike(self) -> bool:
        if isinstance(self.theirs, BaseException):
            name = type(self.theirs).__name__
            kind = getattr(moldau.errors, name, None) or getattr(builtins, name, None)
            return type(self.ours) is type(self.theirs) or (kind is not None and isinstance(self.ours, kind))
        return not isinstance(self.ours, BaseException) and covers(self.theirs, self.ours)


def compare(
    bootstrap: str,
    cases: Cases,
    libraries: tuple[Library, Library],
    attempt: Callable[[Library, str, str, Case], Any],
    alone: bool = False,
) -> dict[str, Outcome]:
    """Every case with both. Their topics are made and filled beforehand, by us. `alone`: one after the other."""
    kind = f"{libraries[0].package.__name__}{'-alone' if alone else ''}"
    names = {(case, lib.suffix): f"{kind}-{n}-{lib.suffix}" for n, case in enumerate(cases) for lib in libraries}
    fill(bootstrap, list(names.values()))

    def outcome(case: str) -> Outcome:
        return Outcome(
            *(
                _within_limit(lambda lib=lib: attempt(lib, bootstrap, names[case, lib.suffix], cases[case]))
                for lib in libraries
            )
        )

    # Nearly all of their time is waiting, and none looks at what belongs to another.
    with ThreadPoolExecutor(1 if alone else _AT_ONCE) as pool:
        return dict(zip(cases, pool.map(outcome, cases), strict=True))


def fill(bootstrap: str, topics: list[str]) -> None:
    with moldau.KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        # The records are of 1970, so none would stay otherwise.
        admin.create_topics([NewTopic(name, 2, 1, topic_configs={"retention.ms": "-1"}) for name in topics])
    with moldau.KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for name in topics:
            for number in range(2 * RECORDS):
                producer.send(
                    name, b"%d" % (number // 2), b"key", [("h", b"v")], partition=number % 2, timestamp_ms=1000 + number
                )


def try_out(library: Library, bootstrap: str, topic: str, case: Case) -> Any:
    trial = Trial(library, bootstrap, topic)
    try:
        return flat(case(trial), library)
    except Exception as error:
        return error
    finally:
        trial.close()


def flat(value: Any, library: Library) -> Any:
    """As `plain`, also of what is found in containers of their own."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, BaseException):
        return type(value).__name__
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [flat(each, library) for each in value]
    if isinstance(value, dict):
        return plain({key: flat(each, library) for key, each in value.items()}, library)
    return plain(value, library)


def _within_limit(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(_LIMIT)
    return found[0] if found else NotEnded()
