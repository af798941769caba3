"""What a disk holds, twice: as programs see it, and as it would be found after a power cut.

A file's content becomes durable when the file is synced; a directory's names when the directory is. In between the
operating system may write back any part at any time, in any order: a sector here, a name there. `survive` draws what
happened to have been written back, and makes that the truth.

The rules are those of POSIX and not of a particular file system, which may promise more:

- a sector of 512 bytes is old or new, never a mixture; sectors of one file are independent of each other;
- a file's length is the old one, the new one, or in between; bytes that were never written back there are zeros, or
  whatever lay on the disk;
- changes of different names are independent; changes of one name happened in their order, and a rename happened to
  both of its names or to none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from moldau.simulation.chance import SeededRandom
from moldau.types import Buffer

SECTOR: Final = 512
PAGE: Final = 4096


class FileNode:
    __slots__ = ("_cut", "_dirty", "content", "durable", "mapped", "modified_ms", "pages")

    def __init__(self, modified_ms: int) -> None:
        self.content = bytearray()
        self.durable = bytearray()
        self.modified_ms = modified_ms
        # Stores into a mapped file leave no trace; such a file is compared instead.
        self.mapped = False
        self.pages: set[int] = set()
        self._dirty: set[int] = set()
        # Cut and perhaps grown again since: what lies behind the cut is new, whether it was written or not.
        self._cut = False

    @property
    def size(self) -> int:
        return len(self.content)

    def new_pages(self, position: int, length: int) -> set[int]:
        """The pages a write would have to find room for."""
        return set(range(position // PAGE, -(-(position + length) // PAGE))) - self.pages

    def write(self, data: Buffer, position: int) -> None:
        content, end = self.content, position + len(data)
        if position > len(content):
            content.extend(bytes(position - len(content)))
        content[position:end] = data
        self.pages.update(range(position // PAGE, -(-end // PAGE)))
        self._dirty.update(range(position // SECTOR, -(-end // SECTOR)))

    def truncate(self, size: int) -> None:
        content = self.content
        if size < len(content):
            del content[size:]
            self.pages = {page for page in self.pages if page * PAGE < size}
            self._cut = True
        elif size > len(content):
            content.extend(bytes(size - len(content)))

    def sync(self) -> None:
        if self.mapped or self._cut or len(self._dirty) > 64:
            self.durable[:] = self.content
        else:
            self._resize_durable(len(self.content))
            for sector in self._dirty:
                self._write_back(sector)
        self._dirty.clear()
        self._cut = False

    def write_back_some(self, chance: SeededRandom) -> None:
        """The operating system finds time to write a few sectors back, without being asked."""
        dirty = sorted(self._dirty)
        if dirty:
            for _ in range(chance.between(1, 3)):
                sector = chance.choice(dirty)
                if sector * SECTOR < len(self.content):
                    needed = min((sector + 1) * SECTOR, len(self.content))
                    if needed > len(self.durable):
                        self._resize_durable(needed)
                    self._write_back(sector)

    def detach(self) -> None:
        """The process that had it mapped is gone: its views must not reach the content any more."""
        if self.mapped:
            self.content = bytearray(self.content)

    def survive(self, chance: SeededRandom) -> None:
        """A power cut: what was not synced is there in part."""
        old, new = bytes(self.durable), bytes(self.content)
        if old != new:
            match chance.below(6):
                case 0:
                    found = old
                case 1:
                    found = new
                case 2:
                    found = _torn(old, new, chance)
                case _:
                    found = _mixed(old, new, chance)
            self.content = bytearray(found)
            self.pages = set(range(-(-len(found) // PAGE)))
        else:
            self.content = bytearray(new)  # mappings of the dead process must not reach it any more
        self.durable = bytearray(self.content)
        self.mapped = self._cut = False
        self._dirty.clear()

    def _write_back(self, sector: int) -> None:
        start, end = sector * SECTOR, min((sector + 1) * SECTOR, len(self.content))
        if start < end:
            self.durable[start:end] = self.content[start:end]

    def _resize_durable(self, size: int) -> None:
        if size < len(self.durable):
            del self.durable[size:]
        else:
            self.durable.extend(bytes(size - len(self.durable)))


def _torn(old: bytes, new: bytes, chance: SeededRandom) -> bytes:
    """New up to some byte where the old content ended before, else up to some sector."""
    if len(new) > len(old) and new.startswith(old):
        return new[: chance.between(len(old), len(new))]
    cut = chance.between(0, len(new) // SECTOR) * SECTOR
    return new[:cut] + old[cut:]


def _mixed(old: bytes, new: bytes, chance: SeededRandom) -> bytes:
    """Each sector old or new; the length one of the two, or between them."""
    low, high = sorted((len(old), len(new)))
    size = chance.choice((low, high, chance.between(low, high)))
    probability = chance.choice((0.1, 0.5, 0.9))
    parts = []
    for start in range(0, size, SECTOR):
        end = min(start + SECTOR, size)
        was, now = old[start:end], new[start:end]
        part = now if chance.happens(probability) else was
        if len(part) < end - start:
            missing = end - start - len(part)
            part += chance.bytes(missing) if chance.happens(0.1) else bytes(missing)
        parts.append(part)
    return b"".join(parts)


@dataclass(slots=True)
class Change:
    """One change of a directory that is not yet durable: names that now mean a node, or nothing."""

    order: int
    names: dict[str, Node | None]


class DirectoryNode:
    __slots__ = ("_pending", "durable", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}
        self._pending: list[Change] = []

    def change(self, order: int, names: dict[str, Node | None]) -> None:
        self._pending.append(Change(order, names))
        _apply(self.entries, names)

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self._pending.clear()

    @property
    def pending_orders(self) -> Iterator[int]:
        return (change.order for change in self._pending)

    def survive(self, chance: SeededRandom, last_order: int | None) -> None:
        """A power cut: each change happened or not; with `last_order`, exactly those up to it did (a journal)."""
        entries = dict(self.durable)
        undone: set[str] = set()
        probability = chance.choice((0.0, 0.3, 0.7, 1.0))
        for change in self._pending:
            if last_order is not None:
                happened = change.order <= last_order
            else:
                happened = undone.isdisjoint(change.names) and chance.happens(probability)
            if happened:
                _apply(entries, change.names)
            else:
                undone.update(change.names)
        self.entries = entries
        self.sync()


Node: TypeAlias = FileNode | DirectoryNode


def _apply(entries: dict[str, Node], names: dict[str, Node | None]) -> None:
    for name, node in names.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def directories_below(root: DirectoryNode) -> list[DirectoryNode]:
    """All directories that are, or could be found again, below one."""
    found: dict[int, DirectoryNode] = {}
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        if id(directory) not in found:
            found[id(directory)] = directory
            waiting.extend(node for node in _known(directory) if isinstance(node, DirectoryNode))
    return list(found.values())


def _known(directory: DirectoryNode) -> Iterable[Node]:
    yield from directory.entries.values()
    yield from directory.durable.values()
    for change in directory._pending:
        yield from (node for node in change.names.values() if node is not None)


def survive(root: DirectoryNode, chance: SeededRandom) -> None:
    """A power cut for a whole tree."""
    directories = directories_below(root)
    orders = sorted(order for directory in directories for order in directory.pending_orders)
    last_order = chance.choice([*orders, -1]) if orders and chance.happens(0.4) else None
    for directory in directories:
        directory.survive(chance, last_order)
    _survive_files(root, chance)


def _survive_files(directory: DirectoryNode, chance: SeededRandom) -> None:
    for _, node in sorted(directory.entries.items()):
        if isinstance(node, FileNode):
            node.survive(chance)
        else:
            _survive_files(node, chance)
