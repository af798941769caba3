"""`KafkaConsumer` beside kafka-python's: every public method and setting is here, or is in a list with the reason."""

from __future__ import annotations

import inspect
from typing import Any

import kafka
import pytest

from moldau import KafkaConsumer, KafkaProducer, TopicPartition, errors
from moldau.client.consumer.settings import read_settings

# Settings that are not here, and why.
REFUSED = {
    "proxy_url": "connections go straight to the broker; a setting like this must not be ignored",
    "socks5_proxy": "likewise",
}
# Defaults that differ, and why.
OTHERWISE = {
    "client_id": "it names this client",
    "reconnect_backoff_max_ms": "Java's default: a broker that is back is found within a second, not half a minute",
    "default_offset_commit_callback": "none, where kafka-python's does nothing",
    "partition_assignment_strategy": "by name, where kafka-python has classes; both are taken",
    **dict.fromkeys(
        ("socket_options", "metric_reporters", "selector", "kafka_client"), "belongs to kafka-python's own machinery"
    ),
}


def test_every_method_is_here_and_takes_the_same_arguments() -> None:
    for name, theirs in inspect.getmembers(kafka.KafkaConsumer, inspect.isfunction):
        if name.startswith("_"):
            continue
        mine = getattr(KafkaConsumer, name, None)
        assert mine is not None, f"{name} is missing"
        wanted = [(each.name, each.kind) for each in inspect.signature(theirs).parameters.values()]
        offered = [(each.name, each.kind) for each in inspect.signature(mine).parameters.values()]
        assert offered[: len(wanted)] == wanted, name


def test_every_setting_is_here_with_its_default_or_there_is_a_reason() -> None:
    theirs: dict[str, Any] = kafka.KafkaConsumer.DEFAULT_CONFIG
    ours = read_settings({})
    assert set(theirs) - set(ours) == set(REFUSED)
    assert {name for name, value in theirs.items() if name in ours and ours[name] != value} == set(OTHERWISE)
    for name in REFUSED:
        with pytest.raises(errors.KafkaConfigurationError):
            read_settings({name: "somewhere"})


def test_programs_may_say_what_is_the_default_anyway(bootstrap: str, topic: str) -> None:
    """Also with kafka-python's own classes in it."""
    settings = {**kafka.KafkaConsumer.DEFAULT_CONFIG, "bootstrap_servers": bootstrap, "auto_offset_reset": "earliest"}
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        producer.send(topic, b"x", partition=0)
    with KafkaConsumer(**settings) as consumer:
        consumer.bootstrap(timeout_ms=60_000, refresh=True)
        consumer.assign([TopicPartition(topic, 0)])
        assert len(consumer.poll(60_000)) == 1
