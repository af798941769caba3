"""One member of a streams group, usually a thread of an application: an immutable value, replaced as a whole.

What is handed out are tasks: partition 3 of the input of a subtopology is a task of it. A task is *active* with one
member, which processes it; as *standby* or *warm-up* other processes keep a copy of its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from moldau.coordinator.group.consumer_member import MemberState, holds_any, is_subset
from moldau.dataclass import dataclass, field, replace
from moldau.errors import ErrorCode, KafkaError

# A subtopology and a partition of its input.
TaskId: TypeAlias = tuple[str, int]
Partitions: TypeAlias = Mapping[str, frozenset[int]]


class Tasks(NamedTuple):
    """Partitions by subtopology, in each of the three roles."""

    active: Partitions = {}
    standby: Partitions = {}
    warmup: Partitions = {}

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)

    def holds_any(self, others: Tasks) -> bool:
        return any(holds_any(mine, theirs) for mine, theirs in zip(self, others, strict=True))

    def is_within(self, others: Tasks) -> bool:
        return all(is_subset(mine, theirs) for mine, theirs in zip(self, others, strict=True))

    def is_same(self, others: Tasks) -> bool:
        return self.is_within(others) and others.is_within(self)


NO_TASKS: Final = Tasks()


class Endpoint(NamedTuple):
    """Where the application answers queries for what it keeps."""

    host: str
    port: int


@dataclass(slots=True, frozen=True)
class StreamsMember:
    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = -1
    # The instance of the application; its members share what they keep on disk.
    process_id: str = ""
    endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()
    assigned: Tasks = NO_TASKS
    # It was told to give these up and has not said yet that it did.
    pending_revocation: Tasks = NO_TASKS
    # The member's epoch when it got each active task of both: offsets it consumed since then are its own, even if its
    # epoch has grown meanwhile and it does not know yet.
    assignment_epochs: Mapping[TaskId, int] = field(default_factory=dict)

    def at_epoch(self, epoch: int) -> StreamsMember:
        return replace(self, epoch=epoch, previous_epoch=self.epoch)

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state == MemberState.STABLE and self.epoch == epoch

    def stale(self, epoch: int) -> KafkaError:
        """For a request about offsets with another epoch."""
        return KafkaError(
            ErrorCode.STALE_MEMBER_EPOCH,
            f"Member {self.member_id} is at epoch {self.epoch}, the request at {epoch}.",
        )
