"""GetTelemetrySubscriptions (key 71): which of its metrics a client should push, and how often.

Offered always: the node is itself what receives them. Sums are asked for as they are since the client began, where
Kafka asks for what came since the last push: so no push that gets lost takes anything away, and a client that goes on
with another broker shows the same there.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.telemetry.client_metrics import ACCEPTED_COMPRESSION


def get_telemetry_subscriptions(
    context: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    instance_id, subscription = context.services.client_metrics.ask(context, request.client_instance_id)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=subscription.id,
        accepted_compression_types=list(ACCEPTED_COMPRESSION),
        push_interval_ms=subscription.interval_ms,
        telemetry_max_bytes=context.services.config.telemetry_max_bytes,
        delta_temporality=False,
        requested_metrics=list(subscription.metrics),
    )


def error_response(
    request: GetTelemetrySubscriptionsRequest, version: int, error: KafkaError
) -> GetTelemetrySubscriptionsResponse:
    return GetTelemetrySubscriptionsResponse(error_code=error.code)


GET_TELEMETRY_SUBSCRIPTIONS: Final = Api(
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, GetTelemetrySubscriptionsRequest, get_telemetry_subscriptions, error_response
)
