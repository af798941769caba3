"""Which metrics are wanted of which clients, as the settings in the metadata say (CLIENT_METRICS).

A client may be meant by several subscriptions: it is asked for all their metrics, as often as the most frequent of them
says. What it is asked for has an id, which changes when that does; it is made of what is asked and of the client, so
that it is the same on every broker.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from moldau._speed import crc32c
from moldau.config.client_metrics import ALL_METRICS, ClientMetricsConfig, ClientMetricsSettings, client_metrics_config
from moldau.errors import KafkaError
from moldau.metadata.image import ResourceType
from moldau.types import Uuid

if TYPE_CHECKING:
    from moldau.metadata.image import ConfigsImage

logger = logging.getLogger("moldau.server.telemetry")


class Subscription(NamedTuple):
    """What one client is asked for; nothing, if there are no metrics."""

    id: int
    metrics: Sequence[str]
    interval_ms: int


class Subscriptions:
    """Of one state of the settings."""

    def __init__(self, configs: ConfigsImage) -> None:
        self._wanted: list[ClientMetricsConfig] = []
        for resource, settings in configs.resources.items():
            if resource.type != ResourceType.CLIENT_METRICS:
                continue
            try:
                self._wanted.append(client_metrics_config(settings))
            except KafkaError as error:
                # It was checked when it was written; another version may have other rules.
                logger.warning("the client metrics %r count for nobody: %s", resource.name, error)

    def of(self, instance_id: Uuid, client: Mapping[str, str]) -> Subscription:
        """`client` is what the node knows of it, by the names that `match` has."""
        interval_ms = ClientMetricsSettings.interval_ms.default
        metrics: set[str] = set()
        for wanted in self._wanted:
            if all(_fits(pattern, client.get(name)) for name, pattern in wanted.match.items()):
                metrics.update(wanted.metrics)
                interval_ms = min(interval_ms, wanted.interval_ms)
        names = [ALL_METRICS] if ALL_METRICS in metrics else sorted(metrics)
        text = f"{interval_ms},{','.join(names)}".encode()
        number = crc32c(text + instance_id)
        return Subscription(number - (1 << 32) if number >> 31 else number, names, interval_ms)


def _fits(pattern: object, text: str | None) -> bool:
    return text is not None and pattern.fullmatch(text) is not None  # type: ignore[attr-defined]
