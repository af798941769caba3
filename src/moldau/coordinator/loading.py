"""Reading a partition back into its shard, a slice at a time.

A partition of the offsets topic can hold millions of records, and the loop serves everybody else meanwhile: so a slice
is read when the last one is used up, and each turn of the loop replays for a few milliseconds only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from moldau.coordinator.partition_log import PartitionLog
from moldau.coordinator.record_framing import RecordTypes, decode_in_slices
from moldau.coordinator.write_path import ShardWriter
from moldau.errors import KafkaError
from moldau.protocol.records import decode_batch, read_end_transaction, scan_batches
from moldau.runtime.ports import Clock, Loop
from moldau.slicing import Work
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

logger = logging.getLogger("moldau.coordinator")

# How long one turn of the loop may be busy with loading, in seconds.
_TURN: Final = 0.005
# Records of one batch between two looks at the clock.
_PIECE: Final = 16


class Loading:
    """`finished(error)` is called once, unless it was cancelled before."""

    def __init__(
        self,
        writer: ShardWriter[Any],
        types: RecordTypes,
        log: PartitionLog,
        loop: Loop,
        clock: Clock,
        *,
        slice_bytes: int,
        finished: Callable[[Exception | None], None],
    ) -> None:
        self._writer = writer
        self._types = types
        self._log = log
        self._loop = loop
        self._clock = clock
        self._slice_bytes = slice_bytes
        self._finished = finished
        self._cancelled = False
        self._unknown: set[int] = set()
        self._steps = self._replay_all()

    def start(self) -> None:
        self._loop.call_later(0, self._turn)

    def cancel(self) -> None:
        self._cancelled = True

    def _turn(self) -> None:
        if self._cancelled:
            return
        until = self._clock.monotonic() + _TURN
        try:
            for _ in self._steps:
                if self._clock.monotonic() >= until:
                    self._loop.call_later(0, self._turn)
                    return
        except KafkaError as error:  # a disk that fails, most likely: others will lead what lies there
            logger.error("%s could not be loaded: %s", self._writer.partition, error)
            self._finished(error)
            return
        except Exception as error:  # whatever is wrong with the log, only this shard suffers
            logger.exception("%s could not be loaded", self._writer.partition)
            self._finished(error)
            return
        self._finished(None)

    def _replay_all(self) -> Work[None]:
        partition = self._writer.partition
        offset = self._log.log_start_offset(partition)
        self._writer.loaded_to(offset, self._log.high_watermark(partition))
        while True:
            data, end = self._log.read(partition, offset, self._slice_bytes)
            offset = yield from self._replay(data, offset)
            if offset >= end or not data:
                # Compaction may have taken the last batches: then the end is further than any record.
                self._writer.loaded_to(max(offset, end), self._log.high_watermark(partition))
                return

    def _replay(self, data: bytes, offset: int) -> Work[int]:
        """Replays batch by batch, and pauses also within one; the offset after the last."""
        position, shard, partition = 0, self._writer.shard, self._writer.partition
        following = offset
        for header in scan_batches(data, 0, len(data), check_crc=False):
            start, position = position, position + header.size
            if header.last_offset < offset:
                continue
            producer = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
            if header.is_transactional:
                producer = (header.producer_id, header.producer_epoch)
            for number, record in enumerate(decode_batch(data, start, position, check_crc=False), 1):
                if not number % _PIECE:
                    yield
                if header.is_control:
                    marker = read_end_transaction(record)
                    if marker is not None:
                        yield from shard.replay_marker(*producer, marker.committed) or ()
                    continue
                decoded = yield from decode_in_slices(self._types, record.key, record.value)
                if decoded is None:
                    self._pass_over(record.key)
                elif record.offset >= offset:
                    yield from shard.replay(decoded, record.offset, *producer) or ()
            following = header.next_offset
            self._writer.loaded_to(following, self._log.high_watermark(partition))
            yield
        return following

    def _pass_over(self, key: bytes | None) -> None:
        number = int.from_bytes((key or b"")[:2], "big", signed=True)
        if number not in self._unknown:
            self._unknown.add(number)
            logger.warning("%s holds records of type %d, which are passed over", self._writer.partition, number)
