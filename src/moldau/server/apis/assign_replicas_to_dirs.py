"""AssignReplicasToDirs (key 73), at controllers: a broker tells in which log directory each of its replicas lies."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def assign_replicas_to_dirs(
    context: RequestContext, request: AssignReplicasToDirsRequest
) -> Deferred[AssignReplicasToDirsResponse]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return controller_of(context).assign_replicas_to_dirs(request)


def error_response(
    request: AssignReplicasToDirsRequest, version: int, error: KafkaError
) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(error_code=error.code)


ASSIGN_REPLICAS_TO_DIRS: Final = Api(
    ApiKey.ASSIGN_REPLICAS_TO_DIRS, AssignReplicasToDirsRequest, assign_replicas_to_dirs, error_response
)
