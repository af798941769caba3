"""A fetch session as the fetcher sees it (KIP-227): partitions are named once, and afterwards only what changed.

The other end is `server/fetch_sessions`, or a Kafka broker's. A session is only ever an optimisation: whenever anything
is unclear, the next fetch names everything again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from moldau.errors import ErrorCode
from moldau.types import Uuid

_NONE: Final = 0
_INITIAL: Final = 0
_LARGEST: Final = 2**31 - 1

PartitionKey: TypeAlias = tuple[Uuid, int]


class Asked(NamedTuple):
    """What is asked of one partition."""

    offset: int
    log_start_offset: int
    leader_epoch: int
    fetched_epoch: int
    max_bytes: int


class SourceSession:
    def __init__(self) -> None:
        self.id = _NONE
        self.epoch = _INITIAL
        # What the other end believes we want, as far as it has answered.
        self._told: dict[PartitionKey, Asked] = {}

    def next(self, wanted: Mapping[PartitionKey, Asked]) -> tuple[list[tuple[PartitionKey, Asked]], list[PartitionKey]]:
        """The partitions to name in the next request, and those to be forgotten."""
        if self.epoch == _INITIAL:
            self._told = dict(wanted)
            return list(wanted.items()), []
        told = self._told
        changed = [(key, asked) for key, asked in wanted.items() if told.get(key) != asked]
        forgotten = [key for key in told if key not in wanted] if len(told) + len(changed) > len(wanted) else []
        for key in forgotten:
            del told[key]
        told.update(changed)
        return changed, forgotten

    def answered(self, error: int, session_id: int) -> bool:
        """Whether the answer is one to the partitions that were asked for; else all has to be asked for anew."""
        if error != ErrorCode.NONE:
            self.lost()
            if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self.id = _NONE
            return False
        if session_id == _NONE:
            self.id, self.epoch = _NONE, _INITIAL  # there was no room for one
        elif self.epoch == _INITIAL:
            self.id, self.epoch = session_id, 1
        else:
            self.epoch = 1 if self.epoch == _LARGEST else self.epoch + 1
        return True

    def lost(self) -> None:
        """The answer did not come, and may have been on its way: the next fetch closes the session and begins anew."""
        self.epoch = _INITIAL
