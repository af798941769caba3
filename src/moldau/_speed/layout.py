"""Where things lie in a record batch of format 2, and what the bits of its attributes mean.

The one place for the plain kernels and for everybody above them; `layout.h` repeats it for the compiled ones, and a
test compares the two.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

LENGTH_AT: Final = 8
LEADER_EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21  # from here on everything is covered by the checksum
FLAGS_AT: Final = 22  # the low byte of the attributes, which has all bits that mean something
LAST_OFFSET_DELTA_AT: Final = 23
BASE_TIMESTAMP_AT: Final = 27
MAX_TIMESTAMP_AT: Final = 35
PRODUCER_ID_AT: Final = 43
PRODUCER_EPOCH_AT: Final = 51
BASE_SEQUENCE_AT: Final = 53
COUNT_AT: Final = 57
HEADER_SIZE: Final = 61
PREFIX_SIZE: Final = 12  # base offset and length; the length counts what follows
HEADER: Final = Struct(">qiibIhiqqqhii")  # all of the above, in one go
# Formats 0 and 1: offset, length, checksum, magic and attributes stand before the rest of a message.
LEGACY_HEADER: Final = Struct(">qiIbb")
LEGACY_SIZES: Final = (14, 22)  # what that length says at least, by format

MAGIC: Final = 2
SMALLEST_RECORD: Final = 7  # length, attributes, timestamp, offset, key, value, headers: a byte each

COMPRESSION: Final = 0x07
TIMESTAMP_TYPE: Final = 0x08  # set: all records have the broker's time
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
