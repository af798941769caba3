# The twin has the same face, so it is written down once.
from moldau._speed.reference.codec import BatchHeader as BatchHeader
from moldau._speed.reference.codec import assign_offsets as assign_offsets
from moldau._speed.reference.codec import crc32c as crc32c
from moldau._speed.reference.codec import keep_freed_memory as keep_freed_memory
from moldau._speed.reference.codec import raw_memory as raw_memory
from moldau._speed.reference.codec import read_header as read_header
from moldau._speed.reference.codec import scan_batches as scan_batches
from moldau._speed.reference.codec import set_max_timestamp as set_max_timestamp
from moldau.types import Buffer

def crc32c_without_instruction(data: Buffer) -> int: ...
def crc32c_by_instruction(data: Buffer) -> int: ...
