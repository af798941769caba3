"""Vote (key 52): a candidate asks for votes in an election of the controllers.

Version 1 names the directories of voters, 2 asks whether a vote would be given (pre-vote) without an election.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.vote import VoteRequest, VoteResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def vote(context: RequestContext, request: VoteRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return context.services.quorum.handle(request, context.version)


def error_response(request: VoteRequest, version: int, error: KafkaError) -> VoteResponse:
    return VoteResponse(error_code=error.code)


VOTE: Final = Api(ApiKey.VOTE, VoteRequest, vote, error_response)
