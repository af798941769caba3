"""One client that logs in and writes records one after the other, in a process of its own.

`session_load.py CLIENT BOOTSTRAP MECHANISM USER PASSWORD TOPIC SECONDS [CA]`, with CA over TLS. Writes for so long, or
until a record is refused; prints, as JSON, how many were acknowledged, and what ended it otherwise.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
import time
from typing import Any

from secured_node import confluent, kafka_python

PATIENCE = 10
PAUSE = 0.02


class Load:
    def __init__(self, settings: list[str], topic: str, seconds: float, ca: str | None) -> None:
        self.settings, self.topic, self.ca = settings, topic, ca
        self.seconds = seconds
        self.sent = 0
        self.refused: str | None = None

    def goes_on(self) -> bool:
        if not self.sent:
            # Nobody is pressed for time before the first record is there.
            self.end = time.monotonic() + self.seconds
        return time.monotonic() < self.end

    # ------------------------------------------------------------------------------------------------- clients

    def blocking(self, producer: Any) -> None:
        while self.goes_on():
            producer.send(self.topic, b"%d" % self.sent).get(PATIENCE)
            self.sent += 1
            time.sleep(PAUSE)

    async def waiting(self, producer: Any) -> None:
        await producer.start()
        while self.goes_on():
            await asyncio.wait_for(producer.send_and_wait(self.topic, b"%d" % self.sent), PATIENCE)
            self.sent += 1
            await asyncio.sleep(PAUSE)

    def ours(self) -> None:
        from moldau import KafkaProducer

        self.blocking(KafkaProducer(**self.given()))

    def kafka_python(self) -> None:
        from kafka import KafkaProducer

        self.blocking(KafkaProducer(**self.given(), retries=20))

    def ours_aio(self) -> None:
        from moldau.aio import AIOKafkaProducer

        async def run() -> None:
            await self.waiting(AIOKafkaProducer(**self.given()))

        asyncio.run(run())

    def aiokafka(self) -> None:
        from aiokafka import AIOKafkaProducer

        settings = self.given()
        if self.ca is not None:
            settings["ssl_context"] = ssl.create_default_context(cafile=settings.pop("ssl_cafile"))

        async def run() -> None:
            await self.waiting(AIOKafkaProducer(**settings))

        asyncio.run(run())

    def confluent_kafka(self) -> None:
        from confluent_kafka import Producer

        producer = Producer({**confluent(*self.settings, self.ca), "message.timeout.ms": PATIENCE * 1000})
        outcome: list[Any] = []
        while self.goes_on():
            outcome.clear()
            producer.produce(self.topic, b"%d" % self.sent, on_delivery=lambda error, _: outcome.append(error))
            while not outcome:
                producer.poll(0.1)
            if outcome != [None]:
                raise ConnectionError(str(outcome[0]))
            self.sent += 1
            time.sleep(PAUSE)

    def kcat(self) -> None:
        """Which says only at the end what became of all of them."""
        settings = {**confluent(*self.settings, self.ca), "message.timeout.ms": PATIENCE * 1000, "linger.ms": 1}
        options = [word for name, value in settings.items() for word in ("-X", f"{name}={value}")]
        process = subprocess.Popen(
            ["kcat", "-P", "-b", self.settings[0], "-t", self.topic, *options],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        lines = 0
        end = time.monotonic() + self.seconds
        try:
            while time.monotonic() < end and process.poll() is None:
                process.stdin.write(f"{lines}\n")
                process.stdin.flush()
                lines += 1
                time.sleep(PAUSE)
            _, said = process.communicate(timeout=3 * PATIENCE)
        finally:
            process.kill()
        if process.returncode:
            raise ConnectionError(said[-300:])
        self.sent = lines

    def given(self) -> dict[str, Any]:
        return kafka_python(*self.settings, self.ca)


CLIENTS = ("ours", "ours_aio", "kafka_python", "aiokafka", "confluent_kafka", "kcat")

if __name__ == "__main__":
    name, bootstrap, mechanism, user, password, topic, seconds, *rest = sys.argv[1:]
    load = Load([bootstrap, mechanism, user, password], topic, float(seconds), rest[0] if rest else None)
    try:
        getattr(load, name)()
    except Exception as error:
        load.refused = f"{type(error).__name__}: {error}"
    print(json.dumps({"sent": load.sent, "refused": load.refused}), flush=True)
    os._exit(0)  # not every client can be closed once it may not come in
