"""The voters of the quorum: who they are, where they are reached, and how the set changed along the log.

A set never changes; a change makes another one. The newest set in the log counts from the moment it is written, long
before it is committed (so do all proofs about changing one voter at a time), and goes when its record is cut off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from moldau.links.addresses import Address
from moldau.types import NO_OFFSET, ZERO_UUID, Uuid

T = TypeVar("T")


class Endpoint(NamedTuple):
    """Where a voter listens, by the name of the listener."""

    name: str
    host: str
    port: int


class ReplicaKey(NamedTuple):
    """A node and its metadata directory: with another disk the same node is another voter. Zero means unknown."""

    id: int
    directory: Uuid = ZERO_UUID

    def covers(self, other: ReplicaKey) -> bool:
        """Whether `other` is meant by this key, which may not know the directory."""
        return self.id == other.id and self.directory in (ZERO_UUID, other.directory)


class Voter(NamedTuple):
    key: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()
    # The range of kraft.version it understands.
    min_version: int = 0
    max_version: int = 0

    def address(self, listener: str) -> Address | None:
        for endpoint in self.endpoints:
            if endpoint.name == listener:
                return Address(endpoint.host, endpoint.port)
        return None


class VoterSet:
    __slots__ = ("_by_id",)

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self._by_id = {voter.key.id: voter for voter in sorted(voters, key=lambda voter: voter.key.id)}

    def __iter__(self) -> Iterator[Voter]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VoterSet({list(self._by_id.values())})"

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(self._by_id)

    @property
    def majority(self) -> int:
        return len(self._by_id) // 2 + 1

    def get(self, id: int) -> Voter | None:
        return self._by_id.get(id)

    def has(self, key: ReplicaKey) -> bool:
        voter = self._by_id.get(key.id)
        return voter is not None and voter.key.covers(key)

    def with_voter(self, voter: Voter) -> VoterSet:
        """Added, or in the place of the one with its id."""
        return VoterSet([*(other for other in self if other.key.id != voter.key.id), voter])

    def without(self, key: ReplicaKey) -> VoterSet:
        return VoterSet(voter for voter in self if voter.key != key)


class VoterChange(NamedTuple):
    """What a control record at an offset says about the quorum."""

    offset: int
    voters: VoterSet | None = None
    kraft_version: int | None = None


class VoterHistory:
    """The sets by offset, uncommitted ones included. `configured` holds as long as the log says nothing."""

    def __init__(self, configured: VoterSet) -> None:
        self._configured = configured
        self._voters: list[tuple[int, VoterSet]] = []
        self._versions: list[tuple[int, int]] = []

    @property
    def last(self) -> VoterSet:
        return self._voters[-1][1] if self._voters else self._configured

    @property
    def last_offset(self) -> int:
        """Where the newest set was written; -1 if it comes from the settings or from before the log."""
        return self._voters[-1][0] if self._voters else NO_OFFSET

    @property
    def kraft_version(self) -> int:
        return self._versions[-1][1] if self._versions else 0

    def at(self, end_offset: int) -> tuple[VoterSet, int]:
        """The set and the kraft.version that the log says before an offset."""
        voters = [voters for offset, voters in self._voters if offset < end_offset]
        versions = [version for offset, version in self._versions if offset < end_offset]
        return voters[-1] if voters else self._configured, versions[-1] if versions else 0

    def add(self, changes: Iterable[VoterChange]) -> None:
        for change in changes:
            if change.voters is not None:
                self._voters.append((change.offset, change.voters))
            if change.kraft_version is not None:
                self._versions.append((change.offset, change.kraft_version))

    def cut(self, end_offset: int) -> None:
        """What was written at or after an offset was never committed."""
        self._voters = [entry for entry in self._voters if entry[0] < end_offset]
        self._versions = [entry for entry in self._versions if entry[0] < end_offset]

    def forget_before(self, offset: int) -> None:
        """A snapshot holds what was said before an offset, and the log goes back to it at most: of all that was said
        before only the newest is asked for again."""
        self._voters = _from(self._voters, offset)
        self._versions = _from(self._versions, offset)

    def restart(self, changes: Iterable[VoterChange]) -> None:
        """A snapshot takes the place of everything."""
        self._voters, self._versions = [], []
        self.add(changes)


def _from(entries: list[tuple[int, T]], offset: int) -> list[tuple[int, T]]:
    """Those at or after an offset, and the last before it."""
    older = [entry for entry in entries if entry[0] < offset]
    return [*older[-1:], *entries[len(older) :]]
