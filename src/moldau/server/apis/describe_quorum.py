"""DescribeQuorum (key 55): the leader of the controllers, and how far every replica of the metadata log has come.

Version 1 adds the times of the last fetches, 2 directories and endpoints. Only the leader knows.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def describe_quorum(context: RequestContext, request: DescribeQuorumRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.DESCRIBE)
    return context.services.quorum.handle(request, context.version)


def error_response(request: DescribeQuorumRequest, version: int, error: KafkaError) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=error.code, error_message=error.message if version >= 2 else None)


DESCRIBE_QUORUM: Final = Api(
    ApiKey.DESCRIBE_QUORUM,
    DescribeQuorumRequest,
    describe_quorum,
    error_response,
    most_elements=1_000,  # there is one partition to ask for
)
