"""InitProducerId (key 22): an id for a producer that numbers its batches.

Versions: 2 is flexible, 3 lets a transactional producer keep its id after an error, 4 knows PRODUCER_FENCED, 5
TRANSACTION_ABORTABLE, 6 (not offered yet) commits in two phases.
Without a transactional id every call gives a new id at epoch 0. With one, the transaction coordinator gives the epoch
that shuts out whoever used the transactional id before.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.security.acl import Operation
from moldau.server.authorization import CLUSTER, TOPIC, TRANSACTIONAL_ID, cluster_allowed, refusal, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


def init_producer_id(
    context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Deferred[InitProducerIdResponse]:
    _check_allowed(context, request)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return context.services.transactions.init_producer_id(request, context.version)
    answer: Deferred[InitProducerIdResponse] = Deferred()

    def given(producer_id: int | None, error: BaseException | None) -> None:
        if producer_id is not None:
            answer.resolve(InitProducerIdResponse(producer_id=producer_id, producer_epoch=0))
        else:
            # No block could be had just now. Producers repeat their request after this code.
            answer.resolve(_refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))

    context.services.producer_ids.next_id().then(given)
    return answer


def _check_allowed(context: RequestContext, request: InitProducerIdRequest) -> None:
    """Whoever may write to some topic may number what he writes."""
    authorization = context.services.authorization
    if authorization is None:
        return
    if request.transactional_id is not None:
        require(context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id)
    elif not cluster_allowed(context, Operation.IDEMPOTENT_WRITE, quiet=True) and not authorization.allows_somewhere(
        context, Operation.WRITE, TOPIC
    ):
        raise refusal(CLUSTER)


def error_response(request: InitProducerIdRequest, version: int, error: KafkaError) -> InitProducerIdResponse:
    return _refused(error.code)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)


INIT_PRODUCER_ID: Final = Api(ApiKey.INIT_PRODUCER_ID, InitProducerIdRequest, init_producer_id, error_response)
