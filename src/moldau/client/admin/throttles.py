"""How fast replicas that move may be copied: Kafka's four settings, set for some moves and taken away again.

On every broker of a move the rate; on its topic which replicas it holds for: on the side that sends those that were
there before, on the side that receives those that are new. Replicas that keep up all the same are not slowed down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from moldau.client.admin.configs import ConfigChange, ConfigOperation, ConfigResource, ResourceType, alter_configs
from moldau.client.conversation import Conversation
from moldau.errors import KafkaError
from moldau.types import TopicPartition

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
SENDING, RECEIVING = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


class ReplicaMove(NamedTuple):
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def adding(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def removing(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.before if broker not in self.after)


def throttle(
    moves: Mapping[TopicPartition, ReplicaMove], rate: int
) -> Conversation[dict[ConfigResource, KafkaError | None]]:
    """Holds the copying for these moves to so many bytes a second on each broker."""
    brokers = sorted({broker for move in moves.values() for broker in (*move.before, *move.after)})
    changes: dict[ConfigResource, Sequence[ConfigChange]] = {
        ConfigResource(ResourceType.BROKER, str(broker)): [_set(name, str(rate)) for name in RATES]
        for broker in brokers
    }
    for topic in sorted({where.topic for where in moves}):
        there = {where.partition: move for where, move in moves.items() if where.topic == topic and move.adding}
        sending = [f"{partition}:{broker}" for partition, move in there.items() for broker in move.before]
        receiving = [f"{partition}:{broker}" for partition, move in there.items() for broker in move.adding]
        if there:
            changes[ConfigResource(ResourceType.TOPIC, topic)] = [
                _set(SENDING, ",".join(sending)),
                _set(RECEIVING, ",".join(receiving)),
            ]
    return alter_configs(changes)


def unthrottle(topics: Iterable[str], brokers: Iterable[int]) -> Conversation[dict[ConfigResource, KafkaError | None]]:
    """Takes the limits away again."""
    changes: dict[ConfigResource, Sequence[ConfigChange]] = {
        ConfigResource(ResourceType.BROKER, str(broker)): [_unset(name) for name in RATES] for broker in brokers
    }
    for topic in topics:
        changes[ConfigResource(ResourceType.TOPIC, topic)] = [_unset(SENDING), _unset(RECEIVING)]
    return alter_configs(changes)


def _set(name: str, value: str) -> ConfigChange:
    return ConfigChange(name, ConfigOperation.SET, value)


def _unset(name: str) -> ConfigChange:
    return ConfigChange(name, ConfigOperation.DELETE)
