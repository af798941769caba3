"""Leadership over all partitions: what a broker's coming or going means, elections somebody asks for, and those the
controller holds by itself to bring leaders home or partitions back.

Any number of partitions may be concerned, so all of it is work that pauses.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, TypeVar

from moldau.controller.brokers import BrokerControl
from moldau.controller.configs import MIN_INSYNC_REPLICAS, ConfigControl
from moldau.controller.decision import Decision
from moldau.controller.elections import Election, change_partition
from moldau.controller.features import FeatureControl
from moldau.controller.partition_index import PartitionKey
from moldau.controller.topics import Topic, TopicControl
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import ResourceType
from moldau.metadata.partition_registration import PartitionRegistration
from moldau.metadata.records import ConfigRecord, Message, PartitionChangeRecord
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from moldau.slicing import Work
from moldau.types import Uuid

R = TypeVar("R")

_PREFERRED, _UNCLEAN = 0, 1
# How many leaders the controller moves by itself in one operation; others get their turn in between.
MAX_ELECTIONS: Final = 1000


class _Policy:
    """What a topic's settings say about elections."""

    __slots__ = ("election", "min_isr", "topic_id")

    def __init__(self, topic_id: Uuid, election: Election, min_isr: int | None) -> None:
        self.topic_id = topic_id
        self.election = election
        self.min_isr = min_isr


class LeadershipControl:
    """Has no state of its own: partitions belong to their topics."""

    def __init__(
        self, topics: TopicControl, brokers: BrokerControl, configs: ConfigControl, features: FeatureControl
    ) -> None:
        self._topics = topics
        self._brokers = brokers
        self._configs = configs
        self._features = features

    def change(
        self, topic: Topic, index: int, current: PartitionRegistration, **wanted: Any
    ) -> PartitionChangeRecord | None:
        """As `change_partition`, by the rules of the topic and with the brokers as they are."""
        policy = self._policy(topic)
        options: Mapping[str, Any] = {"election": policy.election, "min_isr": policy.min_isr, **wanted}
        return change_partition(
            PartitionKey(topic.id, index), current, self._brokers, self._brokers.is_active, **options
        )

    def updates(
        self,
        keys: Iterable[PartitionKey],
        *,
        leaving: int | None = None,
        joining: int | None = None,
        incomplete: Container[int] = (),
    ) -> Work[list[PartitionChangeRecord]]:
        """What a broker's coming or going means for these partitions.

        The state still shows `joining` as fenced and `leaving` as active while this is decided, so both are named. One
        that leaves is `incomplete` if it may have lost records.
        """

        def can_lead(broker_id: int) -> bool:
            return broker_id != leaving and (broker_id == joining or self._brokers.is_active(broker_id))

        changes = []
        policy: _Policy | None = None
        for key in keys:
            topic, current = self._topics.partition(key)
            if policy is None or policy.topic_id != topic.id:
                policy = self._policy(topic)
            change = change_partition(
                key,
                current,
                self._brokers,
                can_lead,
                isr=tuple(replica for replica in current.isr if replica != leaving),
                election=policy.election,
                min_isr=policy.min_isr,
                incomplete=incomplete,
            )
            if change is not None:
                changes.append(change)
            yield
        return changes

    def _policy(self, topic: Topic) -> _Policy:
        unclean = self._configs.unclean_election_enabled(topic.name)
        minimum = self._configs.min_insync_replicas(topic.name) if self._features.eligible_leaders else None
        return _Policy(topic.id, Election.UNCLEAN if unclean else Election.ONLINE, minimum)

    # --------------------------------------------------------------------------------------------------- asked for

    def elect_leaders(self, request: ElectLeadersRequest) -> Work[Decision[ElectLeadersResponse]]:
        if request.election_type not in (_PREFERRED, _UNCLEAN):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"The election type {request.election_type} is not known.")
        asked: dict[str, dict[int, None]] = {}
        everything = request.topic_partitions is None
        if request.topic_partitions is None:
            asked.update((topic.name, dict.fromkeys(topic.partitions)) for topic in self._topics)
        else:
            for named in request.topic_partitions:
                asked.setdefault(named.topic, {}).update(dict.fromkeys(named.partitions))
                yield
        records: list[Message] = []
        results = []
        for name, indexes in asked.items():
            outcomes = []
            for index in indexes:
                error = self._elect(name, index, request.election_type, records)
                yield
                if everything and error is not None and error.code is ErrorCode.ELECTION_NOT_NEEDED:
                    continue
                outcomes.append(
                    PartitionResult(partition_id=index, error_message=None)
                    if error is None
                    else PartitionResult(partition_id=index, error_code=error.code, error_message=error.message)
                )
            results.append(ReplicaElectionResult(topic=name, partition_result=outcomes))
            yield
        return Decision(records, ElectLeadersResponse(replica_election_results=results), atomic=False)

    def _elect(self, name: str, index: int, election_type: int, records: list[Message]) -> KafkaError | None:
        topic = self._topics.get(name)
        current = None if topic is None else topic.partitions.get(index)
        if topic is None or current is None:
            return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {name}-{index}.")
        preferred = election_type == _PREFERRED
        if current.leader == current.preferred_leader if preferred else current.has_leader:
            return KafkaError(ErrorCode.ELECTION_NOT_NEEDED)
        record = self.change(topic, index, current, election=Election.PREFERRED if preferred else Election.UNCLEAN)
        if record is None:
            code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
            return KafkaError(code)
        records.append(record)
        return None

    # --------------------------------------------------------------------------------------------------- by itself

    def balance(self) -> Work[Decision[bool]]:
        """Gives preferred leaders their partitions back; whether there may be more than could be done at once."""
        return self._elect_some(self._topics.index.imbalanced, Election.PREFERRED)

    def elect_unclean(self) -> Work[Decision[bool]]:
        """The same for partitions without a leader where records may be lost: somebody may have allowed it since."""
        return self._elect_some(self._topics.index.leaderless, Election.UNCLEAN)

    def _elect_some(self, keys: Iterable[PartitionKey], election: Election) -> Work[Decision[bool]]:
        records: list[Message] = []
        for key in keys:
            yield
            topic, current = self._topics.partition(key)
            if election is Election.UNCLEAN and not self._configs.unclean_election_enabled(topic.name):
                continue
            record = self.change(topic, key.partition, current, election=election)
            if record is not None:
                records.append(record)
            if len(records) >= MAX_ELECTIONS:
                break
        return Decision(records, len(records) >= MAX_ELECTIONS, atomic=False)

    # --------------------------------------------------------------------------------------------- eligible leaders

    def with_eligible_cleared(self, decision: Decision[R]) -> Decision[R]:
        """The decision about settings, and what another `min.insync.replicas` in it does to eligible leaders.

        Whoever was eligible by the old number need not be by the new one, because a leader may commit without it. Where
        nobody is in sync there is no leader that could, so there they stay.
        """
        if not self._features.eligible_leaders:
            return decision
        changed = [r for r in decision.records if isinstance(r, ConfigRecord) and r.name == MIN_INSYNC_REPLICAS]
        everywhere = any(record.resource_type != ResourceType.TOPIC for record in changed)
        names = {record.resource_name for record in changed if record.resource_type == ResourceType.TOPIC}
        cleared: list[Message] = []
        for key in self._topics.index.recoverable if changed else ():
            topic, state = self._topics.partition(key)
            if state.isr and state.elr and (everywhere or topic.name in names):
                cleared.append(
                    PartitionChangeRecord(topic_id=topic.id, partition_id=key.partition, eligible_leader_replicas=[])
                )
        return decision._replace(records=[*cleared, *decision.records])
