"""Settings that change while the node runs: they reach the parts that use them, and those that do nothing are told."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from moldau.config.broker import BrokerConfig
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage, ResourceType
from moldau.protocol.messages.config_record import ConfigRecord
from moldau.server.dynamic_config import DynamicConfig


def change(image: MetadataImage, name: str, value: str) -> tuple[MetadataDelta, MetadataImage]:
    delta = MetadataDelta(image)
    delta.replay(ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name=name, value=value))
    return delta, delta.apply(image.offset + 1, 1, 0)


def test_a_setting_without_effect_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    static = BrokerConfig.parse({"num.io.threads": "9"})
    services: Any = SimpleNamespace(config=static)
    dynamic = DynamicConfig(static, services, None)
    with caplog.at_level(logging.WARNING, "moldau.server"):
        delta, image = change(EMPTY_IMAGE, "num.network.threads", "7")
        dynamic.on_image(delta, image)
        delta, image = change(image, "log.retention.ms", "5000")
        dynamic.on_image(delta, image)
    assert [record.getMessage().split()[0] for record in caplog.records] == ["num.network.threads"]
    assert services.config.log_defaults().retention_ms == 5000
