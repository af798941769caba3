"""ListPartitionReassignments (key 46): the moves under way, of all topics or of those named."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def list_partition_reassignments(
    context: RequestContext, request: ListPartitionReassignmentsRequest
) -> Deferred[ListPartitionReassignmentsResponse]:
    require_cluster(context, Operation.DESCRIBE)
    return controller_of(context).list_partition_reassignments(request)


def error_response(
    request: ListPartitionReassignmentsRequest, version: int, error: KafkaError
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)


LIST_PARTITION_REASSIGNMENTS: Final = Api(
    ApiKey.LIST_PARTITION_REASSIGNMENTS, ListPartitionReassignmentsRequest, list_partition_reassignments, error_response
)
