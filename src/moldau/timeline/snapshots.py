"""Undo journals by offset.

Reads are far more frequent than reverts, so the maps hold the newest state as plain dictionaries and a snapshot holds
only what is needed to go back: for every key changed since it was taken, the value it had. Reverting walks the
journals from the newest to the one asked for; committing drops journals from the old end. Both cost what changed,
never what exists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, Final, Protocol

# The value of a key that was not there.
ABSENT: Final = object()


class Revertable(Protocol):
    """State that takes part in snapshots."""

    def restore(self, undo: dict[Hashable, Any]) -> None:
        """Puts the old values back; `ABSENT` means the key did not exist."""
        ...


class Snapshot:
    """What changed after `offset`: for each holder, the old values of the keys it changed."""

    __slots__ = ("journals", "offset")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.journals: dict[int, tuple[Revertable, dict[Hashable, Any]]] = {}

    def journal(self, holder: Revertable) -> dict[Hashable, Any]:
        # By identity: holders are mutable, and two equal maps are still two maps.
        entry = self.journals.get(id(holder))
        if entry is None:
            entry = self.journals[id(holder)] = (holder, {})
        return entry[1]


class SnapshotRegistry:
    """The snapshots of one state machine, oldest first."""

    def __init__(self) -> None:
        self._snapshots: deque[Snapshot] = deque()
        # The snapshot that records changes at the moment; maps read it on every write, hence a plain attribute.
        self.latest: Snapshot | None = None

    @property
    def offsets(self) -> tuple[int, ...]:
        return tuple(snapshot.offset for snapshot in self._snapshots)

    def at_or_before(self, offset: int) -> int:
        """The newest snapshot that is not after `offset`; `offset` itself if there is none."""
        return next((found.offset for found in reversed(self._snapshots) if found.offset <= offset), offset)

    def create(self, offset: int) -> None:
        """From now on, `revert_to(offset)` brings back the state of this moment. A second call for the same offset
        does nothing, so that an operation without records needs no special case."""
        if self._snapshots:
            newest = self._snapshots[-1].offset
            if newest == offset:
                return
            if newest > offset:
                raise ValueError(f"a snapshot at {offset} cannot follow one at {newest}")
        self._push(Snapshot(offset))

    def revert_to(self, offset: int) -> None:
        """The state as it was when the snapshot at `offset` was taken; the snapshot itself stays."""
        if offset not in self.offsets:
            raise ValueError(f"there is no snapshot at {offset}")
        while True:
            snapshot = self._snapshots.pop()
            for holder, undo in reversed(snapshot.journals.values()):
                holder.restore(undo)
            if snapshot.offset == offset:
                break
        self._push(Snapshot(offset))

    def delete_up_to(self, offset: int) -> None:
        """Forgets the snapshots before `offset`: what they cover is committed and stays."""
        while self._snapshots and self._snapshots[0].offset < offset:
            self._snapshots.popleft()
        if not self._snapshots:
            self.latest = None

    def clear(self) -> None:
        """Forgets every snapshot; the state stays as it is."""
        self._snapshots.clear()
        self.latest = None

    def after(self, offset: int) -> tuple[Snapshot, ...]:
        """The snapshots at `offset` and later, oldest first: what a read of the past has to look through."""
        return tuple(snapshot for snapshot in self._snapshots if snapshot.offset >= offset)

    def _push(self, snapshot: Snapshot) -> None:
        self._snapshots.append(snapshot)
        self.latest = snapshot
