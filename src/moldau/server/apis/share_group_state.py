"""InitializeShareGroupState, ReadShareGroupState, WriteShareGroupState, DeleteShareGroupState and
ReadShareGroupStateSummary (keys 83 to 87): brokers ask the share coordinator for the states of share partitions.

Version 1 of writes and summaries knows how many records behind the start offset are done with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from moldau.coordinator.share.coordinator import ShareCoordinator
from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages import delete_share_group_state as deletes
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages import read_share_group_state as reads
from moldau.protocol.messages import read_share_group_state_summary as summaries
from moldau.protocol.messages import write_share_group_state as writes
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api, ErrorResponse, Handler
from moldau.server.parts import Parts

# Of all share partitions in one write, each of which may say something of 20,000 records, one by one.
_MOST_BATCHES: Final = 60_000
_PARTS: Final = (Parts(("topics", "partitions"), ("results", "partitions"), size=100),)


def _handler(answer: Callable[[ShareCoordinator, Any], Deferred[Any]]) -> Handler:
    def handle(context: RequestContext, request: Message) -> Deferred[Any]:
        require_cluster(context, Operation.CLUSTER_ACTION)
        return answer(context.services.share_states, request)

    return handle


def _refused(response: Callable[..., Any], topic_result: Callable[..., Any], result: type[Any]) -> ErrorResponse:
    def refuse(request: Any, version: int, error: KafkaError) -> Message:
        topics = []
        for topic in request.topics:
            rows = [
                result(partition=row.partition, error_code=error.code, error_message=error.message)
                for row in topic.partitions
            ]
            topics.append(topic_result(topic_id=topic.topic_id, partitions=rows))
        return response(results=topics)  # type: ignore[no-any-return]

    return refuse


INITIALIZE_SHARE_GROUP_STATE: Final = Api(
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    initializes.InitializeShareGroupStateRequest,
    _handler(ShareCoordinator.initialize),
    _refused(
        initializes.InitializeShareGroupStateResponse, initializes.InitializeStateResult, initializes.PartitionResult
    ),
    parts=_PARTS,
)
READ_SHARE_GROUP_STATE: Final = Api(
    ApiKey.READ_SHARE_GROUP_STATE,
    reads.ReadShareGroupStateRequest,
    _handler(ShareCoordinator.read),
    _refused(reads.ReadShareGroupStateResponse, reads.ReadStateResult, reads.PartitionResult),
    parts=_PARTS,
)
WRITE_SHARE_GROUP_STATE: Final = Api(
    ApiKey.WRITE_SHARE_GROUP_STATE,
    writes.WriteShareGroupStateRequest,
    _handler(ShareCoordinator.write),
    _refused(writes.WriteShareGroupStateResponse, writes.WriteStateResult, writes.PartitionResult),
    parts=_PARTS,
    most_elements=_MOST_BATCHES,
)
DELETE_SHARE_GROUP_STATE: Final = Api(
    ApiKey.DELETE_SHARE_GROUP_STATE,
    deletes.DeleteShareGroupStateRequest,
    _handler(ShareCoordinator.delete),
    _refused(deletes.DeleteShareGroupStateResponse, deletes.DeleteStateResult, deletes.PartitionResult),
    parts=_PARTS,
)
READ_SHARE_GROUP_STATE_SUMMARY: Final = Api(
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    summaries.ReadShareGroupStateSummaryRequest,
    _handler(ShareCoordinator.read_summary),
    _refused(summaries.ReadShareGroupStateSummaryResponse, summaries.ReadStateSummaryResult, summaries.PartitionResult),
    parts=_PARTS,
)
