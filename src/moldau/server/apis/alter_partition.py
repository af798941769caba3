"""AlterPartition (key 56), at controllers: a leader proposes another in-sync set for its partitions.

Versions: 2 names topics by id, 3 gives the epoch of each broker in the set, so that one which restarted meanwhile is
not taken for in sync.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def alter_partition(context: RequestContext, request: AlterPartitionRequest) -> Deferred[AlterPartitionResponse]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return controller_of(context).alter_partition(request, context.version)


def error_response(request: AlterPartitionRequest, version: int, error: KafkaError) -> AlterPartitionResponse:
    return AlterPartitionResponse(error_code=error.code)


ALTER_PARTITION: Final = Api(ApiKey.ALTER_PARTITION, AlterPartitionRequest, alter_partition, error_response)
