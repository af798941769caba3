"""ControllerRegistration (key 70), at controllers: one of them says where it listens and what it can do."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def controller_registration(
    context: RequestContext, request: ControllerRegistrationRequest
) -> Deferred[ControllerRegistrationResponse]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return controller_of(context).register_controller(request)


def error_response(
    request: ControllerRegistrationRequest, version: int, error: KafkaError
) -> ControllerRegistrationResponse:
    return ControllerRegistrationResponse(error_code=error.code, error_message=error.message)


CONTROLLER_REGISTRATION: Final = Api(
    ApiKey.CONTROLLER_REGISTRATION,
    ControllerRegistrationRequest,
    controller_registration,
    error_response,
    most_elements=2_000,  # listeners and features of one node; all of them go into one record
)
