"""What the machine wants done, in the order in which it has to be true.

Two rules for whoever carries them out:

1. What concerns the log (Append, AppendControl, Truncate, SaveSnapshot, and reading what an answer carries) is done at
   once, in order: the next step looks at the log.
2. Whatever leaves the node or its quorum (Send, Reply, ReplySnapshot, Deliver, DeliverSnapshot, LeaderChanged) comes
   after every Persist before it is on disk, in order. A vote that was told and forgotten is a second vote.

Force asks for an fsync of what was appended; `flushed` tells the machine when it is done. It waits for nobody.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from moldau.dataclass import dataclass
from moldau.links.addresses import Address
from moldau.protocol.message import Message
from moldau.protocol.records import ControlType
from moldau.raft.log_view import Entries, EpochOffset
from moldau.raft.messages import Answer, Request, SnapshotRequest, Standing
from moldau.raft.voters import ReplicaKey, VoterChange


class Election(NamedTuple):
    """What must not be forgotten: the epoch, who leads it, whom this node voted for in it."""

    epoch: int = 0
    leader_id: int = -1
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class Persist:
    election: Election


@dataclass(frozen=True, slots=True)
class Append:
    """Batches of the leader, as they came."""

    entries: Entries


@dataclass(frozen=True, slots=True)
class AppendControl:
    """One batch of control records, as leader."""

    base_offset: int
    epoch: int
    records: tuple[tuple[ControlType, Message], ...]
    # What they say about the voters.
    changes: tuple[VoterChange, ...] = ()

    @property
    def end(self) -> EpochOffset:
        return EpochOffset(self.epoch, self.base_offset + len(self.records))


@dataclass(frozen=True, slots=True)
class Truncate:
    end_offset: int


@dataclass(frozen=True, slots=True)
class Force:
    """Everything appended so far is to be on disk."""


@dataclass(frozen=True, slots=True)
class Send:
    id: int
    node_id: int
    address: Address
    request: Request


@dataclass(frozen=True, slots=True)
class Reply:
    token: Any
    answer: Answer


@dataclass(frozen=True, slots=True)
class ReplySnapshot:
    """A piece of a snapshot, if there is such a one."""

    token: Any
    request: SnapshotRequest
    standing: Standing


@dataclass(frozen=True, slots=True)
class SaveSnapshot:
    """A piece of a snapshot from the leader. With the last one it is to be forced to disk and put in the place of the
    whole log; `snapshot_installed` says when."""

    snapshot: EpochOffset
    position: int
    data: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class Deliver:
    """Everything before the offset is committed."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class DeliverSnapshot:
    snapshot: EpochOffset


@dataclass(frozen=True, slots=True)
class LeaderChanged:
    leader_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that cannot happen unless somebody lost what was committed: the node must stop."""

    reason: str


Effect: TypeAlias = (
    Persist
    | Append
    | AppendControl
    | Truncate
    | Force
    | Send
    | Reply
    | ReplySnapshot
    | SaveSnapshot
    | Deliver
    | DeliverSnapshot
    | LeaderChanged
    | Fault
)
