"""UpdateRaftVoter (key 82): a voter says where it is reached now, and which kraft.version it understands.

Answered when the change is written.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def update_raft_voter(context: RequestContext, request: UpdateRaftVoterRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return context.services.quorum.handle(request, context.version)


def error_response(request: UpdateRaftVoterRequest, version: int, error: KafkaError) -> UpdateRaftVoterResponse:
    return UpdateRaftVoterResponse(error_code=error.code)


UPDATE_RAFT_VOTER: Final = Api(
    ApiKey.UPDATE_RAFT_VOTER,
    UpdateRaftVoterRequest,
    update_raft_voter,
    error_response,
    most_elements=1_000,  # the listeners of one node; all of them go into one record
)
