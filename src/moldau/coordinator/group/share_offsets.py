"""What the group coordinator and the share coordinator do together, step by step.

The group coordinator knows which share partitions a group has, the share coordinator where the group stands in each.
Whatever concerns both is written down here first, then asked of the other, and written down again when it is done: if
the answer is lost, what stands here says what is to be asked again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol, TypeVar, cast

from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.group.share_group import TopicStates
from moldau.coordinator.group.share_heartbeat import Heard
from moldau.coordinator.group.share_state import Deletion, StartOffsets
from moldau.coordinator.write_path import Operation
from moldau.deferred import Deferred, mapped, pass_on, ready
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import alter_share_group_offsets as alteration
from moldau.protocol.messages import delete_share_group_offsets as deletion
from moldau.protocol.messages import delete_share_group_state as delete_state
from moldau.protocol.messages import describe_share_group_offsets as description
from moldau.protocol.messages import initialize_share_group_state as initialize_state
from moldau.protocol.messages import read_share_group_state_summary as summaries
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from moldau.types import NO_OFFSET, ZERO_UUID, TopicPartition, Uuid

logger = logging.getLogger("moldau.coordinator.group")

T = TypeVar("T")
U = TypeVar("U")

# Where a share partition begins that nobody has said anything of: its leader decides, when it is first read.
_UNDECIDED: Final = -1


class SharePersister(Protocol):
    """The share coordinators of the cluster, wherever each share partition's is. Failures of single partitions are in
    the response; that nobody could be asked is one as well."""

    def initialize(
        self, request: initialize_state.InitializeShareGroupStateRequest
    ) -> Deferred[initialize_state.InitializeShareGroupStateResponse]: ...

    def read_summary(
        self, request: summaries.ReadShareGroupStateSummaryRequest
    ) -> Deferred[summaries.ReadShareGroupStateSummaryResponse]: ...

    def delete(
        self, request: delete_state.DeleteShareGroupStateRequest
    ) -> Deferred[delete_state.DeleteShareGroupStateResponse]: ...


# The end of partitions as share groups see it, wherever they are led; a failure of each in its place.
EndOffsets = Callable[[list[TopicPartition]], Deferred[Mapping[TopicPartition, int | KafkaError]]]


class Write(Protocol):
    """Runs an operation on the shard of a group."""

    def __call__(self, name: str, group_id: str, operation: Operation[GroupShard, T]) -> Deferred[T]: ...


class ShareOffsets:
    def __init__(
        self,
        persister: SharePersister,
        end_offsets: EndOffsets,
        write: Write,
        image: Callable[[], MetadataImage],
    ) -> None:
        self._persister = persister
        self._end_offsets = end_offsets
        self._write = write
        self._image = image

    # ---------------------------------------------------------------------------------------------- initialisation

    def heard(self, group_id: str, heard: Heard) -> ShareGroupHeartbeatResponse:
        """The answer to a heartbeat. What it subscribes to gets its state meanwhile, and until then is nobody's; if
        that cannot be done a later heartbeat asks for it again. No member can help it, so none is told: to some clients
        an error that a heartbeat does not usually have is the end."""
        if heard.initialize:
            offsets = {
                topic_id: dict.fromkeys(state.partitions, _UNDECIDED) for topic_id, state in heard.initialize.items()
            }

            def done(refused: Mapping[Uuid, Mapping[int, KafkaError]] | None, error: BaseException | None) -> None:
                errors = [each for errors in (refused or {}).values() for each in errors.values()]
                reason = error or next(iter(errors), None)
                if reason is not None:
                    logger.info("the state of share partitions of %s could not be made: %s", group_id, reason)

            self._initialize(group_id, StartOffsets(offsets, heard.state_epoch)).then(done)
        return heard.response

    def _initialize(self, group_id: str, start: StartOffsets) -> Deferred[dict[Uuid, dict[int, KafkaError]]]:
        """What could not be initialised, after it is written down what could; all of it or nothing."""
        request = initialize_state.InitializeShareGroupStateRequest(
            group_id=group_id,
            topics=[
                initialize_state.InitializeStateData(
                    topic_id=topic_id,
                    partitions=[
                        initialize_state.PartitionData(
                            partition=partition, state_epoch=start.state_epoch, start_offset=offset
                        )
                        for partition, offset in sorted(offsets.items())
                    ],
                )
                for topic_id, offsets in sorted(start.topics.items())
            ],
        )
        wanted = {topic_id: set(offsets) for topic_id, offsets in start.topics.items()}
        answer: Deferred[dict[Uuid, dict[int, KafkaError]]] = Deferred()

        def asked(
            response: initialize_state.InitializeShareGroupStateResponse | None, error: BaseException | None
        ) -> None:
            refused: dict[Uuid, dict[int, KafkaError]] = {}
            if response is None:
                if not isinstance(error, KafkaError):
                    answer.fail(error or AssertionError())
                    return
                refused = {topic_id: dict.fromkeys(partitions, error) for topic_id, partitions in wanted.items()}
            else:
                for result in response.results:
                    errors = _errors(result.partitions)
                    if errors:
                        refused[result.topic_id] = errors
            if refused:
                name = "share state not initialized"
                written = self._write(name, group_id, lambda s: s.share_states.not_initialized(group_id, wanted))
            else:
                name = "share state initialized"
                written = self._write(name, group_id, lambda s: s.share_states.initialized(group_id, wanted))
            pass_on(mapped(written, lambda _: refused), answer)

        self._persister.initialize(request).then(asked)
        return answer

    # ------------------------------------------------------------------------------------------------------- alter

    def alter(
        self, request: alteration.AlterShareGroupOffsetsRequest, now_ms: int
    ) -> Deferred[alteration.AlterShareGroupOffsetsResponse]:
        group_id, topics = request.group_id, self._image().topics
        response = alteration.AlterShareGroupOffsetsResponse()
        wanted: dict[str, dict[int, int]] = {}
        for topic in request.topics:
            known = topics.get(topic.topic_name)
            row = alteration.AlterShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name, topic_id=ZERO_UUID if known is None else known.id
            )
            response.responses.append(row)
            for each in topic.partitions:
                result = alteration.AlterShareGroupOffsetsResponsePartition(partition_index=each.partition_index)
                row.partitions.append(result)
                if known is None or each.partition_index not in known.partitions:
                    result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    result.error_message = f"There is no partition {topic.topic_name}-{each.partition_index}."
                else:
                    wanted.setdefault(topic.topic_name, {})[each.partition_index] = each.start_offset

        def decided(start: StartOffsets) -> Deferred[alteration.AlterShareGroupOffsetsResponse]:
            if not start.topics:
                return ready(response)
            return mapped(self._initialize(group_id, start), lambda refused: _with_errors(response, refused))

        altered = self._write("alter share offsets", group_id, lambda s: s.share_states.alter(group_id, wanted, now_ms))
        return then(altered, decided)

    # ------------------------------------------------------------------------------------------------------ delete

    def delete(
        self, request: deletion.DeleteShareGroupOffsetsRequest
    ) -> Deferred[deletion.DeleteShareGroupOffsetsResponse]:
        group_id = request.group_id
        names = list(dict.fromkeys(topic.topic_name for topic in request.topics))
        response = deletion.DeleteShareGroupOffsetsResponse()

        def decided(wanted: Deletion) -> Deferred[deletion.DeleteShareGroupOffsetsResponse]:
            response.responses += [
                deletion.DeleteShareGroupOffsetsResponseTopic(
                    topic_name=name, error_code=error.code, error_message=error.message
                )
                for name, error in wanted.refused.items()
            ]
            if not wanted.topics:
                return ready(response)
            return then(self._delete_state(group_id, wanted.topics), lambda refused: confirmed(wanted, refused))

        def confirmed(
            wanted: Deletion, refused: Mapping[Uuid, KafkaError]
        ) -> Deferred[deletion.DeleteShareGroupOffsetsResponse]:
            gone = [topic_id for topic_id in wanted.topics if topic_id not in refused]
            for topic_id, state in wanted.topics.items():
                row = deletion.DeleteShareGroupOffsetsResponseTopic(topic_name=state.name, topic_id=topic_id)
                error = refused.get(topic_id)
                if error is not None:
                    row.error_code, row.error_message = error.code, error.message
                response.responses.append(row)
            written = self._write("share state deleted", group_id, lambda s: s.share_states.deleted(group_id, gone))
            return mapped(written, lambda _: response)

        written = self._write("delete share offsets", group_id, lambda s: s.share_states.delete(group_id, names))
        return then(written, decided)

    def delete_group(self, group_id: str) -> Deferred[KafkaError | None]:
        """Everything the share coordinator knows of the group; the group itself comes after it."""

        def decided(topics: TopicStates) -> Deferred[KafkaError | None]:
            if not topics:
                return ready(None)
            refused = self._delete_state(group_id, topics)
            return mapped(refused, lambda errors: next(iter(errors.values()), None))

        written = self._write("delete share group", group_id, lambda s: s.share_states.delete_all(group_id))
        return then(written, decided)

    def _delete_state(self, group_id: str, topics: TopicStates) -> Deferred[dict[Uuid, KafkaError]]:
        """The topics of which something could not be deleted."""
        request = delete_state.DeleteShareGroupStateRequest(
            group_id=group_id,
            topics=[
                delete_state.DeleteStateData(
                    topic_id=topic_id,
                    partitions=[delete_state.PartitionData(partition=number) for number in sorted(state.partitions)],
                )
                for topic_id, state in sorted(topics.items())
            ],
        )

        def refused(response: delete_state.DeleteShareGroupStateResponse) -> dict[Uuid, KafkaError]:
            found = {result.topic_id: _errors(result.partitions) for result in response.results}
            return {topic_id: next(iter(errors.values())) for topic_id, errors in found.items() if errors}

        return mapped(self._persister.delete(request), refused)

    # ---------------------------------------------------------------------------------------------------- describe

    def describe(
        self,
        group: description.DescribeShareGroupOffsetsRequestGroup,
        initialized: TopicStates | None,
    ) -> Deferred[description.DescribeShareGroupOffsetsResponseGroup]:
        """`initialized` is what the group has a state for, where the request asks for all of it."""
        topics = self._image().topics
        response = description.DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id)
        names: dict[Uuid, str] = {}
        wanted: dict[Uuid, list[int]] = {}
        if initialized is not None:
            for topic_id, state in initialized.items():
                topic = topics.by_id(topic_id)
                if topic is not None:
                    names[topic_id], wanted[topic_id] = topic.name, sorted(state.partitions)
        for row in group.topics or ():
            topic = topics.get(row.topic_name)
            if topic is not None:
                names[topic.id], wanted[topic.id] = topic.name, list(row.partitions)
                continue
            response.topics.append(
                description.DescribeShareGroupOffsetsResponseTopic(
                    topic_name=row.topic_name,
                    partitions=[
                        description.DescribeShareGroupOffsetsResponsePartition(
                            partition_index=number, start_offset=NO_OFFSET
                        )
                        for number in row.partitions
                    ],
                )
            )
        if not wanted:
            return ready(response)
        request = summaries.ReadShareGroupStateSummaryRequest(
            group_id=group.group_id,
            topics=[
                summaries.ReadStateSummaryData(
                    topic_id=topic_id,
                    partitions=[summaries.PartitionData(partition=number, leader_epoch=0) for number in numbers],
                )
                for topic_id, numbers in wanted.items()
            ],
        )

        def read(
            summary: summaries.ReadShareGroupStateSummaryResponse,
        ) -> Deferred[description.DescribeShareGroupOffsetsResponseGroup]:
            lagging = [
                TopicPartition(names[result.topic_id], row.partition)
                for result in summary.results
                if result.topic_id in names
                for row in result.partitions
                if _has_lag(row)
            ]
            ends: Deferred[Mapping[TopicPartition, int | KafkaError]]
            ends = self._end_offsets(lagging) if lagging else ready({})
            return mapped(ends, lambda found: _described(response, summary, names, found))

        return then(self._persister.read_summary(request), read)


def then(source: Deferred[U], step: Callable[[U], Deferred[T]]) -> Deferred[T]:
    """What `step` makes of a later value, later still."""
    answer: Deferred[T] = Deferred()

    def settled(value: U | None, error: BaseException | None) -> None:
        if error is None:
            pass_on(step(cast(U, value)), answer)
        else:
            answer.fail(error)

    source.then(settled)
    return answer


def _has_lag(row: summaries.PartitionResult) -> bool:
    """Nobody has read a partition without a start offset, nor said how many records are done with before version 1."""
    return row.error_code == ErrorCode.NONE and row.start_offset != NO_OFFSET and row.delivery_complete_count != -1


def _described(
    response: description.DescribeShareGroupOffsetsResponseGroup,
    summary: summaries.ReadShareGroupStateSummaryResponse,
    names: Mapping[Uuid, str],
    ends: Mapping[TopicPartition, int | KafkaError],
) -> description.DescribeShareGroupOffsetsResponseGroup:
    for result in summary.results:
        name = names.get(result.topic_id)
        if name is None:
            continue
        topic = description.DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=result.topic_id)
        response.topics.append(topic)
        for row in result.partitions:
            known = row.error_code == ErrorCode.NONE
            described = description.DescribeShareGroupOffsetsResponsePartition(
                partition_index=row.partition,
                start_offset=row.start_offset if known else NO_OFFSET,
                leader_epoch=row.leader_epoch if known else 0,
            )
            topic.partitions.append(described)
            end = ends.get(TopicPartition(name, row.partition))
            if isinstance(end, KafkaError):
                described.start_offset, described.leader_epoch = 0, 0
                described.error_code, described.error_message = end.code, end.message
            elif end is not None:
                described.lag = end - row.start_offset - row.delivery_complete_count
    return response


def _errors(
    rows: Iterable[initialize_state.PartitionResult | delete_state.PartitionResult],
) -> dict[int, KafkaError]:
    return {row.partition: KafkaError(error_code(row.error_code), row.error_message) for row in rows if row.error_code}


def _with_errors(
    response: alteration.AlterShareGroupOffsetsResponse, refused: Mapping[Uuid, Mapping[int, KafkaError]]
) -> alteration.AlterShareGroupOffsetsResponse:
    for topic in response.responses:
        errors = refused.get(topic.topic_id, {})
        for row in topic.partitions:
            error = errors.get(row.partition_index)
            if error is not None:
                row.error_code, row.error_message = error.code, error.message
    return response
