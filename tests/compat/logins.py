"""Each client logs in by name and password, with TLS or without, and writes a record."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from typing import Any, Protocol

import pytest
from secured_node import confluent, kafka_python

from moldau import KafkaProducer, errors
from moldau.aio import AIOKafkaProducer

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
# Long enough for a client that logs in at once, short enough for one that never will.
GIVE_UP_SECONDS = 8


class LogIn(Protocol):
    def __call__(
        self, bootstrap: str, mechanism: str, user: str, password: str, topic: str, ca: str | None = None
    ) -> bool:
        """Whether it is let in and can write. With `ca` over TLS, to a node that this authority vouches for."""


def by_ours(bootstrap: str, mechanism: str, user: str, password: str, topic: str, ca: str | None = None) -> bool:
    try:
        with KafkaProducer(**kafka_python(bootstrap, mechanism, user, password, ca)) as producer:
            producer.send(topic, b"ours").get(GIVE_UP_SECONDS)
    except errors.SaslAuthenticationFailedError:
        return False
    return True


def by_ours_aio(bootstrap: str, mechanism: str, user: str, password: str, topic: str, ca: str | None = None) -> bool:
    async def send() -> bool:
        producer = AIOKafkaProducer(**kafka_python(bootstrap, mechanism, user, password, ca))
        try:
            await producer.start()
            await producer.send_and_wait(topic, b"ours, too")
        except (errors.SaslAuthenticationFailedError, errors.KafkaConnectionError):
            return False
        finally:
            await producer.stop()
        return True

    return asyncio.run(send())


def by_kafka_python(
    bootstrap: str, mechanism: str, user: str, password: str, topic: str, ca: str | None = None
) -> bool:
    import kafka
    from kafka.errors import KafkaError

    settings = kafka_python(bootstrap, mechanism, user, password, ca)
    try:
        producer = kafka.KafkaProducer(**settings, bootstrap_timeout_ms=2000)
    except KafkaError:
        return False
    producer.send(topic, b"kafka-python").get(GIVE_UP_SECONDS)
    producer.close()
    return True


def by_aiokafka(bootstrap: str, mechanism: str, user: str, password: str, topic: str, ca: str | None = None) -> bool:
    import aiokafka
    from aiokafka.errors import KafkaError

    settings = kafka_python(bootstrap, mechanism, user, password, ca)
    if ca is not None:
        settings["ssl_context"] = ssl.create_default_context(cafile=settings.pop("ssl_cafile"))

    async def send() -> bool:
        producer = aiokafka.AIOKafkaProducer(**settings)
        try:
            await producer.start()
            await producer.send_and_wait(topic, b"aiokafka")
        except KafkaError:
            return False
        finally:
            await producer.stop()
        return True

    return asyncio.run(send())


def by_confluent(bootstrap: str, mechanism: str, user: str, password: str, topic: str, ca: str | None = None) -> bool:
    import confluent_kafka

    refused: list[Any] = []

    def heard(error: Any) -> None:
        if error.name() == "_AUTHENTICATION":
            refused.append(error)

    settings = confluent(bootstrap, mechanism, user, password, ca)
    producer = confluent_kafka.Producer({**settings, "error_cb": heard, "log_level": 0})
    outcome: list[Any] = []
    producer.produce(topic, b"librdkafka", on_delivery=lambda error, _: outcome.append(error))
    for _ in range(GIVE_UP_SECONDS * 10):
        producer.poll(0.1)
        if outcome or refused:
            break
    producer.purge()
    return outcome == [None]


def by_kcat(bootstrap: str, mechanism: str, user: str, password: str, topic: str, ca: str | None = None) -> bool:
    options = [
        word
        for name, value in confluent(bootstrap, mechanism, user, password, ca).items()
        if name != "bootstrap.servers"
        for word in ("-X", f"{name}={value}")
    ]
    done = subprocess.run(
        ["kcat", "-b", bootstrap, "-P", "-t", topic, "-X", "message.timeout.ms=4000", *options],
        input=b"kcat\n",
        capture_output=True,
        timeout=60,
    )
    return done.returncode == 0


CLIENTS: dict[str, LogIn] = {
    "ours": by_ours,
    "ours-aio": by_ours_aio,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
    "confluent-kafka": by_confluent,
    "kcat": by_kcat,
}


def client_of(name: str) -> LogIn:
    if name == "kcat" and shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    return CLIENTS[name]
