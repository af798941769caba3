"""EndQuorumEpoch (key 54): a leader of the controllers takes its leave and says who should follow it.

Version 1 is flexible and names the directories of its successors.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def end_quorum_epoch(context: RequestContext, request: EndQuorumEpochRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return context.services.quorum.handle(request, context.version)


def error_response(request: EndQuorumEpochRequest, version: int, error: KafkaError) -> EndQuorumEpochResponse:
    return EndQuorumEpochResponse(error_code=error.code)


END_QUORUM_EPOCH: Final = Api(
    ApiKey.END_QUORUM_EPOCH,
    EndQuorumEpochRequest,
    end_quorum_epoch,
    error_response,
    most_elements=1_000,  # one partition, the voters and the endpoints of one node
)
