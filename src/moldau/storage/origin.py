"""Who appends, because that decides how much is checked."""

from __future__ import annotations

from enum import IntEnum


class Origin(IntEnum):
    REPLICATION = 0  # from the leader, which has checked: taken as it is
    COORDINATOR = 1  # group and transaction coordinators: no sequence numbers, control batches allowed
    CLIENT = 2  # everything is checked
    RAFT_LEADER = 3  # the metadata quorum: offsets and epoch are already in the batches
