"""Partitions: adding more of them, and changing the in-sync set at a leader's request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from moldau.controller.assignment import checked_assignment, new_partition
from moldau.controller.brokers import BrokerControl
from moldau.controller.decision import MAX_RECORDS, TOPIC_COST, Charge, Decision, check_size, turns
from moldau.controller.leadership import LeadershipControl
from moldau.controller.partition_index import PartitionKey
from moldau.controller.placement import place_replicas
from moldau.controller.topics import Topic, TopicControl
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.partition_registration import NO_LEADER_CHANGE, LeaderRecoveryState, PartitionRegistration
from moldau.metadata.records import Message, PartitionRecord
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    ResponsePartitionData,
    ResponseTopicData,
)
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from moldau.runtime.ports import Random
from moldau.slicing import Work, pieces


class PartitionControl:
    """Has no state of its own: partitions belong to their topics."""

    def __init__(
        self, topics: TopicControl, brokers: BrokerControl, leadership: LeadershipControl, random: Random
    ) -> None:
        self._topics = topics
        self._brokers = brokers
        self._leadership = leadership
        self._random = random

    # --------------------------------------------------------------------------------------------- more partitions

    def in_turns(self, request: CreatePartitionsRequest) -> list[list[CreatePartitionsTopic]]:
        """The topics of a request in portions; KafkaError if they ask for too much together."""
        check_size(sum(map(self._count, request.topics)), "partitions")
        return turns(request.topics, lambda topic: topic.name, lambda topic: TOPIC_COST + self._count(topic))

    def _count(self, wanted: CreatePartitionsTopic) -> int:
        """How many partitions the topic will get in addition; none if it asks for more than it can have."""
        topic = self._topics.get(wanted.name)
        additional = 0 if topic is None else wanted.count - len(topic.partitions)
        return additional if 0 < additional <= MAX_RECORDS else 0

    def create(
        self, topics: Sequence[CreatePartitionsTopic], charge: Charge, *, validate_only: bool
    ) -> Work[Decision[list[CreatePartitionsTopicResult]]]:
        times = Counter(topic.name for topic in topics)
        records: list[Message] = []
        results: dict[str, CreatePartitionsTopicResult] = {}
        for topic in topics:
            if topic.name in results:
                continue
            try:
                if times[topic.name] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, f"The request names the topic {topic.name!r} twice.")
                records += yield from self._create(topic, charge)
                results[topic.name] = CreatePartitionsTopicResult(name=topic.name)
            except KafkaError as error:
                results[topic.name] = CreatePartitionsTopicResult(
                    name=topic.name, error_code=error.code, error_message=error.message
                )
        return Decision([] if validate_only else records, list(results.values()))

    def _create(self, wanted: CreatePartitionsTopic, charge: Charge) -> Work[list[PartitionRecord]]:
        topic = self._topics.get(wanted.name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {wanted.name!r}.")
        present = len(topic.partitions)
        additional = wanted.count - present
        if additional <= 0:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {wanted.name!r} has {present} partitions; it can only be given more, not {wanted.count}.",
            )
        check_size(additional, "partitions")
        factor = len(topic.partitions[0].replicas)
        states: Iterator[PartitionRegistration]
        if wanted.assignments is None:
            placed = place_replicas(self._brokers.usable(), additional, factor, self._random)
            states = (new_partition(replicas, self._brokers) for replicas in placed)
        else:
            if len(wanted.assignments) != additional:
                raise KafkaError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"{additional} partitions are to be added, but {len(wanted.assignments)} are assigned.",
                )
            states = (
                checked_assignment(given.broker_ids, present + index, factor, self._brokers)
                for index, given in enumerate(wanted.assignments)
            )
        records: list[PartitionRecord] = []
        for some in pieces(enumerate(states, present)):
            records += [state.to_record(topic.id, index) for index, state in some]
            yield
        charge(additional)
        return records

    # -------------------------------------------------------------------------------------------------- in-sync set

    def alter(self, request: AlterPartitionRequest, version: int) -> Work[Decision[AlterPartitionResponse]]:
        """A leader wants another in-sync set. The epochs in the request say which state it has seen."""
        self._brokers.check_epoch(request.broker_id, request.broker_epoch)
        changed: dict[PartitionKey, Message] = {}
        topics = []
        for wanted in request.topics:
            topic = self._topics.by_id(wanted.topic_id)
            results = []
            for partition in wanted.partitions:
                results.append(self._alter(request.broker_id, topic, partition, version, changed))
                yield
            topics.append(ResponseTopicData(topic_id=wanted.topic_id, partitions=results))
            yield
        return Decision(list(changed.values()), AlterPartitionResponse(topics=topics), atomic=False)

    def _alter(
        self,
        broker_id: int,
        topic: Topic | None,
        wanted: RequestPartitionData,
        version: int,
        changed: dict[PartitionKey, Message],
    ) -> ResponsePartitionData:
        index = wanted.partition_index
        if topic is None:
            return _altered(index, ErrorCode.UNKNOWN_TOPIC_ID)
        current = topic.partitions.get(index)
        if current is None:
            return _altered(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if PartitionKey(topic.id, index) in changed:
            # By the first mention of it in this request.
            return _altered(index, ErrorCode.INVALID_UPDATE_VERSION)
        isr = _wanted_isr(wanted, version)
        refusal = self._refuse_alter(broker_id, current, wanted, isr)
        if refusal is not None:
            return _altered(index, refusal)
        record = self._leadership.change(
            topic,
            index,
            current,
            isr=tuple(replica.broker_id for replica in isr),
            recovery_state=wanted.leader_recovery_state,
        )
        if record is not None:
            changed[PartitionKey(topic.id, index)] = record
            current = current.merge(record)
            if record.leader not in (NO_LEADER_CHANGE, broker_id):
                # A reassignment ended with this change and took the leadership away.
                return _altered(index, ErrorCode.NEW_LEADER_ELECTED)
        return ResponsePartitionData(
            partition_index=index,
            leader_id=current.leader,
            leader_epoch=current.leader_epoch,
            isr=list(current.isr),
            leader_recovery_state=current.leader_recovery_state,
            partition_epoch=current.partition_epoch,
        )

    def _refuse_alter(
        self,
        broker_id: int,
        current: PartitionRegistration,
        wanted: RequestPartitionData,
        isr: list[BrokerState],
    ) -> ErrorCode | None:
        # A leader that knows more than we do has heard from a newer controller.
        if wanted.leader_epoch > current.leader_epoch or wanted.partition_epoch > current.partition_epoch:
            return ErrorCode.NOT_CONTROLLER
        if wanted.leader_epoch < current.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if broker_id != current.leader:
            return ErrorCode.INVALID_REQUEST
        if wanted.partition_epoch < current.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        if len(isr) > len(current.replicas):
            # Before they are looked at: there may be very many.
            return ErrorCode.INVALID_REQUEST
        members = [replica.broker_id for replica in isr]
        if len(set(members)) != len(members) or not set(members) <= set(current.replicas) or broker_id not in members:
            return ErrorCode.INVALID_REQUEST
        if wanted.leader_recovery_state == LeaderRecoveryState.RECOVERING and (
            len(members) > 1 or current.leader_recovery_state == LeaderRecoveryState.RECOVERED
        ):
            return ErrorCode.INVALID_REQUEST
        if not all(self._may_join(replica, current) for replica in isr):
            return ErrorCode.INELIGIBLE_REPLICA
        return None

    def _may_join(self, replica: BrokerState, current: PartitionRegistration) -> bool:
        """A replica counts as in sync only as the incarnation the leader has seen fetching; -1 does not say which. One
        on a lost disk has first to report where it began anew."""
        broker = self._brokers.registrations.get(replica.broker_id)
        return (
            broker is not None
            and broker.is_active
            and replica.broker_epoch in (-1, broker.epoch)
            and broker.has_online_directory(current.directory(broker.id))
        )


def _wanted_isr(partition: RequestPartitionData, version: int) -> list[BrokerState]:
    """Version 3 says which incarnation of each replica is meant."""
    if version >= 3:
        return partition.new_isr_with_epochs
    return [BrokerState(broker_id=replica, broker_epoch=-1) for replica in partition.new_isr]


def _altered(index: int, error: ErrorCode) -> ResponsePartitionData:
    return ResponsePartitionData(partition_index=index, error_code=error)
