"""Partitions on their way to other replicas.

A reassignment is written down first: the new replicas join the list, and the record says which are added and which will
be removed. Followers catch up; when all that stay are in sync, the AlterPartition that says so ends it (see
`elections.change_partition`). Where nobody has to be waited for, as for another order of the same replicas, it is over
with its first record. To cancel is to take out what was being added.
"""

from __future__ import annotations

from collections.abc import Sequence

from moldau.controller.assignment import check_replicas
from moldau.controller.brokers import BrokerControl
from moldau.controller.configs import ConfigControl
from moldau.controller.decision import Decision, check_size
from moldau.controller.elections import Assignment
from moldau.controller.leadership import LeadershipControl
from moldau.controller.topics import Topic, TopicControl
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.partition_registration import LeaderRecoveryState, PartitionRegistration
from moldau.metadata.records import Message, PartitionChangeRecord
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from moldau.slicing import Work


class ReassignmentControl:
    """Has no state of its own: partitions belong to their topics."""

    def __init__(
        self, topics: TopicControl, brokers: BrokerControl, configs: ConfigControl, leadership: LeadershipControl
    ) -> None:
        self._topics = topics
        self._brokers = brokers
        self._configs = configs
        self._leadership = leadership

    def alter(self, request: AlterPartitionReassignmentsRequest) -> Work[Decision[AlterPartitionReassignmentsResponse]]:
        """Partitions stand alone: one that is refused does not stop the others."""
        check_size(sum(len(topic.partitions) for topic in request.topics), "partitions")
        records: list[Message] = []
        seen: set[tuple[str, int]] = set()
        responses = []
        for topic in request.topics:
            results = []
            for wanted in topic.partitions:
                index = wanted.partition_index
                result = ReassignablePartitionResponse(partition_index=index, error_message=None)
                try:
                    if (topic.name, index) in seen:
                        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{topic.name}-{index} is named twice.")
                    seen.add((topic.name, index))
                    record = self._alter(topic.name, wanted, request.allow_replication_factor_change)
                    if record is not None:
                        records.append(record)
                except KafkaError as error:
                    result.error_code, result.error_message = error.code, error.message
                results.append(result)
                yield
            responses.append(ReassignableTopicResponse(name=topic.name, partitions=results))
            yield
        return Decision(
            records,
            AlterPartitionReassignmentsResponse(
                error_message=None,
                responses=responses,
                allow_replication_factor_change=request.allow_replication_factor_change,
            ),
        )

    def _alter(self, name: str, wanted: ReassignablePartition, may_change_factor: bool) -> PartitionChangeRecord | None:
        topic = self._topics.get(name)
        current = None if topic is None else topic.partitions.get(wanted.partition_index)
        if topic is None or current is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {name}-{wanted.partition_index}."
            )
        if wanted.replicas is None:
            return self._cancel(topic, wanted.partition_index, current)
        return self._start(topic, wanted.partition_index, current, tuple(wanted.replicas), may_change_factor)

    def _start(
        self,
        topic: Topic,
        index: int,
        current: PartitionRegistration,
        replicas: tuple[int, ...],
        may_change_factor: bool,
    ) -> PartitionChangeRecord | None:
        check_replicas(replicas, index, self._brokers)
        staying = [replica for replica in current.replicas if replica not in current.removing_replicas]
        if not may_change_factor and len(staying) != len(replicas):
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"{topic.name}-{index} has {len(staying)} replicas and may not be given {len(replicas)}.",
            )
        # Those that an earlier reassignment was adding and this one does not want leave at once, unless they alone are
        # in sync, or eligible where nobody is in sync, or waited for where nobody is eligible.
        unwanted = set(current.adding_replicas).difference(replicas)
        if unwanted.issuperset(current.isr or current.elr or current.last_known_elr):
            unwanted.clear()
        isr = tuple(replica for replica in current.isr if replica not in unwanted)
        held = [replica for replica in current.replicas if replica not in unwanted]
        removing = tuple(sorted(set(held).difference(replicas)))
        original = set(held).difference(current.adding_replicas)
        adding = tuple(sorted(set(replicas).difference(original)))
        return self._leadership.change(
            topic, index, current, isr=isr, assignment=Assignment((*replicas, *removing), removing, adding)
        )

    def _cancel(self, topic: Topic, index: int, current: PartitionRegistration) -> PartitionChangeRecord | None:
        if not current.is_reassigning:
            raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        adding = current.adding_replicas
        replicas = tuple(replica for replica in current.replicas if replica not in adding)
        isr = tuple(replica for replica in current.isr if replica not in adding)
        recovery_state: int | None = None
        if not replicas:
            raise _unrevertable(topic, index, "it has no other replicas")
        if not isr and not set(current.elr).difference(adding):
            # All that are in sync would leave, or all that have everything where nobody is.
            if not self._configs.unclean_election_enabled(topic.name):
                raise _unrevertable(topic, index, "records could be lost, and the topic does not allow that")
            isr, recovery_state = replicas[:1], LeaderRecoveryState.RECOVERING
        return self._leadership.change(
            topic, index, current, isr=isr, assignment=Assignment(replicas), recovery_state=recovery_state
        )

    def ongoing(self, request: ListPartitionReassignmentsRequest) -> Work[Decision[ListPartitionReassignmentsResponse]]:
        found: dict[str, list[OngoingPartitionReassignment]] = {}
        reassigning = self._topics.index.reassigning
        if request.topics is None:
            for key in reassigning:
                topic, state = self._topics.partition(key)
                found.setdefault(topic.name, []).append(_ongoing(key.partition, state))
                yield
        else:
            for asked in request.topics:
                known = self._topics.get(asked.name)
                if known is not None:
                    rows = yield from self._ongoing(known, asked.partition_indexes)
                    found.setdefault(asked.name, []).extend(rows)
                yield
        topics = [OngoingTopicReassignment(name=name, partitions=rows) for name, rows in found.items() if rows]
        return Decision([], ListPartitionReassignmentsResponse(error_message=None, topics=topics))

    def _ongoing(self, topic: Topic, indexes: Sequence[int]) -> Work[list[OngoingPartitionReassignment]]:
        rows = []
        for index in indexes:
            state = topic.partitions.get(index)
            if state is not None and state.is_reassigning:
                rows.append(_ongoing(index, state))
            yield
        return rows


def _ongoing(index: int, state: PartitionRegistration) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=index,
        replicas=list(state.replicas),
        adding_replicas=list(state.adding_replicas),
        removing_replicas=list(state.removing_replicas),
    )


def _unrevertable(topic: Topic, index: int, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        f"The reassignment of {topic.name}-{index} cannot be cancelled: {why}.",
    )
