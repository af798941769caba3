"""How much goes on: two looks at a cluster and what lies between them.

What comes in is told by the ends of partitions and by what lies on disks, what is read by what groups commit: any
Kafka tells that much. How busy the loop of a node is only our nodes tell, in their metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from moldau.client.admin.brokers import ClusterDescription, describe_cluster, describe_log_dirs
from moldau.client.admin.committed import Committed, committed_of_groups
from moldau.client.admin.configs import ConfigResource, ResourceType, describe_configs
from moldau.client.admin.groups import list_groups
from moldau.client.admin.offsets import LATEST, list_offsets
from moldau.client.admin.topics import list_topics
from moldau.diagnosis.exporter import Metrics, NoMetrics, metrics_address, read_metrics
from moldau.errors import KafkaError, MoldauError
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster
    from moldau.client.conversation import Conversation
    from moldau.client.metadata import TopicView
    from moldau.links.addresses import Address

T = TypeVar("T")

LOOK_SECONDS: Final = 5.0
_METRICS_SECONDS: Final = 2.0
_METRICS: Final = (
    *("moldau_loop_idle_seconds_total", "moldau_loop_longest_turn_seconds", "process_resident_memory_bytes"),
    *("moldau_requests_in_flight", "kafka_server_socket_server_metrics_connection_count"),
)
_READERS: Final = ("classic", "consumer")


@dataclass(slots=True, frozen=True)
class Moment:
    """What was seen at one look. `unknown` says by subject why something could not be seen."""

    at: float
    cluster: ClusterDescription
    topics: Mapping[str, TopicView]
    ends: Mapping[TopicPartition, int]
    # Of what each leader has on its disk.
    sizes: Mapping[TopicPartition, int]
    groups: Mapping[str, tuple[str, Committed]]
    metrics: Mapping[int, Metrics]
    unknown: Mapping[str, str]


class PlaceRate(NamedTuple):
    """Of a topic or of a partition; per second. Bytes and what is read are None where they are not known."""

    name: str
    partitions: int
    records_in: float
    bytes_in: float | None
    records_out: float | None


class GroupRate(NamedTuple):
    name: str
    state: str
    lag: int | None
    records_out: float


class BrokerRate(NamedTuple):
    """The last four are known of nodes that tell their metrics. The longest turn is that of the last half minute at
    least: so long had others to wait."""

    id: int
    address: str
    fenced: bool
    leads: int
    records_in: float
    idle: float | None
    longest_turn: float | None
    memory: int | None
    connections: int | None


@dataclass(slots=True, frozen=True)
class Traffic:
    at: float
    seconds: float
    cluster_id: str | None
    controller: int
    brokers: Sequence[BrokerRate]
    # The hottest first.
    topics: Sequence[PlaceRate]
    partitions: Sequence[PlaceRate]
    # Those with the most lag first.
    groups: Sequence[GroupRate]
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def records_in(self) -> float:
        return sum(each.records_in for each in self.topics)

    @property
    def bytes_in(self) -> float:
        return sum(each.bytes_in or 0.0 for each in self.topics)

    @property
    def records_out(self) -> float:
        return sum(each.records_out for each in self.groups)

    @property
    def lag(self) -> int:
        return sum(each.lag or 0 for each in self.groups)


class Observer:
    """Looks again and again; where nodes tell their metrics is asked once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._addresses: dict[int, Address | None] = {}
        self._unknown: dict[str, str] = {}

    def look(self) -> Moment:
        """MoldauError if the cluster does not answer."""
        self._unknown = {}
        described = self._cluster.run(describe_cluster(), LOOK_SECONDS)
        topics = {each.name: each for each in self._cluster.run(list_topics(internal=True), LOOK_SECONDS)}
        places = [
            TopicPartition(name, index)
            for name, topic in topics.items()
            for index, each in topic.partitions.items()
            if each.leader >= 0
        ]
        at = time()
        return Moment(
            at,
            described,
            topics,
            self._ends(places),
            self._sizes(topics),
            self._groups(),
            self._metrics(described),
            self._unknown,
        )

    def _try(self, subject: str, conversation: Conversation[T]) -> T | None:
        try:
            return self._cluster.run(conversation, LOOK_SECONDS)
        except MoldauError as error:
            self._unknown[subject] = str(error)
            return None

    def _ends(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        found = self._try("offsets", list_offsets(dict.fromkeys(places, LATEST))) if places else None
        return {where: each.offset for where, each in (found or {}).items() if not isinstance(each, KafkaError)}

    def _sizes(self, topics: Mapping[str, TopicView]) -> dict[TopicPartition, int]:
        sizes: dict[TopicPartition, int] = {}
        for directory in self._try("disks", describe_log_dirs()) or ():
            for replica in directory.replicas:
                topic = topics.get(replica.partition.topic)
                partition = None if topic is None else topic.partitions.get(replica.partition.partition)
                if partition is not None and partition.leader == directory.broker and not replica.future:
                    sizes[replica.partition] = replica.size
        return sizes

    def _groups(self) -> dict[str, tuple[str, Committed]]:
        listed = [each for each in self._try("groups", list_groups()) or () if each.type in _READERS]
        if not listed:
            return {}
        readers = {each.group_id: each.coordinator for each in listed}
        committed = self._try("lag", committed_of_groups(readers)) or {}
        return {each.group_id: (each.state, committed.get(each.group_id, {})) for each in listed}

    def _metrics(self, described: ClusterDescription) -> dict[int, Metrics]:
        found = {}
        for broker in described.brokers:
            if broker.fenced:
                self._addresses.pop(broker.id, None)
                continue
            if broker.id not in self._addresses:
                resource = ConfigResource(ResourceType.BROKER, str(broker.id))
                values = self._try("settings", describe_configs(resource, ["metrics.listener"]))
                if values is None:
                    continue
                told = next((each.value for each in values if each.name == "metrics.listener"), None)
                self._addresses[broker.id] = metrics_address(told, broker.host)
            where = self._addresses[broker.id]
            if where is not None:
                try:
                    found[broker.id] = read_metrics(where, _METRICS, _METRICS_SECONDS)
                except NoMetrics as error:
                    self._unknown["metrics"] = str(error)
        return found


def between(before: Moment, after: Moment) -> Traffic:
    seconds = max(after.at - before.at, 1e-6)
    partitions = _partitions(before, after, seconds)
    return Traffic(
        after.at,
        seconds,
        after.cluster.cluster_id,
        after.cluster.controller_id,
        _brokers(before, after, partitions),
        sorted(_topics(after, partitions), key=_heat),
        sorted(partitions.values(), key=_heat),
        sorted(_group_rates(before, after, seconds), key=lambda each: (-(each.lag or 0), -each.records_out, each.name)),
        after.unknown,
    )


def _heat(each: PlaceRate) -> tuple[float, float, float, str]:
    return -(each.bytes_in or 0.0), -each.records_in, -(each.records_out or 0.0), each.name


def _partitions(before: Moment, after: Moment, seconds: float) -> dict[TopicPartition, PlaceRate]:
    read: dict[TopicPartition, float] = {}
    for name, (_, committed) in after.groups.items():
        for where, offset in committed.items():
            earlier = before.groups[name][1].get(where) if name in before.groups else None
            moved = 0.0 if earlier is None else max(0, offset - earlier) / seconds
            read[where] = read.get(where, 0.0) + moved
    rates = {}
    for where, end in after.ends.items():
        grown = None
        if where in before.sizes and where in after.sizes:
            # What retention took away meanwhile is not known.
            grown = max(0, after.sizes[where] - before.sizes[where]) / seconds
        came = max(0, end - before.ends.get(where, end)) / seconds
        rates[where] = PlaceRate(str(where), 1, came, grown, read.get(where))
    return rates


def _topics(after: Moment, partitions: Mapping[TopicPartition, PlaceRate]) -> list[PlaceRate]:
    by_topic: dict[str, list[PlaceRate]] = {}
    for where, rate in partitions.items():
        by_topic.setdefault(where.topic, []).append(rate)
    return [
        PlaceRate(
            name,
            len(topic.partitions),
            sum(each.records_in for each in by_topic.get(name, ())),
            _total([each.bytes_in for each in by_topic.get(name, ())]),
            _total([each.records_out for each in by_topic.get(name, ())]),
        )
        for name, topic in after.topics.items()
    ]


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _group_rates(before: Moment, after: Moment, seconds: float) -> list[GroupRate]:
    rates = []
    for name, (state, committed) in after.groups.items():
        earlier = before.groups.get(name, ("", {}))[1]
        moved = sum(max(0, offset - earlier.get(where, offset)) for where, offset in committed.items())
        known = [max(0, after.ends[where] - offset) for where, offset in committed.items() if where in after.ends]
        rates.append(GroupRate(name, state, sum(known) if known else None, moved / seconds))
    return rates


def _brokers(before: Moment, after: Moment, partitions: Mapping[TopicPartition, PlaceRate]) -> list[BrokerRate]:
    leads: dict[int, int] = {}
    came: dict[int, float] = {}
    for name, topic in after.topics.items():
        for index, each in topic.partitions.items():
            leads[each.leader] = leads.get(each.leader, 0) + 1
            rate = partitions.get(TopicPartition(name, index))
            came[each.leader] = came.get(each.leader, 0.0) + (0.0 if rate is None else rate.records_in)
    rates = []
    for broker in after.cluster.brokers:
        now, then = after.metrics.get(broker.id), before.metrics.get(broker.id)
        memory = None if now is None else now.value("process_resident_memory_bytes")
        rates.append(
            BrokerRate(
                broker.id,
                f"{broker.host}:{broker.port}",
                broker.fenced,
                leads.get(broker.id, 0),
                came.get(broker.id, 0.0),
                _idle(then, now),
                None if now is None else now.value("moldau_loop_longest_turn_seconds"),
                None if memory is None else int(memory),
                _connections(now),
            )
        )
    return rates


def _idle(then: Metrics | None, now: Metrics | None) -> float | None:
    """The share of the time in which the loop had nothing to do."""
    name = "moldau_loop_idle_seconds_total"
    earlier, later = None if then is None else then.value(name), None if now is None else now.value(name)
    if then is None or now is None or earlier is None or later is None or later < earlier:
        return None
    return min(1.0, (later - earlier) / max(now.told_at - then.told_at, 1e-6))


def _connections(now: Metrics | None) -> int | None:
    samples = () if now is None else now.samples.get("kafka_server_socket_server_metrics_connection_count", ())
    return int(sum(each.value for each in samples)) if samples else None
