"""AddRaftVoter (key 80): makes a controller a voter.

Answered when the change is committed; at version 1, if so asked for, when it is written.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def add_raft_voter(context: RequestContext, request: AddRaftVoterRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.ALTER)
    return context.services.quorum.handle(request, context.version)


def error_response(request: AddRaftVoterRequest, version: int, error: KafkaError) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(error_code=error.code, error_message=error.message)


ADD_RAFT_VOTER: Final = Api(
    ApiKey.ADD_RAFT_VOTER,
    AddRaftVoterRequest,
    add_raft_voter,
    error_response,
    most_elements=1_000,  # the listeners of one node; all of them go into one record
)
