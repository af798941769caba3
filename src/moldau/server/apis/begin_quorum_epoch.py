"""BeginQuorumEpoch (key 53): a new leader of the controllers makes itself known.

Version 1 is flexible and says where the leader is reached.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def begin_quorum_epoch(context: RequestContext, request: BeginQuorumEpochRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return context.services.quorum.handle(request, context.version)


def error_response(request: BeginQuorumEpochRequest, version: int, error: KafkaError) -> BeginQuorumEpochResponse:
    return BeginQuorumEpochResponse(error_code=error.code)


BEGIN_QUORUM_EPOCH: Final = Api(
    ApiKey.BEGIN_QUORUM_EPOCH,
    BeginQuorumEpochRequest,
    begin_quorum_epoch,
    error_response,
    most_elements=1_000,  # one partition and the endpoints of one node
)
