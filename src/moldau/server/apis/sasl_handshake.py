"""SaslHandshake (key 17): which mechanism a client logs in by; see `server/authentication`.

Version 0: the tokens that follow are bare frames. Version 1: they come in SaslAuthenticate. Who has logged in already,
or came by a listener that asks nobody, hears ILLEGAL_SASL_STATE.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def sasl_handshake(
    context: RequestContext, request: SaslHandshakeRequest
) -> SaslHandshakeResponse | Deferred[SaslHandshakeResponse]:
    authentication = context.connection.authentication
    if authentication is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    return authentication.handshake(request.mechanism, context.version)


def error_response(request: SaslHandshakeRequest, version: int, error: KafkaError) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=error.code)


SASL_HANDSHAKE: Final = Api(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest, sasl_handshake, error_response)
