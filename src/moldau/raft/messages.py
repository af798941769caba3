"""What members of the quorum say to each other, in the machine's own words.

`outgoing_forms` and `incoming_forms` turn them into Kafka's messages and back. Every answer carries the standing of who
gave it: its epoch and the leader it knows, since that is how news of an election travels.
"""

from __future__ import annotations

from typing import TypeAlias

from moldau.dataclass import dataclass
from moldau.errors import ErrorCode
from moldau.links.addresses import Address
from moldau.raft.log_view import Entries, EpochOffset
from moldau.raft.voters import Endpoint, ReplicaKey, Voter


@dataclass(frozen=True, slots=True)
class Standing:
    epoch: int
    leader_id: int = -1
    address: Address | None = None


# ------------------------------------------------------------------------------------------------------------ requests


@dataclass(frozen=True, slots=True)
class VoteRequest:
    epoch: int
    candidate: ReplicaKey
    # Whom it is meant for, where the sender knows.
    voter: ReplicaKey | None
    end: EpochOffset
    # Only a question whether a vote would be given: nobody's epoch changes (KIP-996).
    pre_vote: bool


@dataclass(frozen=True, slots=True)
class BeginEpochRequest:
    epoch: int
    leader_id: int
    voter: ReplicaKey | None
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class EndEpochRequest:
    epoch: int
    leader_id: int
    # Those who should stand for election, the most up to date first.
    successors: tuple[ReplicaKey, ...]
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchRequest:
    epoch: int
    replica: ReplicaKey
    # Where the follower's log ends: everything before is on its disk.
    end: EpochOffset
    high_watermark: int
    max_wait: float
    max_bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    epoch: int
    replica: ReplicaKey
    snapshot: EpochOffset
    position: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class AddVoterRequest:
    voter: Voter
    timeout: float
    ack_when_committed: bool = True


@dataclass(frozen=True, slots=True)
class RemoveVoterRequest:
    voter: ReplicaKey


@dataclass(frozen=True, slots=True)
class UpdateVoterRequest:
    epoch: int
    voter: Voter


@dataclass(frozen=True, slots=True)
class VersionsRequest:
    """Which kraft.version a node understands that is to become a voter (ApiVersions)."""


Request: TypeAlias = (
    VoteRequest
    | BeginEpochRequest
    | EndEpochRequest
    | FetchRequest
    | SnapshotRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | UpdateVoterRequest
    | VersionsRequest
)


# ------------------------------------------------------------------------------------------------------------- answers


@dataclass(frozen=True, slots=True)
class VoteAnswer:
    error: ErrorCode
    standing: Standing
    granted: bool


@dataclass(frozen=True, slots=True)
class EpochAnswer:
    """To BeginQuorumEpoch and EndQuorumEpoch."""

    error: ErrorCode
    standing: Standing


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    error: ErrorCode
    standing: Standing
    high_watermark: int = -1
    # One of these, or neither: cut off what lies behind, take a snapshot first, or append.
    diverging: EpochOffset | None = None
    snapshot: EpochOffset | None = None
    # At the leader: what is to be read for it. At the follower: what came.
    read_from: int | None = None
    max_bytes: int = 0
    entries: Entries | None = None


@dataclass(frozen=True, slots=True)
class SnapshotAnswer:
    error: ErrorCode
    standing: Standing
    snapshot: EpochOffset | None = None
    size: int = 0
    position: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class ChangeAnswer:
    """To a change of voters."""

    error: ErrorCode
    standing: Standing
    message: str | None = None


@dataclass(frozen=True, slots=True)
class VersionsAnswer:
    error: ErrorCode
    min_version: int = 0
    max_version: int = 0


Answer: TypeAlias = VoteAnswer | EpochAnswer | FetchAnswer | SnapshotAnswer | ChangeAnswer | VersionsAnswer
