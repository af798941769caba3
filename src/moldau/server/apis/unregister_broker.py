"""UnregisterBroker (key 64): a broker that will not come back is taken out of the cluster."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def unregister_broker(context: RequestContext, request: UnregisterBrokerRequest) -> Deferred[UnregisterBrokerResponse]:
    require_cluster(context, Operation.ALTER)
    return controller_of(context).unregister_broker(request)


def error_response(request: UnregisterBrokerRequest, version: int, error: KafkaError) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=error.code, error_message=error.message)


UNREGISTER_BROKER: Final = Api(ApiKey.UNREGISTER_BROKER, UnregisterBrokerRequest, unregister_broker, error_response)
