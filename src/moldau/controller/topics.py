"""Topics: which exist, how one is created and deleted."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from moldau.config.description import Description
from moldau.controller.assignment import checked_assignment, new_partition
from moldau.controller.brokers import BrokerControl
from moldau.controller.configs import ConfigControl
from moldau.controller.decision import TOPIC_COST, Charge, Decision, check_size, turns
from moldau.controller.partition_index import PartitionIndex, PartitionKey
from moldau.controller.placement import place_replicas
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import topic_name
from moldau.metadata.partition_registration import PartitionRegistration, partition_from_record
from moldau.metadata.records import (
    ClearElrRecord,
    Message,
    MetadataError,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from moldau.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicState
from moldau.runtime.ports import Random
from moldau.slicing import Work, pieces
from moldau.timeline import SnapshotRegistry, TimelineMap
from moldau.types import ZERO_UUID, Uuid, uuid_to_text

# In a request: "as the broker is configured".
_DEFAULT = -1


class Topic(NamedTuple):
    name: str
    id: Uuid
    partitions: TimelineMap[int, PartitionRegistration]


class TopicControl:
    def __init__(
        self, registry: SnapshotRegistry, brokers: BrokerControl, configs: ConfigControl, random: Random
    ) -> None:
        self._registry = registry
        self._brokers = brokers
        self._configs = configs
        self._random = random
        self._ids: TimelineMap[str, Uuid] = TimelineMap(registry)
        self._topics: TimelineMap[Uuid, Topic] = TimelineMap(registry)
        # By the form metrics would give the name, the names that have it.
        self._alike: TimelineMap[str, tuple[str, ...]] = TimelineMap(registry)
        self.index = PartitionIndex(registry)
        self._last_shown: tuple[list[Description], list[CreatableTopicConfigs]] = ([], [])

    def get(self, name: str) -> Topic | None:
        topic_id = self._ids.get(name)
        return None if topic_id is None else self._topics[topic_id]

    def by_id(self, topic_id: Uuid) -> Topic | None:
        return self._topics.get(topic_id)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._topics.values())

    def partition(self, key: PartitionKey) -> tuple[Topic, PartitionRegistration]:
        """One that is known to exist."""
        topic = self._topics[key.topic_id]
        return topic, topic.partitions[key.partition]

    # ------------------------------------------------------------------------------------------------------ create

    def in_turns(self, request: CreateTopicsRequest) -> list[list[CreatableTopic]]:
        """The topics of a request in portions; KafkaError if they are too many together."""
        check_size(sum(map(self._count, request.topics)), "partitions")
        return turns(request.topics, lambda topic: topic.name, lambda topic: TOPIC_COST + self._count(topic))

    def create(
        self, topics: Sequence[CreatableTopic], alike: dict[str, str], charge: Charge, *, validate_only: bool
    ) -> Work[Decision[list[CreatableTopicResult]]]:
        """Topics stand alone: one that is refused does not stop the others. `alike` remembers the names of the request,
        which could collide with each other; `charge` hears of each topic that nothing else speaks against."""
        twice = _repeated(topic.name for topic in topics)
        records: list[Message] = []
        results: dict[str, CreatableTopicResult] = {}
        for topic in topics:
            if topic.name in results:
                continue
            try:
                if topic.name in twice:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, f"The request names the topic {topic.name!r} twice.")
                self._check_name(topic.name, alike)
                made, results[topic.name] = yield from self._create(topic, charge)
                records += made
            except KafkaError as error:
                results[topic.name] = CreatableTopicResult(
                    name=topic.name, error_code=error.code, error_message=error.message
                )
        return Decision([] if validate_only else records, list(results.values()))

    def _count(self, topic: CreatableTopic) -> int:
        """How many partitions the topic is to have."""
        if topic.assignments or topic.num_partitions != _DEFAULT:
            return len(topic.assignments) or max(0, topic.num_partitions)
        return self._configs.broker.num_partitions

    def _check_name(self, name: str, alike: dict[str, str]) -> None:
        if name == topic_name.CLUSTER_METADATA:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is the metadata log and not a topic to create.")
        topic_name.validate(name)
        if name in self._ids:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"The topic {name!r} exists already.")
        key = topic_name.collision_key(name)
        if key is None:
            return
        others = self._alike.get(key)
        other = others[0] if others else alike.get(key)
        if other is not None:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"The topic {name!r} differs from {other!r} only in '.' and '_', which metrics cannot tell apart.",
            )
        alike[key] = name

    def _create(self, topic: CreatableTopic, charge: Charge) -> Work[tuple[list[Message], CreatableTopicResult]]:
        settings: Mapping[str, str | None] = {config.name: config.value for config in topic.configs}
        config_records = self._configs.check_new_topic(topic.name, settings)
        partitions = yield from (self._assigned(topic) if topic.assignments else self._placed(topic))
        charge(len(partitions))
        topic_id = self._new_id()
        # Settings come before partitions: who opens a partition must know them.
        records: list[Message] = [TopicRecord(name=topic.name, topic_id=topic_id), *config_records]
        for some in pieces(enumerate(partitions)):
            records += [state.to_record(topic_id, index) for index, state in some]
            yield
        return records, CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            error_message=None,
            num_partitions=len(partitions),
            replication_factor=len(partitions[0].replicas),
            configs=self._shown(self._configs.describe_topic({k: v for k, v in settings.items() if v is not None})),
        )

    def _shown(self, entries: list[Description]) -> list[CreatableTopicConfigs]:
        """The settings as the answer has them. Topics without own settings share theirs, and so do their answers."""
        if self._last_shown[0] is not entries:
            rows = [
                CreatableTopicConfigs(
                    name=entry.name, value=entry.value, read_only=entry.read_only, config_source=entry.source
                )
                for entry in entries
            ]
            self._last_shown = (entries, rows)
        return self._last_shown[1]

    def _assigned(self, topic: CreatableTopic) -> Work[list[PartitionRegistration]]:
        if topic.num_partitions != _DEFAULT or topic.replication_factor != _DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"{topic.name!r} has an assignment, so the number of partitions and the replication factor must be -1.",
            )
        given: dict[int, PartitionRegistration] = {}
        factor: int | None = None
        for assignment in topic.assignments:
            index = assignment.partition_index
            if index in given:
                raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Partition {index} is assigned twice.")
            given[index] = checked_assignment(assignment.broker_ids, index, factor, self._brokers)
            factor = len(assignment.broker_ids)
            yield
        if sorted(given) != list(range(len(given))):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "The partitions of an assignment are numbered from 0 without gaps.",
            )
        return [given[index] for index in range(len(given))]

    def _placed(self, topic: CreatableTopic) -> Work[list[PartitionRegistration]]:
        current = self._configs.broker
        count, factor = topic.num_partitions, topic.replication_factor
        if factor == 0 or factor < _DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"The replication factor is at least 1, or -1 for the default, not {factor}.",
            )
        if count == 0 or count < _DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS, f"A topic has at least 1 partition, or -1 for the default, not {count}."
            )
        count = current.num_partitions if count == _DEFAULT else count
        factor = current.default_replication_factor if factor == _DEFAULT else factor
        partitions: list[PartitionRegistration] = []
        for placed in pieces(place_replicas(self._brokers.usable(), count, factor, self._random)):
            partitions += [new_partition(replicas, self._brokers) for replicas in placed]
            yield
        return partitions

    def _new_id(self) -> Uuid:
        while True:
            topic_id = self._random.bytes(16)
            # Kafka also avoids ids that print with a leading '-', which command lines take for an option.
            if topic_id[:15] != ZERO_UUID[:15] and not uuid_to_text(topic_id).startswith("-"):
                return topic_id

    # ------------------------------------------------------------------------------------------------------ delete

    def deletions_in_turns(self, request: DeleteTopicsRequest) -> list[list[DeleteTopicState]]:
        """What a request names, in portions; the same topic by its name and by its id stays together."""
        asked = [*(DeleteTopicState(name=name) for name in request.topic_names), *request.topics]

        def topic_of(state: DeleteTopicState) -> Uuid | str:
            return state.topic_id if state.name is None else self._ids.get(state.name, state.name)

        return turns(asked, topic_of, lambda state: 1)

    def delete(self, asked: Sequence[DeleteTopicState], charge: Charge) -> Decision[list[DeletableTopicResult]]:
        names = [topic.name for topic in asked if topic.name is not None and topic.topic_id == ZERO_UUID]
        ids = [topic.topic_id for topic in asked if topic.name is None]
        results = [
            _deletion(topic.name, topic.topic_id, _invalid("A topic is named by its name or its id, not by both."))
            for topic in asked
            if topic.name is not None and topic.topic_id != ZERO_UUID
        ]
        twice_names, twice_ids = _repeated(names), _repeated(ids)
        # Given by id and by name, a topic is answered once, and stays.
        given = set(ids)
        by_both = {i for name in names if name not in twice_names and (i := self._ids.get(name)) in given} - twice_ids
        records: list[Message] = []
        removal = _Removal(records, charge)
        results += [self._delete_by_id(i, i in twice_ids, removal) for i in dict.fromkeys(ids) if i not in by_both]
        results += [self._delete_by_name(n, n in twice_names, removal, given) for n in dict.fromkeys(names)]
        return Decision(records, results)

    def _delete_by_id(self, topic_id: Uuid, twice: bool, removal: _Removal) -> DeletableTopicResult:
        if topic_id == ZERO_UUID:
            return _deletion(None, topic_id, _invalid("A topic is given with neither name nor id."))
        if twice:
            return _deletion(None, topic_id, _invalid("The topic id appears twice in the request."))
        topic = self._topics.get(topic_id)
        if topic is None:
            return _deletion(None, topic_id, KafkaError(ErrorCode.UNKNOWN_TOPIC_ID))
        return removal.of(topic)

    def _delete_by_name(
        self, name: str, twice: bool, removal: _Removal, given: Container[Uuid]
    ) -> DeletableTopicResult:
        if twice:
            return _deletion(name, ZERO_UUID, _invalid(f"The request names the topic {name!r} twice."))
        topic_id = self._ids.get(name)
        if topic_id is None:
            return _deletion(
                name, ZERO_UUID, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name!r}.")
            )
        if topic_id in given:
            return _deletion(name, topic_id, _invalid(f"The topic {name!r} is also given by its id."))
        return removal.of(self._topics[topic_id])

    # ------------------------------------------------------------------------------------------------------ replay

    def replay_topic(self, record: TopicRecord) -> None:
        if record.name in self._ids:
            raise MetadataError(f"the metadata log creates the topic {record.name} a second time")
        self._ids[record.name] = record.topic_id
        self._topics[record.topic_id] = Topic(record.name, record.topic_id, TimelineMap(self._registry))
        key = topic_name.collision_key(record.name)
        if key is not None:
            self._alike[key] = (*self._alike.get(key, ()), record.name)

    def replay_partition(self, record: PartitionRecord) -> None:
        topic = self._known(record.topic_id)
        before = topic.partitions.get(record.partition_id)
        self._set(topic, record.partition_id, before, partition_from_record(record))

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        topic = self._known(record.topic_id)
        current = topic.partitions.get(record.partition_id)
        if current is None:
            raise MetadataError(f"the metadata log changes {topic.name}-{record.partition_id}, which does not exist")
        self._set(topic, record.partition_id, current, current.merge(record))

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        for key in list(self.index.recoverable):
            topic, state = self.partition(key)
            if record.topic_name in ("", topic.name):
                self._set(topic, key.partition, state, state.without_eligible())

    def _set(
        self, topic: Topic, index: int, before: PartitionRegistration | None, after: PartitionRegistration
    ) -> None:
        topic.partitions[index] = after
        self.index.update(PartitionKey(topic.id, index), before, after)

    def replay_remove(self, record: RemoveTopicRecord) -> None:
        topic = self._known(record.topic_id)
        self.index.drop_topic(record.topic_id)
        del self._topics[record.topic_id]
        del self._ids[topic.name]
        self._configs.forget_topic(topic.name)
        key = topic_name.collision_key(topic.name)
        if key is not None:
            others = tuple(name for name in self._alike.get(key, ()) if name != topic.name)
            if others:
                self._alike[key] = others
            else:
                self._alike.pop(key)

    def _known(self, topic_id: Uuid) -> Topic:
        topic = self._topics.get(topic_id)
        if topic is None:
            raise MetadataError(f"the metadata log changes the topic {uuid_to_text(topic_id)}, which does not exist")
        return topic


class _Removal:
    """Of the topics of one request."""

    def __init__(self, records: list[Message], charge: Charge) -> None:
        self._records = records
        self._charge = charge

    def of(self, topic: Topic) -> DeletableTopicResult:
        try:
            self._charge(len(topic.partitions))
        except KafkaError as refusal:
            return _deletion(topic.name, topic.id, refusal)
        self._records.append(RemoveTopicRecord(topic_id=topic.id))
        return _deletion(topic.name, topic.id, None)


def _repeated(items: Iterator[str] | list[str] | list[Uuid]) -> set[str | Uuid]:
    seen: set[str | Uuid] = set()
    twice: set[str | Uuid] = set()
    for item in items:
        (twice if item in seen else seen).add(item)
    return twice


def _deletion(name: str | None, topic_id: Uuid, error: KafkaError | None) -> DeletableTopicResult:
    if error is None:
        return DeletableTopicResult(name=name, topic_id=topic_id)
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=error.code, error_message=error.message)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
