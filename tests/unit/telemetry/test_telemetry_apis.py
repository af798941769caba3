"""GetTelemetrySubscriptions and PushTelemetry at a node, and what it shows of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame
from written_metrics import counter, gauge, metrics_data, point

from moldau.controller.configs import Change, ResourceChange
from moldau.errors import ErrorCode
from moldau.metadata.image import ConfigResource, ResourceType
from moldau.metrics.exposition import render
from moldau.node.monitoring import clients
from moldau.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from moldau.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from moldau.protocol.records.compression import compress
from moldau.server.telemetry import client_metrics
from moldau.slicing import run_whole
from moldau.types import ZERO_UUID

DATA = metrics_data(gauge("org.apache.kafka.consumer.lag", point(5, topic="rivers")), counter("sent", point(7)))
INSTANCE = b"an-instance-id-1"


class Node(InProcessNode):
    def subscribe(self, name: str, **settings: str) -> None:
        wanted = {key.replace("_", "."): value for key, value in settings.items()}
        resource = ConfigResource(ResourceType.CLIENT_METRICS, name)
        changes = [Change(key, 0, value) for key, value in wanted.items()]
        change = self.node.controller.incremental_alter_configs(
            [ResourceChange(resource, changes)], validate_only=False
        )
        assert self.settle(change) == [(resource, None)]
        self.turn_until(lambda: self.node.services.metadata.image.configs.client_metrics(name) == wanted)

    def get(self, instance_id: bytes = ZERO_UUID) -> Any:
        request = GetTelemetrySubscriptionsRequest(client_instance_id=instance_id)
        return self.ask(request, 0, GetTelemetrySubscriptionsResponse)

    def push(self, subscribed: Any, data: bytes = DATA, codec: int = 0, **more: Any) -> ErrorCode:
        return self.push_as(subscribed.client_instance_id, subscribed.subscription_id, data, codec, **more)

    def push_as(self, instance_id: bytes, subscription: int, data: bytes = DATA, codec: int = 0, **more: Any) -> Any:
        response = self.ask(pushing(instance_id, subscription, data, codec, **more), 0, PushTelemetryResponse)
        return ErrorCode(response.error_code)

    def shown(self, *names: str) -> dict[str, float]:
        """By the name and labels but those of who pushed."""
        metrics = self.node.services.client_metrics
        lines = b"".join(run_whole(render(clients.families(metrics)))).decode().splitlines()
        samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        wanted = {name: float(value) for name, value in samples.items() if name.startswith(names or "kafka_client_")}
        return {name.replace(',client_id="test",principal="User:ANONYMOUS"', ""): each for name, each in wanted.items()}


def pushing(instance_id: bytes, subscription: int, data: bytes, codec: int, **more: Any) -> PushTelemetryRequest:
    return PushTelemetryRequest(
        client_instance_id=instance_id, subscription_id=subscription, compression_type=codec, metrics=data, **more
    )


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path, compiled=True, settings={"telemetry.max.bytes": "2000"})
    yield node
    node.close()


def test_without_subscriptions_nothing_is_asked_for(node: Node) -> None:
    nothing = node.get()
    assert (nothing.error_code, nothing.requested_metrics, nothing.push_interval_ms) == (0, [], 300_000)
    assert nothing.client_instance_id not in (ZERO_UUID, node.get().client_instance_id)
    kept = node.get(INSTANCE)
    assert kept.client_instance_id == INSTANCE
    assert node.get(INSTANCE).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_what_a_client_is_asked_for(node: Node) -> None:
    node.subscribe("mine", metrics="a.,b.", interval_ms="5000", match="client_id=te.*,client_source_port=1")
    node.subscribe("java", metrics="c.", match="client_software_name=apache-kafka-java")
    asked = node.get()
    assert (asked.requested_metrics, asked.push_interval_ms) == (["a.", "b."], 5000)
    assert (asked.accepted_compression_types, asked.telemetry_max_bytes) == ([4, 3, 1, 2], 2000)
    assert asked.delta_temporality is False


@pytest.mark.parametrize("codec", range(5))
def test_what_is_pushed_is_shown_in_every_codec(node: Node, codec: int) -> None:
    node.subscribe("all", metrics="*")
    asked = node.get(INSTANCE)
    assert node.push(asked, compress(codec, DATA), codec) == ErrorCode.NONE
    name = 'client_instance_id="YW4taW5zdGFuY2UtaWQtMQ"'
    assert node.shown() == {
        f'kafka_client_consumer_lag{{{name},topic="rivers"}}': 5,
        f"kafka_client_sent_total{{{name}}}": 7,
    }
    assert node.shown("kafka_server", "moldau") == {
        "kafka_server_client_metrics_instance_count": 1,
        "kafka_server_client_metrics_plugin_export_count_total": 1,
        "kafka_server_client_metrics_plugin_error_count_total": 0,
        "kafka_server_client_metrics_throttle_count_total": 0,
        "kafka_server_client_metrics_unknown_subscription_request_count_total": 0,
        "moldau_client_metrics_series": 2,
        "moldau_client_metrics_dropped_points_total": 0,
    }


def test_refusals(node: Node) -> None:
    node.subscribe("all", metrics="*")
    asked = node.get(INSTANCE)
    for reserved in (ZERO_UUID, bytes(15) + b"\x01"):
        assert node.push_as(reserved, asked.subscription_id) == ErrorCode.INVALID_REQUEST
    assert node.push_as(INSTANCE, asked.subscription_id + 1) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert node.push(asked) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert node.push(asked, codec=5, terminating=True) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert node.push(asked) == ErrorCode.INVALID_REQUEST
    assert node.push(node.get(), bytes(2001)) == ErrorCode.TELEMETRY_TOO_LARGE
    assert node.shown() == {}
    counted = node.shown("kafka_server_client_metrics_throttle", "kafka_server_client_metrics_unknown")
    assert set(counted.values()) == {1}


def test_nothing_and_a_last_push(node: Node) -> None:
    node.subscribe("all", metrics="*")
    asked = node.get()
    assert node.push(asked, b"") == ErrorCode.NONE
    assert node.push(asked, terminating=True) == ErrorCode.NONE
    assert len(node.shown()) == 2
    assert node.push(asked, terminating=True) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("data", "codec"), [(b"\x0a\x05", 0), (b"no gzip", 1), (compress(1, bytes(2000 * 16 + 1)), 1), (b"\xff" * 99, 4)]
)
def test_what_cannot_be_read_is_refused(node: Node, data: bytes, codec: int) -> None:
    node.subscribe("all", metrics="*")
    assert len(data) < 2000
    assert node.push(node.get(), data, codec) == ErrorCode.INVALID_RECORD
    assert node.shown("kafka_server_client_metrics_plugin_error")
    # Whoever comes next is served.
    assert node.push(node.get()) == ErrorCode.NONE


def test_many_at_a_time_wait_for_each_other_and_not_without_bound(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_metrics, "HELD_BYTES", 3 * len(DATA))
    node.subscribe("all", metrics="*")
    asked = [node.get() for _ in range(6)]
    wires = [Wire() for _ in asked]
    for each, wire in zip(asked, wires, strict=True):
        node.send(wire, request_frame(pushing(each.client_instance_id, each.subscription_id, DATA, 0), 0))
    node.turn_until(lambda: all(wire.sent for wire in wires))
    codes = [PushTelemetryResponse.decode(wire.sent[0][9:], 0).error_code for wire in wires]
    # One is being worked on, three wait.
    assert codes == [0, 0, 0, 0, *[ErrorCode.THROTTLING_QUOTA_EXCEEDED] * 2]
    assert node.push(node.get()) == ErrorCode.NONE


def test_other_settings_are_seen_with_the_next_request(node: Node) -> None:
    node.subscribe("all", metrics="*")
    asked = node.get(INSTANCE)
    node.subscribe("other", metrics="a.", interval_ms="1000")
    again = node.get(INSTANCE)
    assert (again.error_code, again.push_interval_ms) == (0, 1000)
    assert node.push(asked) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert node.get(INSTANCE).error_code == 0
    assert node.push(again) == ErrorCode.NONE
