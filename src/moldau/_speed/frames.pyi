from collections.abc import Callable, Sequence
from typing import Any

from moldau.types import Buffer

def deliver_frames(
    view: memoryview,
    position: int,
    end: int,
    largest: int,
    frame: Callable[[memoryview, int, int], None],
    gate: Any,
    most: int,
    seconds: float,
) -> tuple[int, int]: ...
def parse_produce(data: Buffer, start: int, end: int, version: int, plain: bool = False) -> Any: ...
def parse_fetch(data: Buffer, start: int, end: int, version: int) -> Any: ...
def encode_produce(version: int, correlation_id: int, results: Sequence[Any], throttle_ms: int) -> bytes: ...
def encode_fetch(
    version: int, correlation_id: int, throttle_ms: int, error: int, session_id: int, results: Sequence[Any]
) -> list[Any]: ...
