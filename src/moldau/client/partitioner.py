"""Which partition a record goes to: the key's hash exactly as the Java client computes it.

The hash must be the same everywhere: two producers in two languages that disagree put one key into two partitions.
"""

from __future__ import annotations

from moldau.types import Buffer

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: Buffer) -> int:
    """The 32-bit MurmurHash2 with the seed Kafka uses, as an unsigned number."""
    length = len(data)
    value = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little")
        word = (word * _MULTIPLIER) & _MASK
        word ^= word >> 24
        word = (word * _MULTIPLIER) & _MASK
        value = ((value * _MULTIPLIER) & _MASK) ^ word
    if length > whole:
        value ^= int.from_bytes(data[whole:], "little")
        value = (value * _MULTIPLIER) & _MASK
    value ^= value >> 13
    value = (value * _MULTIPLIER) & _MASK
    return value ^ (value >> 15)


def partition_for_key(key: Buffer, partitions: int) -> int:
    """Java masks the sign bit away instead of taking the absolute value; so do we."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
