"""What applications hang into the way of every record: told when it goes, and what became of it.

An interceptor is for watching and adding, so it must not be able to stop a record: what it raises is logged, and the
record goes on as it was before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

logger = logging.getLogger("moldau.client")

# Topic, value, key, headers, partition and timestamp, as `send` takes them.
Record: TypeAlias = tuple[str, Any, Any, list[tuple[str, bytes]] | None, int | None, int | None]


def pass_through(interceptors: Sequence[Any], record: Record) -> Record:
    """The record as all of them leave it, in the order they were given."""
    for interceptor in interceptors:
        try:
            topic, value, key, headers, partition, timestamp_ms = interceptor.on_send(*record)
        except Exception:
            logger.exception("an interceptor failed on a record that is sent")
        else:
            record = (topic, value, key, headers, partition, timestamp_ms)
    return record


def failed(interceptors: Sequence[Any], error: BaseException) -> None:
    """The record did not get as far as a batch."""
    for interceptor in interceptors:
        try:
            failed_to(interceptor)(error)
        except Exception:
            logger.exception("an interceptor failed on a record that was not sent")


def failed_to(interceptor: Any) -> Callable[[BaseException], None]:
    return lambda error: interceptor.on_acknowledgement(None, exception=error)
