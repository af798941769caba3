from collections.abc import Sequence
from typing import Any

def answer_follower(
    replicas: Any,
    session: Any,
    session_epoch: int,
    asked: Sequence[Any],
    follower: int,
    version: int,
    correlation_id: int,
    max_bytes: int,
) -> list[Any] | None: ...
def read_at_end(partition: Any, asked: Any, follower: int, broker_epoch: int, now_ms: int) -> Any: ...
def follower_at_end(replicas: Any, asked: Sequence[Any], follower: int, broker_epoch: int) -> list[Any] | None: ...
