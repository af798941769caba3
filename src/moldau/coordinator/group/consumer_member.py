"""One member of a consumer group: an immutable value, replaced as a whole when a record changes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias, TypeVar

from moldau.coordinator.group.classic_member import MemberProtocol
from moldau.dataclass import dataclass, field, replace
from moldau.errors import ErrorCode, KafkaError
from moldau.slicing import Work, pieces
from moldau.types import Uuid

# Partitions are those of topics, by id; tasks of streams groups are those of subtopologies.
K = TypeVar("K", Uuid, str)

# What somebody is assigned: partitions by topic id.
Assignment: TypeAlias = Mapping[Uuid, frozenset[int]]

NO_PARTITIONS: Final[Assignment] = {}
JOINING_EPOCH: Final = 0
LEAVING_EPOCH: Final = -1
# A static member that will come back: its partitions are kept for it until its session runs out.
STATIC_LEAVING_EPOCH: Final = -2


class MemberState(IntEnum):
    """How far a member is on its way to its target; the numbers are those of the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


class ClassicSide(NamedTuple):
    """What is kept of a member that speaks the classic protocol to a consumer group."""

    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]


@dataclass(slots=True, frozen=True)
class ConsumerMember:
    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assignor: str | None = None
    classic: ClassicSide | None = None
    assigned: Assignment = field(default_factory=dict)
    # It was told to give these up and has not said yet that it did.
    pending_revocation: Assignment = field(default_factory=dict)
    # The member's epoch when it got each of both: offsets it consumed since then are its own, even if its epoch has
    # grown meanwhile and it does not know yet.
    assignment_epochs: Mapping[tuple[Uuid, int], int] = field(default_factory=dict)

    def at_epoch(self, epoch: int) -> ConsumerMember:
        return replace(self, epoch=epoch, previous_epoch=self.epoch)

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state == MemberState.STABLE and self.epoch == epoch

    def stale(self, epoch: int) -> KafkaError:
        """For a request about offsets with another epoch, in the words of the protocol the member speaks."""
        code = ErrorCode.STALE_MEMBER_EPOCH if self.classic is None else ErrorCode.ILLEGAL_GENERATION
        return KafkaError(code, f"Member {self.member_id} is at epoch {self.epoch}, the request at {epoch}.")

    def same_subscription(self, other: ConsumerMember) -> bool:
        return self.topics == other.topics and self.pattern == other.pattern


def all_at_epoch(epoch: int, *assignments: Assignment) -> dict[tuple[Uuid, int], int]:
    return dict.fromkeys(partitions_of(*assignments), epoch)


def assignment(partitions: Iterable[tuple[K, int]]) -> Work[Mapping[K, frozenset[int]]]:
    gathered: dict[K, set[int]] = {}
    for some in pieces(partitions):
        for key, partition in some:
            gathered.setdefault(key, set()).add(partition)
        yield
    assigned: dict[K, frozenset[int]] = {}
    for rows in pieces(gathered.items()):
        assigned.update((key, frozenset(numbers)) for key, numbers in rows)
        yield
    return assigned


def partitions_of(*assignments: Mapping[K, frozenset[int]]) -> Iterator[tuple[K, int]]:
    for each in assignments:
        for key, partitions in each.items():
            for partition in partitions:
                yield key, partition


def is_subset(part: Mapping[K, frozenset[int]], whole: Mapping[K, frozenset[int]]) -> bool:
    return all(partitions <= whole.get(key, frozenset()) for key, partitions in part.items())


def holds_any(owned: Mapping[K, frozenset[int]], partitions: Mapping[K, frozenset[int]]) -> bool:
    return any(numbers & owned.get(key, frozenset()) for key, numbers in partitions.items())
