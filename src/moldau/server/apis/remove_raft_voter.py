"""RemoveRaftVoter (key 81): a controller is no voter any more.

Answered when the change is committed. A leader that removed itself resigns then.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def remove_raft_voter(context: RequestContext, request: RemoveRaftVoterRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.ALTER)
    return context.services.quorum.handle(request, context.version)


def error_response(request: RemoveRaftVoterRequest, version: int, error: KafkaError) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=error.code, error_message=error.message)


REMOVE_RAFT_VOTER: Final = Api(ApiKey.REMOVE_RAFT_VOTER, RemoveRaftVoterRequest, remove_raft_voter, error_response)
