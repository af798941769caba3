"""BrokerHeartbeat (key 63), at controllers: a broker lives, and says how far it has followed the metadata log.

Versions: 1 names log directories that failed, 2 those that are to be given nothing new.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.server.apis.forwarding import controller_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def broker_heartbeat(context: RequestContext, request: BrokerHeartbeatRequest) -> Deferred[BrokerHeartbeatResponse]:
    return controller_of(context).broker_heartbeat(request)


def error_response(request: BrokerHeartbeatRequest, version: int, error: KafkaError) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(error_code=error.code)


BROKER_HEARTBEAT: Final = Api(ApiKey.BROKER_HEARTBEAT, BrokerHeartbeatRequest, broker_heartbeat, error_response)
