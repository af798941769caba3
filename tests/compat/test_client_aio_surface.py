"""`moldau.aio` beside aiokafka: every public method and setting is here, or stands in a list with the reason."""

from __future__ import annotations

import inspect
from typing import Any

import aiokafka
import aiokafka.admin
import pytest

import moldau.aio
from moldau import admin as our_admin

PAIRS = [
    pytest.param(aiokafka.AIOKafkaProducer, moldau.aio.AIOKafkaProducer, id="producer"),
    pytest.param(aiokafka.AIOKafkaConsumer, moldau.aio.AIOKafkaConsumer, id="consumer"),
    pytest.param(aiokafka.admin.AIOKafkaAdminClient, moldau.aio.AIOKafkaAdminClient, id="admin"),
]

# What is not here, and why.
MISSING_METHODS: dict[str, str] = {}
MISSING_NAMES: dict[str, str] = {}


def methods(kind: type) -> dict[str, Any]:
    return {name: each for name, each in inspect.getmembers(kind, callable) if not name.startswith("_")}


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_every_method_is_here_and_takes_the_same_arguments(theirs: type, ours: type) -> None:
    mine = methods(ours)
    for name, method in methods(theirs).items():
        if name in MISSING_METHODS:
            continue
        assert name in mine, f"{name} is missing"
        assert inspect.iscoroutinefunction(mine[name]) == inspect.iscoroutinefunction(method), name
        wanted = [(each.name, each.kind) for each in inspect.signature(method).parameters.values()]
        offered = [(each.name, each.kind) for each in inspect.signature(mine[name]).parameters.values()]
        assert offered[: len(wanted)] == wanted, name


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_every_setting_is_taken_with_its_default(theirs: type, ours: type) -> None:
    """A program that says what is the default anyway must not be refused."""
    given = {
        each.name: each.default
        for each in inspect.signature(theirs).parameters.values()
        if isinstance(each.default, str | int | bool | None)
    }
    client = ours(**given)
    kind = {"AIOKafkaProducer": "producer", "AIOKafkaConsumer": "consumer"}.get(ours.__name__)
    if kind == "producer":
        from moldau.client.producer.settings import read_settings as producer_settings

        producer_settings(client._settings)
    elif kind == "consumer":
        from moldau.client.consumer.settings import read_settings as consumer_settings

        consumer_settings(client._settings)
    else:
        from moldau.client.settings import merged

        merged({}, client._settings)


def test_every_name_is_here_or_there_is_a_reason() -> None:
    assert set(aiokafka.__all__) - set(moldau.aio.__all__) == set(MISSING_NAMES)
    assert set(aiokafka.admin.__all__) - {"AIOKafkaAdminClient"} <= set(our_admin.__all__)
