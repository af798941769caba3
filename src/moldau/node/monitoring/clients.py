"""What clients pushed of themselves, and how many there are that do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.metrics.exposition import Family, counter, gauge
from moldau.server.telemetry.client_metrics import ClientMetrics

_MANAGER: Final = "kafka_server_client_metrics_"


def families(clients: ClientMetrics) -> Iterator[Family | None]:
    """None is a place to pause."""
    yield gauge(_MANAGER + "instance_count", "Instances of clients that asked what to push.", len(clients.instances))
    yield counter(_MANAGER + "plugin_export_count_total", "Pushes that were taken.", clients.exports)
    yield counter(_MANAGER + "plugin_error_count_total", "Pushes that could not be read.", clients.failures)
    yield counter(_MANAGER + "throttle_count_total", "Requests of clients that came too early.", clients.throttled)
    unknown = "Pushes of what is no longer wanted; such a client asks again."
    yield counter(_MANAGER + "unknown_subscription_request_count_total", unknown, clients.unknown_subscriptions)
    yield gauge("moldau_client_metrics_series", "Series that clients have pushed.", clients.series.count)
    dropped = "Points of clients for which there was no room."
    yield counter("moldau_client_metrics_dropped_points_total", dropped, clients.series.dropped)
    yield from clients.families()
