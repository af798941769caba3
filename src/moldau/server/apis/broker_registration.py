"""BrokerRegistration (key 62), at controllers: a broker joins the cluster and is given its epoch.

Versions: 1 was for brokers that came from ZooKeeper, 2 names log directories, 3 the epoch the broker had before, if it
stopped in order, 4 may name features whose lowest level is 0.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def broker_registration(
    context: RequestContext, request: BrokerRegistrationRequest
) -> Deferred[BrokerRegistrationResponse]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return controller_of(context).register_broker(request)


def error_response(request: BrokerRegistrationRequest, version: int, error: KafkaError) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error_code=error.code)


BROKER_REGISTRATION: Final = Api(
    ApiKey.BROKER_REGISTRATION,
    BrokerRegistrationRequest,
    broker_registration,
    error_response,
    most_elements=2_000,  # listeners, features and directories of one node; all of them go into one record
)
