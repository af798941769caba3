"""Everything that a client can see of a cluster, looked at once; what cannot be seen is missing with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from moldau.client.admin.brokers import (
    BrokerDescription,
    ClusterDescription,
    LogDirectory,
    describe_cluster,
    describe_log_dirs,
)
from moldau.client.admin.configs import ConfigResource, ResourceType, describe_configs
from moldau.client.admin.features import Software, describe_software
from moldau.client.admin.quorum import QuorumDescription, describe_quorum
from moldau.client.admin.topics import list_topics
from moldau.client.metadata import TopicView
from moldau.diagnosis.checkup.groups import GroupStanding, look_at_groups
from moldau.diagnosis.checkup.transactions import OpenTransactions, look_at_transactions
from moldau.diagnosis.exporter import Metrics, NoMetrics, metrics_address, read_metrics
from moldau.errors import ErrorCode, KafkaError, MoldauError

if TYPE_CHECKING:
    from moldau.client.background import Waiter
    from moldau.client.cluster import Cluster
    from moldau.client.conversation import Conversation
    from moldau.links.addresses import Address

T = TypeVar("T")

# One broker that does not answer is a finding, and should not hold up the others.
LOOK_SECONDS: Final = 5.0
_METRICS_SECONDS: Final = 3.0
# Of so many topics with replicas out of sync the settings are asked; the others are said to have the usual one.
_MOST_ASKED: Final = 200

SETTINGS: Final = (
    *("metrics.listener", "log.dirs", "log.dir", "min.insync.replicas", "default.replication.factor"),
    *("offsets.topic.replication.factor", "transaction.state.log.replication.factor"),
    *("transaction.state.log.min.isr", "unclean.leader.election.enable", "message.max.bytes"),
    *("replica.fetch.max.bytes", "auto.create.topics.enable", "num.partitions"),
)
_METRICS: Final = ("process_open_fds", "process_max_fds", "moldau_time_seconds", "moldau_build_info")


@dataclass(slots=True, frozen=True)
class BrokerSeen:
    """A broker, asked at the address that the cluster gives to its clients."""

    broker: BrokerDescription
    # Why it said nothing there.
    silence: str | None = None
    # The cluster and the broker that answer there are others, in the words of who answers.
    stranger: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    software: Software | None = None
    metrics: Metrics | None = None

    @property
    def address(self) -> str:
        return f"{self.broker.host}:{self.broker.port}"

    def __str__(self) -> str:
        return f"Broker {self.broker.id} ({self.address})"


@dataclass(slots=True, frozen=True)
class Sight:
    bootstrap: Sequence[Address]
    cluster: ClusterDescription
    brokers: Sequence[BrokerSeen]
    topics: Sequence[TopicView]
    directories: Mapping[int, Sequence[LogDirectory]]
    quorum: QuorumDescription | None
    # Our clock before and after the leader of the quorum told the time.
    quorum_asked: tuple[float, float]
    # Of topics with replicas that are not in sync.
    min_insync: Mapping[str, int]
    groups: Sequence[GroupStanding]
    transactions: OpenTransactions
    # By subject, why it could not be seen.
    unknown: Mapping[str, str]


def look(cluster: Cluster, patience: float) -> Sight:
    """`patience`: seconds after which what does not move counts as stuck. MoldauError if no broker answers."""
    described = cluster.run(describe_cluster())
    topics = cluster.run(list_topics(internal=True))
    unknown: dict[str, str] = {}
    asking = _Asking(cluster, unknown)
    seen = _brokers(cluster, described)
    answering = [each.broker.id for each in seen if each.silence is None and each.stranger is None]
    disks = {broker: asking.begin(describe_log_dirs([broker])) for broker in answering}
    behind = [
        topic.name for topic in topics if any(len(each.isr) < len(each.replicas) for each in topic.partitions.values())
    ]
    least = {
        name: asking.begin(describe_configs(ConfigResource(ResourceType.TOPIC, name), ["min.insync.replicas"]))
        for name in behind[:_MOST_ASKED]
    }
    directories = {broker: asking.take(f"disks of broker {broker}", waiter) for broker, waiter in disks.items()}
    min_insync = {name: asking.take(f"settings of {name}", waiter) for name, waiter in least.items()}
    before = time()
    quorum = asking.take("quorum", asking.begin(describe_quorum()))
    after = time()
    return Sight(
        cluster.bootstrap,
        described,
        seen,
        topics,
        {broker: found for broker, found in directories.items() if found is not None},
        quorum,
        (before, after),
        {name: int(found[0].value or 1) for name, found in min_insync.items() if found},
        asking.attempt("groups", lambda: look_at_groups(cluster, patience, LOOK_SECONDS)) or [],
        asking.attempt("transactions", lambda: look_at_transactions(cluster, topics, patience, LOOK_SECONDS))
        or OpenTransactions(),
        unknown,
    )


class _Asking:
    """Questions side by side, each with its limit; what one ended in is kept by its subject."""

    def __init__(self, cluster: Cluster, unknown: dict[str, str]) -> None:
        self._cluster = cluster
        self._unknown = unknown

    def begin(self, conversation: Conversation[T]) -> Waiter[T]:
        return self._cluster.begin(conversation, timeout=LOOK_SECONDS)

    def take(self, subject: str, waiter: Waiter[T]) -> T | None:
        return self.attempt(subject, lambda: waiter.wait(LOOK_SECONDS + 1.0))

    def attempt(self, subject: str, look: Callable[[], T]) -> T | None:
        try:
            return look()
        except MoldauError as error:
            self._unknown[subject] = str(error)
            return None


def _brokers(cluster: Cluster, described: ClusterDescription) -> list[BrokerSeen]:
    there = [broker for broker in described.brokers if not broker.fenced]
    software = {each.id: cluster.begin(describe_software(each.id), timeout=LOOK_SECONDS) for each in there}
    settings = {
        each.id: cluster.begin(
            describe_configs(ConfigResource(ResourceType.BROKER, str(each.id)), SETTINGS), timeout=LOOK_SECONDS
        )
        for each in there
    }
    found = []
    for broker in described.brokers:
        if broker.fenced:
            found.append(BrokerSeen(broker))
            continue
        try:
            speaks = software[broker.id].wait(LOOK_SECONDS + 1.0)
        except MoldauError as error:
            found.append(BrokerSeen(broker, silence=str(error)))
            continue
        found.append(_answering(broker, described.cluster_id, speaks, settings[broker.id]))
    return found


def _answering(broker: BrokerDescription, cluster_id: str | None, speaks: Software, asked: Waiter[Any]) -> BrokerSeen:
    if cluster_id is not None and speaks.cluster_id not in (None, cluster_id):
        return BrokerSeen(broker, stranger=f"it belongs to the cluster {speaks.cluster_id}", software=speaks)
    try:
        values = {each.name: each.value for each in asked.wait(LOOK_SECONDS + 1.0) if each.value is not None}
    except KafkaError as error:
        # How a broker answers who takes it for another.
        stranger = (
            f"another broker answers ({str(error).rstrip('.')})" if error.code is ErrorCode.INVALID_REQUEST else None
        )
        return BrokerSeen(broker, stranger=stranger, software=speaks)
    return BrokerSeen(
        broker, settings=values, software=speaks, metrics=_metrics(values.get("metrics.listener"), broker.host)
    )


def _metrics(setting: str | None, host: str) -> Metrics | None:
    where = metrics_address(setting, host)
    if where is None:
        return None
    try:
        return read_metrics(where, _METRICS, _METRICS_SECONDS)
    except NoMetrics:
        return None
