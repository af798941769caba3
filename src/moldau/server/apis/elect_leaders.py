"""ElectLeaders (key 43): the preferred leader, or any that is left, takes over partitions. Without a list: all of them.

Versions: 1 knows unclean elections and an error for the whole request, 2 is flexible.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def elect_leaders(context: RequestContext, request: ElectLeadersRequest) -> Deferred[ElectLeadersResponse]:
    require_cluster(context, Operation.ALTER)
    return controller_of(context).elect_leaders(request)


def error_response(request: ElectLeadersRequest, version: int, error: KafkaError) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=error.code if version >= 1 else 0,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=error.code, error_message=error.message)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


ELECT_LEADERS: Final = Api(
    ApiKey.ELECT_LEADERS, ElectLeadersRequest, elect_leaders, error_response, most_elements=100_000
)
