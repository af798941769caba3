"""What comes in and goes out by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Traffic:
    """Of one topic on this broker, since it holds a partition of it."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "messages_in",
        "produces",
        "replica_bytes_out",
    )

    def __init__(self) -> None:
        self.produces = self.failed_produces = self.bytes_in = self.messages_in = 0
        self.fetches = self.failed_fetches = self.bytes_out = self.replica_bytes_out = 0

    def took(self, size: int, records: int) -> None:
        """A batch was appended."""
        self.produces += 1
        self.bytes_in += size
        self.messages_in += records

    def refused(self) -> None:
        self.produces += 1
        self.failed_produces += 1

    def gave(self, size: int) -> None:
        """A partition was read for a client."""
        self.fetches += 1
        self.bytes_out += size


def count_reads(traffics: list[Traffic | None], results: Sequence[Any], follower: bool) -> None:
    """What a fetch came to: `results` as `replica/reads` has them, and the traffic of each one's topic, if known."""
    for traffic, result in zip(traffics, results, strict=False):
        if traffic is None:
            continue
        traffic.fetches += 1
        if result[2]:
            traffic.failed_fetches += 1
        elif follower:
            traffic.replica_bytes_out += len(result[8])
        else:
            traffic.bytes_out += len(result[8])
