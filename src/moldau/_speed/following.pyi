from collections.abc import Sequence
from typing import Any

from moldau.types import Buffer

def encode_source_fetch(
    version: int,
    max_wait: int,
    min_bytes: int,
    max_bytes: int,
    session_id: int,
    session_epoch: int,
    named: Sequence[Any],
    forgotten: Sequence[Any],
    cluster_id: str,
    replica_id: int,
    replica_epoch: int,
) -> bytes | None: ...
def parse_source_answer(data: Buffer, start: int, version: int) -> Any: ...
