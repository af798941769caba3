"""AlterUserScramCredentials (key 51): sets and removes the SCRAM credentials of users (KIP-554). Decided by the
controller; version 0 only."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def alter_user_scram_credentials(
    context: RequestContext, request: AlterUserScramCredentialsRequest
) -> Deferred[AlterUserScramCredentialsResponse]:
    require_cluster(context, Operation.ALTER)
    controller = controller_of(context)
    return controller.run(lambda: controller.state.scram.alter(request))


def error_response(
    request: AlterUserScramCredentialsRequest, version: int, error: KafkaError
) -> AlterUserScramCredentialsResponse:
    names = dict.fromkeys([*(one.name for one in request.deletions), *(one.name for one in request.upsertions)])
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=name, error_code=error.code, error_message=error.message)
            for name in names
        ]
    )


ALTER_USER_SCRAM_CREDENTIALS: Final = Api(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    AlterUserScramCredentialsRequest,
    alter_user_scram_credentials,
    error_response,
)
