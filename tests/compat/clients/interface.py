"""What the tests ask of a client. An operation that a client does not offer is simply not overridden."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

EARLIEST = "earliest"
LATEST = "latest"

# How long a client may take to bring what a test waits for. Generous: it only decides when a test gives up.
PATIENCE_SECONDS = 30.0


class Timestamp(NamedTuple):
    """Start with the first record that is not older than this many milliseconds since 1970."""

    ms: int


Start = str | int | Timestamp


@dataclass(frozen=True, slots=True)
class Message:
    """A record on its way in. Without a timestamp the client puts its own."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: int | None = None
    partition: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class Cluster(NamedTuple):
    id: str
    brokers: dict[int, tuple[str, int]]


class ProduceFailed(Exception):
    """A record was refused; `name` is Kafka's name of the error, as far as the client keeps it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class Tls:
    """How a client is to come in over TLS: whom it believes, and what it shows of itself."""

    ca: str
    certificate: str | None = None
    key: str | None = None


class Client:
    name: ClassVar[str]
    # A client that only sends text lines, or cannot choose partitions, headers per record and timestamps, says so here.
    sends_any_record: ClassVar[bool] = True

    def __init__(self, bootstrap: str, tls: Tls | None = None) -> None:
        self.bootstrap = bootstrap
        self.tls = tls

    @classmethod
    def unavailable(cls) -> str | None:
        """Why this client cannot be used on this machine; None if it can."""
        return None

    @classmethod
    def offers(cls, operation: str) -> bool:
        return getattr(cls, operation) is not getattr(Client, operation)

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        raise NotImplementedError

    def produce(
        self,
        topic: str,
        messages: Iterable[Message],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> None:
        """Returns when every record was acknowledged (with acks=0: handed to the network). Raises ProduceFailed."""
        raise NotImplementedError

    def consume(
        self, topic: str, start: Start, count: int, *, partition: int = 0, ready: Callable[[], None] | None = None
    ) -> list[Received]:
        """Exactly `count` records from an assigned partition. `ready` is called once the start is settled."""
        raise NotImplementedError

    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """The earliest and the latest offset."""
        raise NotImplementedError

    def topics(self) -> dict[str, int]:
        """Names, with the number of partitions."""
        raise NotImplementedError

    def cluster(self) -> Cluster:
        raise NotImplementedError

    def delete_topic(self, topic: str) -> None:
        raise NotImplementedError

    def create_partitions(self, topic: str, total: int) -> None:
        raise NotImplementedError

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        raise NotImplementedError

    def broker_configs(self, broker: int) -> dict[str, str | None]:
        raise NotImplementedError

    def alter_topic_configs(self, topic: str, changes: Mapping[str, str]) -> None:
        raise NotImplementedError

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """The offset that is now the earliest."""
        raise NotImplementedError

    def log_sizes(self) -> dict[tuple[str, int], int]:
        """Bytes on disk by topic and partition, over all log directories."""
        raise NotImplementedError


def eventually(what: Callable[[], bool]) -> None:
    """Kafka answers some changes before every broker and client knows of them, so a test asks again."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline, f"not true after {PATIENCE_SECONDS:.0f} s"
        time.sleep(0.05)


class Patience:
    """Gives up with a sentence instead of hanging."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._deadline = time.monotonic() + PATIENCE_SECONDS

    def check(self, received: int, wanted: int) -> None:
        if time.monotonic() > self._deadline:
            raise AssertionError(f"{self._what}: {received} of {wanted} records after {PATIENCE_SECONDS:.0f} s")
