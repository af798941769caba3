from collections.abc import Sequence
from typing import Any, TypeAlias

from moldau.types import Buffer

# Partition, offset, leader epoch, metadata.
_Row: TypeAlias = tuple[int, int, int, str]

def parse_commit(
    data: Buffer, start: int, end: int, version: int
) -> tuple[str, int, str, str | None, list[tuple[str | bytes, list[_Row]]]] | None: ...
def encode_commit(
    version: int, correlation_id: int, topics: list[tuple[str | bytes, list[_Row]]], error: int
) -> bytes: ...
def offset_batch(commits: Sequence[tuple[Any, ...]], now: int) -> bytes | None: ...
def java_hash(text: str) -> int | None: ...
