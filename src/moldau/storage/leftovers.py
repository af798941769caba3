"""Files whose names say that something was under way when the process died.

`.deleted`: the deletion had been decided, finish it. `.cleaned`: a compacted segment that was never announced, drop
it, and with it every `.swap` of the same or a higher offset, because announcing goes backwards and had not reached
the end. The other `.swap` files were announced completely: what they replace is removed and they take its place.
`heir`: the log has moved here, and has its name by now.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from moldau.config.topic import LogConfig
from moldau.errors import ProtocolError
from moldau.runtime.ports import Disk
from moldau.storage.file_names import CLEANED, DELETED, HEIR, LOG, SNAPSHOT, SWAP, offset_of
from moldau.storage.segment import Segment


def resolve_leftovers(disk: Disk, directory: str, config: LogConfig) -> Sequence[str]:
    """Returns the names in the directory afterwards."""
    found = disk.list(directory)
    if HEIR in found:
        disk.remove(posixpath.join(directory, HEIR))
    if not any(name.endswith((DELETED, CLEANED, SWAP)) for name in found):
        return found
    names = [name for name in found if offset_of(name) is not None]
    _remove(disk, directory, [name for name in names if name.endswith(DELETED)])
    cleaned = [name for name in names if name.endswith(CLEANED)]
    swapped = [name for name in names if name.endswith(SWAP)]
    unannounced = min(map(_offset, cleaned), default=None)
    if unannounced is not None:
        _remove(disk, directory, [name for name in swapped if _offset(name) >= unannounced])
        swapped = [name for name in swapped if _offset(name) < unannounced]
        _remove(disk, directory, cleaned)
    if swapped:
        _complete_swap(disk, directory, config, swapped)
    return disk.list(directory)


def _complete_swap(disk: Disk, directory: str, config: LogConfig, swapped: list[str]) -> None:
    ranges = [_range_of(disk, directory, config, name) for name in swapped if name.endswith(LOG + SWAP)]
    if ranges:
        first, end = min(low for low, _ in ranges), max(high for _, high in ranges)
        replaced = [
            name
            for name in disk.list(directory)
            if not name.endswith((SWAP, SNAPSHOT)) and (offset := offset_of(name)) is not None and first <= offset < end
        ]
        _remove(disk, directory, replaced)
    for name in swapped:
        source = posixpath.join(directory, name)
        disk.rename(source, source.removesuffix(SWAP))
    disk.sync_directory(directory)


def _range_of(disk: Disk, directory: str, config: LogConfig, name: str) -> tuple[int, int]:
    """First offset and end of a segment that waits to be swapped in."""
    segment = Segment.open(disk, directory, _offset(name), config, 0, SWAP)
    end = segment.base_offset
    try:
        for placed in segment.batches():
            end = placed.header.next_offset
    except ProtocolError:
        pass  # it was forced to disk before it was announced; should it be damaged, recovery will say so
    finally:
        segment.release()
    return segment.base_offset, end


def _remove(disk: Disk, directory: str, names: list[str]) -> None:
    for name in names:
        disk.remove(posixpath.join(directory, name))


def _offset(name: str) -> int:
    offset = offset_of(name)
    assert offset is not None
    return offset
