"""PushTelemetry (key 72): the metrics of a client, packed. Answered when they can be seen among those of the node."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def push_telemetry(context: RequestContext, request: PushTelemetryRequest) -> Deferred[PushTelemetryResponse]:
    return mapped(context.services.client_metrics.push(context, request), lambda _: PushTelemetryResponse())


def error_response(request: PushTelemetryRequest, version: int, error: KafkaError) -> PushTelemetryResponse:
    return PushTelemetryResponse(error_code=error.code)


PUSH_TELEMETRY: Final = Api(ApiKey.PUSH_TELEMETRY, PushTelemetryRequest, push_telemetry, error_response)
