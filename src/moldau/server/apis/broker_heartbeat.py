"""BrokerHeartbeat (key 63), at controllers: a broker lives, and says how far it has followed the metadata log.

Versions: 1 names log directories that failed, 2 those that are to be given nothing new.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.links.exchange import OUR_NAME
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def broker_heartbeat(context: RequestContext, request: BrokerHeartbeatRequest) -> Deferred[BrokerHeartbeatResponse]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    controller, connection = controller_of(context), context.connection
    if connection.software is None or connection.software.name != OUR_NAME:
        # Others may take until their next heartbeat to see that they lost their connection: its end means nothing.
        return controller.broker_heartbeat(request)
    connection.when_closed(lambda: controller.disconnected(request.broker_id, connection))
    return controller.broker_heartbeat(request, connection)


def error_response(request: BrokerHeartbeatRequest, version: int, error: KafkaError) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(error_code=error.code)


BROKER_HEARTBEAT: Final = Api(
    ApiKey.BROKER_HEARTBEAT,
    BrokerHeartbeatRequest,
    broker_heartbeat,
    error_response,
    most_elements=2_000,  # the log directories of one node
)
