"""What is looked at to tell why replicas of a topic are not in sync: partitions, brokers, disks, moves under way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moldau.errors import ErrorCode, KafkaError, MoldauError

if TYPE_CHECKING:
    from moldau.client.admin import BrokerDescription, LogDirectory
    from moldau.client.admin.pages import PartitionOnPage
    from moldau.client.admin.replicas import Reassignment
    from moldau.client.cluster import Cluster

# One broker that does not answer is a finding, and should not hold up the others.
_LOOK_SECONDS = 4.0


@dataclass(slots=True, frozen=True)
class Sight:
    """What was seen of a topic and of those who hold it."""

    topic: str
    partitions: Sequence[PartitionOnPage]
    brokers: Mapping[int, BrokerDescription]
    # Log directories of brokers that answered.
    disks: Mapping[int, Sequence[LogDirectory]]
    moves: Mapping[int, Reassignment] = field(default_factory=dict)
    min_insync: int = 1
    unclean_allowed: bool = False
    throttled: bool = False
    # Without one, what is seen may be what was: nobody could change it.
    controller_answers: bool = True


def look(cluster: Cluster, topic: str) -> Sight:
    from moldau.client.admin import ConfigResource, ConfigSource, ResourceType, describe_cluster, describe_configs
    from moldau.client.admin.throttles import RECEIVING, SENDING

    partitions = _partitions(cluster, topic)
    brokers = {broker.id: broker for broker in cluster.run(describe_cluster()).brokers}
    names = ["min.insync.replicas", "unclean.leader.election.enable", SENDING, RECEIVING]
    values = {
        each.name: each for each in cluster.run(describe_configs(ConfigResource(ResourceType.TOPIC, topic), names))
    }
    holders = {broker for each in partitions for broker in each.replicas}
    disks = _disks(cluster, (brokers[broker] for broker in sorted(holders & brokers.keys())))
    # Last: a broker answers in order, and this it may have to wait for.
    moves = _moves(cluster, topic)
    return Sight(
        topic,
        partitions,
        brokers,
        disks,
        moves or {},
        min_insync=int((values["min.insync.replicas"].value if "min.insync.replicas" in values else None) or 1),
        unclean_allowed="unclean.leader.election.enable" in values
        and values["unclean.leader.election.enable"].value == "true",
        controller_answers=moves is not None,
        throttled=any(name in values and values[name].source is ConfigSource.TOPIC for name in (SENDING, RECEIVING)),
    )


def _partitions(cluster: Cluster, topic: str) -> list[PartitionOnPage]:
    from moldau.client.admin.pages import describe_page

    found: list[PartitionOnPage] = []
    begin: tuple[str, int] | None = None
    while True:
        page = cluster.run(describe_page([topic], begin=begin))
        for each in page.topics:
            if each.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise KafkaError(each.error, f"There is no topic {topic!r}.")
            if each.error is not ErrorCode.NONE:
                raise KafkaError(each.error, f"Topic {topic!r}: {each.error.text}")
            found += each.partitions
        begin = page.next
        if begin is None:
            return found


def _disks(cluster: Cluster, brokers: Iterable[BrokerDescription]) -> dict[int, Sequence[LogDirectory]]:
    """By broker; nothing of one that does not say."""
    from moldau.client.admin import describe_log_dirs

    asked = {
        broker.id: cluster.begin(describe_log_dirs([broker.id]), timeout=_LOOK_SECONDS)
        for broker in brokers
        if not broker.fenced
    }
    found: dict[int, Sequence[LogDirectory]] = {}
    for broker, waiter in asked.items():
        try:
            found[broker] = waiter.wait(_LOOK_SECONDS + 1.0)
        except MoldauError:
            continue
    return found


def _moves(cluster: Cluster, topic: str) -> dict[int, Reassignment] | None:
    """None if no controller answers."""
    from moldau.client.admin.replicas import list_reassignments

    try:
        found = cluster.run(list_reassignments(), timeout=_LOOK_SECONDS)
    except MoldauError:
        return None
    return {where.partition: move for where, move in found.items() if where.topic == topic}
