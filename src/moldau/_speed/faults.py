"""What can be wrong with record bytes, in one table: both twins refuse with the same words.

A kernel that runs without the GIL can only return a number, so every fault has one; `record.h` repeats the numbers.
"""

from __future__ import annotations

from enum import IntEnum, unique

from moldau.errors import InvalidRecordError, ProtocolError


@unique
class Fault(IntEnum):
    SHORT = 1
    SIZE = 2
    MAGIC = 3
    CHECKSUM = 4
    COUNTS = 5
    RECORD = 6
    OFFSET = 7
    TIMESTAMP = 8
    TRAILING = 9


# Bytes that did not arrive whole are a ProtocolError; those that did and still make no sense an InvalidRecordError.
_SENTENCES: dict[int, tuple[type[ProtocolError], str]] = {
    Fault.SHORT: (ProtocolError, "the bytes end inside the record batch"),
    Fault.SIZE: (ProtocolError, "the record batch has an impossible size"),
    Fault.MAGIC: (ProtocolError, "the record batch is not in format 2"),
    Fault.CHECKSUM: (ProtocolError, "the record batch does not fit its checksum"),
    Fault.COUNTS: (InvalidRecordError, "the record batch's offsets and record count contradict each other"),
    Fault.RECORD: (InvalidRecordError, "the record does not fit its length"),
    Fault.OFFSET: (InvalidRecordError, "the record's offset lies outside its batch or out of order"),
    Fault.TIMESTAMP: (InvalidRecordError, "the record's timestamp does not fit 64 bits"),
    Fault.TRAILING: (InvalidRecordError, "bytes follow the last record of the batch"),
}


def fault(code: int, position: int) -> ProtocolError:
    """The exception for a fault of the batch or record that starts at `position` of the bytes handed in."""
    kind, sentence = _SENTENCES[code]
    return kind(f"{sentence} (position {position})")
