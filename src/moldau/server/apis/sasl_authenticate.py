"""SaslAuthenticate (key 36): one token of a login, and the broker's answer to it; see `server/authentication`.

Version 1 tells how long the session lasts, 2 is flexible.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from moldau.server.authentication import already_authenticated
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def sasl_authenticate(
    context: RequestContext, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse | Deferred[SaslAuthenticateResponse]:
    authentication = context.connection.authentication
    if authentication is None:
        return already_authenticated()
    return authentication.authenticate(bytes(request.auth_bytes))


def error_response(request: SaslAuthenticateRequest, version: int, error: KafkaError) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=error.code, error_message=error.message)


SASL_AUTHENTICATE: Final = Api(ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest, sasl_authenticate, error_response)
