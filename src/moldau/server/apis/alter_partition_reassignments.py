"""AlterPartitionReassignments (key 45): moves partitions to other brokers, or calls a move off (no replicas given).

Version 1 can insist on the number of replicas staying the same.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def alter_partition_reassignments(
    context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> Deferred[AlterPartitionReassignmentsResponse]:
    require_cluster(context, Operation.ALTER)
    return controller_of(context).alter_partition_reassignments(request)


def error_response(
    request: AlterPartitionReassignmentsRequest, version: int, error: KafkaError
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=partition.partition_index, error_code=error.code, error_message=error.message
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


ALTER_PARTITION_REASSIGNMENTS: Final = Api(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    AlterPartitionReassignmentsRequest,
    alter_partition_reassignments,
    error_response,
)
