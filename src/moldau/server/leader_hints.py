"""Where a client should have gone: the current leader, told along with the error that it asked the wrong broker.

From Produce 10 and Fetch 12 on an answer can name the leader and its epoch, and from Produce 10 and Fetch 16 on its
address, so that the client moves at once instead of asking for metadata first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.types import NO_LEADER, Uuid

if TYPE_CHECKING:
    from moldau.metadata.image import Endpoint
    from moldau.server.context import Services

# The errors after which a client looks for another leader.
MOVED: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class LeaderHint(NamedTuple):
    leader_id: int
    leader_epoch: int
    endpoint: Endpoint | None
    rack: str | None


def leader_hint(services: Services, listener: str, topic: str | Uuid, partition: int) -> LeaderHint | None:
    """None if the partition is unknown or has no leader at the moment."""
    image = services.metadata.image
    known = image.topics.get(topic) if isinstance(topic, str) else image.topics.by_id(topic)
    state = known.partitions.get(partition) if known is not None else None
    if state is None or state.leader == NO_LEADER:
        return None
    broker = image.cluster.brokers.get(state.leader)
    return LeaderHint(
        state.leader,
        state.leader_epoch,
        image.cluster.endpoint(state.leader, listener),
        broker.rack if broker is not None else None,
    )
