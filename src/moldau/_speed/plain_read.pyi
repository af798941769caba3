from collections.abc import Callable
from typing import Any

from moldau.types import Buffer

def read_plain(
    replicas: Any,
    file_slice: Callable[[Any, int, int], Any],
    data: Buffer,
    start: int,
    end: int,
    version: int,
    correlation_id: int,
    most_bytes: int,
) -> list[Any] | None: ...
