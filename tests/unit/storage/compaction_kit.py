"""Compaction in one go, and logs whose every batch is a segment."""

from __future__ import annotations

from typing import Any

from storage_kit import NOW, StoppedClock, append, batch, open_log

from moldau.config.topic import LogConfig
from moldau.protocol.records import decode_batch, encode_batch
from moldau.runtime.disk import RealDisk
from moldau.storage.compaction import Compaction, Replacement, plan_compaction
from moldau.storage.dirtiness import dirtiness
from moldau.storage.log import Log

SEED = bytes(range(16))
COMPACT = LogConfig(
    segment_bytes=1 << 20, compact=True, delete=False, min_cleanable_dirty_ratio=0.0, file_delete_delay_ms=0
)


def keyed(*pairs: tuple[bytes | None, bytes | None], timestamp: int = NOW, **fields: Any) -> memoryview:
    records = [(timestamp, key, value, ()) for key, value in pairs]
    return memoryview(bytearray(encode_batch(records, **fields)))


def segment_of(log: Log, *pairs: tuple[bytes, bytes | None], **fields: Any) -> None:
    """One batch in a segment of its own, closed."""
    append(log, keyed(*pairs, **fields))
    log.local.roll()


def compact(
    log: Log, *, now_ms: int = NOW, disk: Any = None, memory: int = 1 << 20, buffer_size: int = 200
) -> Compaction:
    """All slices of one compaction, one after another."""
    found = dirtiness(log, now_ms)
    plan = plan_compaction(log, found, now_ms)
    compaction = Compaction(
        plan, disk or RealDisk(), memory=memory, load_factor=0.9, buffer_size=buffer_size, seed=SEED
    )
    for step in compaction.run():
        if isinstance(step, Replacement):
            compaction.accepted()
            log.local.replace_segments([step.new], step.old)
    log.local.first_dirty_offset = compaction.clean_offset
    return compaction


def content(log: Log, *, control: bool = False) -> list[tuple[int, bytes | None, bytes | None]]:
    """Every record in the files: offset, key, value."""
    found = []
    for segment in log.segments:
        for placed in segment.batches():
            if control or not placed.header.is_control:
                data = segment.open_file().read(placed.position, placed.header.size)
                found += [(record.offset, record.key, record.value) for record in decode_batch(data)]
    return found


def open_compacted(path: Any, config: LogConfig = COMPACT, **more: Any) -> Log:
    return open_log(path, config, clock=more.pop("clock", None) or StoppedClock(), **more)


__all__ = ["COMPACT", "NOW", "batch", "compact", "content", "keyed", "open_compacted", "segment_of"]
