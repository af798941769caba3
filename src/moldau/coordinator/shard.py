"""What a coordinator's state machine is made of: the records it writes, the result of an operation, the shard itself.

An operation looks at the shard and returns a `Result`, or work that comes to one where it may take long (see
`moldau.slicing`); no other operation runs meanwhile. It changes nothing that is stored. Only `replay` does, called
with the same records after the operation, after a restart, and on a new leader: there is one way to get to a state.
Time and chance are given to an operation as arguments, so a shard is tested without either.
"""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, cast

from moldau.dataclass import dataclass
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.slicing import Work
from moldau.timeline import Decision, SnapshotRegistry
from moldau.types import TopicPartition

T = TypeVar("T")


@dataclass(slots=True, frozen=True)
class CoordinatorRecord:
    """One record of an internal topic. The type is the key's API_KEY; a value of None is a tombstone."""

    key: Message
    value: Message | None
    value_version: int = 0


class Result(Decision[CoordinatorRecord, T]):
    """What an operation of a shard decides."""

    __slots__ = ()


# What an operation comes to, at once or in slices.
Outcome: TypeAlias = Result[T] | Work[Result[T]]


def decided(outcome: Outcome[T]) -> Work[Result[T]]:
    if isinstance(outcome, GeneratorType):
        outcome = yield from outcome
    return cast("Result[T]", outcome)


# What a timeout does: the wall clock at that moment is all it is given.
TimeoutOperation = Callable[[int], Outcome[None]]


class Timers(Protocol):
    """Timeouts of one shard, by key. A timeout is one more write operation; none survives the shard's unloading."""

    def schedule(self, key: str, delay_ms: int, operation: TimeoutOperation) -> None:
        """Replaces what was scheduled under the key."""
        ...

    def cancel(self, key: str) -> None: ...

    def is_scheduled(self, key: str) -> bool: ...


class ShardContext(NamedTuple):
    """What a shard is built with."""

    partition: TopicPartition
    # The epoch in which this broker leads the partition: the coordinator epoch of its transaction markers.
    epoch: int
    # For the timeline maps that hold the shard's stored state.
    registry: SnapshotRegistry
    timers: Timers


class Shard(Protocol):
    """One partition of an internal topic, in memory."""

    def replay(
        self, record: CoordinatorRecord, offset: int, producer_id: int, producer_epoch: int
    ) -> Work[None] | None:
        """Applies one record; the producer is -1 unless the record is part of a transaction. A record that says very
        much is applied by the work that is returned."""
        ...

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> Work[None] | None:
        """A transaction of this producer has ended in the partition."""
        ...

    def on_loaded(self, image: MetadataImage) -> Work[None] | None:
        """The whole partition was replayed; timers may be started, while operations go on."""
        ...

    def on_unloaded(self) -> Work[None] | None:
        """Another broker takes over: whoever waits inside the shard must be told NOT_COORDINATOR, by the work that is
        returned where there may be many."""
        ...

    def on_new_image(self, image: MetadataImage, delta: MetadataDelta) -> Work[None] | None: ...
