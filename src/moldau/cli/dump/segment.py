"""The batches of a segment, one after the other, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moldau._speed.layout import ATTRIBUTES_AT, HEADER_SIZE
from moldau.errors import ProtocolError
from moldau.protocol.records import BatchHeader, crc32c, decode_batch
from moldau.storage.file_batches import header_at


@dataclass(slots=True, frozen=True)
class Batch:
    position: int
    header: BatchHeader
    data: memoryview


class Damage(Exception):
    """Bytes from which no further batch can be read."""

    def __init__(self, position: int, sentence: str) -> None:
        super().__init__(sentence)
        self.position = position


def walk(data: memoryview) -> Iterator[Batch]:
    """Every batch up to the end or to the zeros of space that was reserved; Damage where it does not go on."""
    position = 0
    while position < len(data):
        left = len(data) - position
        try:
            header = header_at(bytes(data[position : position + HEADER_SIZE]), 0)
        except ProtocolError as error:
            if not any(data[position:]):
                return
            raise Damage(
                position, f"no batch can be read at position {position} ({error}); {left} bytes are left"
            ) from error
        if header.size > left:
            raise Damage(
                position, f"the batch at position {position} should have {header.size} bytes, but only {left} are left"
            )
        yield Batch(position, header, data[position : position + header.size])
        position += header.size


class Order:
    """Checks batch after batch that the log is in order."""

    def __init__(self, base_offset: int) -> None:
        self._base = base_offset
        self._last: int | None = None
        self._epoch = -1

    def problems(self, batch: Batch) -> list[str]:
        header = batch.header
        found: list[str] = []
        if header.base_offset < self._base and header.magic == 2:
            found.append(f"begins with offset {header.base_offset}, before the segment's own {self._base}")
        if self._last is not None and header.base_offset <= self._last:
            found.append(f"begins with offset {header.base_offset}, but offset {self._last} came before it")
        if header.partition_leader_epoch < self._epoch:
            found.append(f"has leader epoch {header.partition_leader_epoch} after epoch {self._epoch}")
        self._last = header.last_offset
        self._epoch = max(self._epoch, header.partition_leader_epoch)
        return [f"the batch at position {batch.position} {problem}" for problem in found]


def content_problems(batch: Batch) -> list[str]:
    """Checksum first; the records are opened only if it fits, because otherwise they prove nothing."""
    header = batch.header
    where = f"the batch at position {batch.position} (offset {header.base_offset})"
    if header.magic == 2:
        crc = crc32c(batch.data, ATTRIBUTES_AT)
        if crc != header.crc:
            return [f"{where} does not fit its checksum: it says {header.crc:08x}, its bytes give {crc:08x}"]
    try:
        records = decode_batch(batch.data)
    except ProtocolError as error:
        return [f"{where} cannot be opened: {error}"]
    if header.magic == 2 and len(records) != header.count:
        return [f"{where} announces {header.count} records and holds {len(records)}"]
    if header.magic == 2 and any(not header.base_offset <= record.offset <= header.last_offset for record in records):
        return [f"{where} holds offsets outside {header.base_offset} to {header.last_offset}"]
    return []


def crc_fits(batch: Batch) -> bool:
    if batch.header.magic == 2:
        return crc32c(batch.data, ATTRIBUTES_AT) == batch.header.crc
    try:
        decode_batch(batch.data)
    except ProtocolError:
        return False
    return True
