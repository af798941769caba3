"""The holders of revertable state: a map, a set and a single value."""

from __future__ import annotations

from collections.abc import Hashable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any, Generic, TypeVar, cast, overload

from moldau.timeline.snapshots import ABSENT, SnapshotRegistry

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D")


class TimelineMap(Generic[K, V]):
    """A dictionary whose changes can be taken back. Values must not be changed in place."""

    __slots__ = ("_current", "_registry")

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._current: dict[K, V] = {}

    def __setitem__(self, key: K, value: V) -> None:
        self._remember(key)
        self._current[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self._current:
            raise KeyError(key)
        self._remember(key)
        del self._current[key]

    def pop(self, key: K) -> V | None:
        """Removes the key; its value, or None if it was not there."""
        if key not in self._current:
            return None
        self._remember(key)
        return self._current.pop(key)

    def clear(self) -> None:
        for key in self._current:
            self._remember(key)
        self._current = {}

    def __getitem__(self, key: K) -> V:
        return self._current[key]

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: D | None = None) -> V | D | None:
        return self._current.get(key, default)

    def get_at(self, key: K, offset: int) -> V | None:
        """The value as of the snapshot at `offset`: what a reader sees who must not see uncommitted changes."""
        for snapshot in self._registry.after(offset):
            entry = snapshot.journals.get(id(self))
            if entry is not None and key in entry[1]:
                old = entry[1][key]
                return None if old is ABSENT else cast(V, old)
        return self._current.get(key)

    def snapshot_at(self, offset: int) -> dict[K, V]:
        """A copy of the whole map as of the snapshot at `offset`."""
        past = dict(self._current)
        for snapshot in reversed(self._registry.after(offset)):
            entry = snapshot.journals.get(id(self))
            if entry is not None:
                _put_back(cast("dict[Hashable, Any]", past), entry[1])
        return past

    def __contains__(self, key: object) -> bool:
        return key in self._current

    def __len__(self) -> int:
        return len(self._current)

    def __iter__(self) -> Iterator[K]:
        return iter(self._current)

    def keys(self) -> KeysView[K]:
        return self._current.keys()

    def values(self) -> ValuesView[V]:
        return self._current.values()

    def items(self) -> ItemsView[K, V]:
        return self._current.items()

    def restore(self, undo: dict[Hashable, Any]) -> None:
        _put_back(cast("dict[Hashable, Any]", self._current), undo)

    def _remember(self, key: K) -> None:
        latest = self._registry.latest
        if latest is not None:
            # Only the first change after a snapshot matters: it knows the value the snapshot saw.
            latest.journal(self).setdefault(key, self._current.get(key, ABSENT))


class TimelineSet(Generic[K]):
    """A set whose changes can be taken back."""

    __slots__ = ("_members",)

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._members: TimelineMap[K, None] = TimelineMap(registry)

    def add(self, member: K) -> None:
        if member not in self._members:
            self._members[member] = None

    def discard(self, member: K) -> None:
        self._members.pop(member)

    def __contains__(self, member: object) -> bool:
        return member in self._members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[K]:
        return iter(self._members)


class TimelineValue(Generic[V]):
    """One value whose changes can be taken back."""

    __slots__ = ("_cell",)

    def __init__(self, registry: SnapshotRegistry, initial: V) -> None:
        self._cell: TimelineMap[None, V] = TimelineMap(registry)
        self._cell[None] = initial

    @property
    def value(self) -> V:
        return self._cell[None]

    @value.setter
    def value(self, value: V) -> None:
        self._cell[None] = value

    def at(self, offset: int) -> V:
        return self._cell.snapshot_at(offset)[None]


def _put_back(current: dict[Hashable, Any], undo: dict[Hashable, Any]) -> None:
    for key, old in undo.items():
        if old is ABSENT:
            current.pop(key, None)
        else:
            current[key] = old
