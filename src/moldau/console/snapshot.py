"""What was seen of the cluster at one moment. Immutable: pages are made from it while the next look is under way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from moldau.client.admin.brokers import BrokerDescription, ClusterDescription, LogDirectory
from moldau.client.admin.groups import GroupListing
from moldau.client.admin.quorum import QuorumDescription
from moldau.client.admin.transactions import TransactionDescription, TransactionListing
from moldau.client.metadata import TopicView
from moldau.types import TopicPartition


@dataclass(slots=True, frozen=True)
class TopicFigures:
    """`records` counts offsets, which is more than records where a topic is compacted; None where it is not known."""

    name: str
    internal: bool
    partitions: int
    replicas: int
    leaderless: int
    under_replicated: int
    records: int | None = None
    size: int | None = None
    rate: float | None = None

    @property
    def state(self) -> str:
        if self.leaderless:
            return "offline"
        return "behind" if self.under_replicated else "in sync"


@dataclass(slots=True, frozen=True)
class GroupFigures:
    listing: GroupListing
    # None where nothing is committed, or could not be asked.
    lag: int | None
    topics: tuple[str, ...] = ()
    # Records per second it commits.
    rate: float | None = None


@dataclass(slots=True, frozen=True)
class BrokerFigures:
    broker: BrokerDescription
    controller: bool
    replicas: int
    leads: int
    out_of_sync: int
    size: int | None
    total_bytes: int
    usable_bytes: int
    failed_directories: int


@dataclass(frozen=True)
class Snapshot:
    """`unknown` says, by subject, why something could not be seen: a broker is away, we are not allowed to, ..."""

    at: float
    cluster: ClusterDescription
    topics: Mapping[str, TopicView]
    figures: Mapping[str, TopicFigures]
    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    directories: tuple[LogDirectory, ...] = ()
    # Bytes of each partition by broker.
    sizes: Mapping[TopicPartition, Mapping[int, int]] = field(default_factory=dict)
    groups: Mapping[str, GroupFigures] = field(default_factory=dict)
    transactions: tuple[TransactionListing, ...] = ()
    # By transactional id, when those that are open began, and their timeouts.
    open_transactions: Mapping[str, TransactionDescription] = field(default_factory=dict)
    quorum: QuorumDescription | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def brokers(self) -> list[BrokerFigures]:
        replicas: dict[int, int] = {}
        leads: dict[int, int] = {}
        behind: dict[int, int] = {}
        for topic in self.topics.values():
            for partition in topic.partitions.values():
                leads[partition.leader] = leads.get(partition.leader, 0) + 1
                for broker in partition.replicas:
                    replicas[broker] = replicas.get(broker, 0) + 1
                    if broker not in partition.isr:
                        behind[broker] = behind.get(broker, 0) + 1
        known = {broker.id: broker for broker in self.cluster.brokers}
        for missing in sorted(replicas.keys() - known.keys()):
            known[missing] = BrokerDescription(missing, "", -1, None, True)
        return [
            self._broker(broker, replicas.get(id, 0), leads.get(id, 0), behind.get(id, 0))
            for id, broker in sorted(known.items())
        ]

    def _broker(self, broker: BrokerDescription, replicas: int, leads: int, behind: int) -> BrokerFigures:
        here = [each for each in self.directories if each.broker == broker.id]
        # Directories on one disk would count it twice: what the largest has is what there is.
        return BrokerFigures(
            broker,
            broker.id == self.cluster.controller_id,
            replicas,
            leads,
            behind,
            sum(replica.size for each in here for replica in each.replicas) if here else None,
            max((each.total_bytes for each in here), default=-1),
            max((each.usable_bytes for each in here), default=-1),
            sum(each.error is not None for each in here),
        )

    @cached_property
    def leaderless(self) -> int:
        return sum(each.leaderless for each in self.figures.values())

    @cached_property
    def under_replicated(self) -> int:
        return sum(each.under_replicated for each in self.figures.values())

    @cached_property
    def partitions(self) -> int:
        return sum(each.partitions for each in self.figures.values())

    @property
    def fenced(self) -> list[BrokerFigures]:
        return [each for each in self.brokers if each.broker.fenced]


def sizes_of(directories: Iterable[LogDirectory]) -> dict[TopicPartition, dict[int, int]]:
    """Bytes of each partition by broker."""
    found: dict[TopicPartition, dict[int, int]] = {}
    for directory in directories:
        for replica in directory.replicas:
            if not replica.future:
                found.setdefault(replica.partition, {})[directory.broker] = replica.size
    return found


def topic_figures(
    topic: TopicView,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    sizes: Mapping[TopicPartition, Mapping[int, int]],
    rate: float | None,
) -> TopicFigures:
    places = [TopicPartition(topic.name, index) for index in topic.partitions]
    known = [ends[where] - starts[where] for where in places if where in ends and where in starts]
    # As large as its largest replica, per partition: that is the leader's, or that of one that has caught up.
    stored = [max(sizes[where].values()) for where in places if sizes.get(where)]
    return TopicFigures(
        topic.name,
        topic.internal,
        len(topic.partitions),
        topic.replication_factor,
        sum(each.leader < 0 for each in topic.partitions.values()),
        sum(len(each.isr) < len(each.replicas) for each in topic.partitions.values()),
        sum(known) if known else None,
        sum(stored) if stored else None,
        rate,
    )
