"""Which partition a record goes to: the key's hash exactly as the Java client computes it.

The hash must be the same everywhere: two producers in two languages that disagree put one key into two partitions.
"""

from __future__ import annotations

from moldau._speed.reference.accumulator import murmur2
from moldau.types import Buffer

__all__ = ["murmur2", "partition_for_key"]


def partition_for_key(key: Buffer, partitions: int) -> int:
    """Java masks the sign bit away instead of taking the absolute value; so do we."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
