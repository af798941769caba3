"""AllocateProducerIds (key 67), at controllers: a block of ids for a broker to hand out."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def allocate_producer_ids(
    context: RequestContext, request: AllocateProducerIdsRequest
) -> Deferred[AllocateProducerIdsResponse]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    block = controller_of(context).allocate_producer_ids(request.broker_id, request.broker_epoch)
    return mapped(
        block, lambda ids: AllocateProducerIdsResponse(producer_id_start=ids.first, producer_id_len=ids.length)
    )


def error_response(request: AllocateProducerIdsRequest, version: int, error: KafkaError) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(error_code=error.code)


ALLOCATE_PRODUCER_IDS: Final = Api(
    ApiKey.ALLOCATE_PRODUCER_IDS, AllocateProducerIdsRequest, allocate_producer_ids, error_response
)
