"""Our clients against an Apache Kafka that wants to know who they are: every mechanism, with TLS and without.

Needs Java and Kafka's jars: `make compat-kafka`.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from java_tools import ApacheKafka, KafkaTools, find_libs

from certificates import Certificates
from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, errors
from moldau.aio import AIOKafkaProducer
from moldau.client.admin import list_topics
from moldau.client.cluster import Cluster
from moldau.client.security import SETTINGS, read_security
from moldau.sasl.oauth import AbstractTokenProvider

pytestmark = [pytest.mark.long, pytest.mark.kafka]

LISTENERS = {"TLS": "SSL", "MUTUAL": "SSL", "SASL": "SASL_PLAINTEXT", "BOTH": "SASL_SSL", "BRIEF": "SASL_PLAINTEXT"}
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
# How long the listener BRIEF believes whom it has let in.
SESSION_MS = 2000
_MODULES = "org.apache.kafka.common.security"
_LOGINS = {
    "plain": f'{_MODULES}.plain.PlainLoginModule required user_jan="secret";',
    "scram-sha-256": f"{_MODULES}.scram.ScramLoginModule required;",
    "scram-sha-512": f"{_MODULES}.scram.ScramLoginModule required;",
    "oauthbearer": f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
}


class Tokens(AbstractTokenProvider):
    """Tokens nobody has signed, which Kafka's own validator takes where nobody tells it otherwise."""

    lifetime = 600

    def token(self) -> str:
        now = int(time.time())
        parts = ({"alg": "none"}, {"sub": "jan", "iat": now, "exp": now + self.lifetime})
        return ".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[ApacheKafka]:
    libs = find_libs()
    if isinstance(libs, str):
        pytest.skip(libs)
    own = certificates.directory / "kafka.pem"
    own.write_text(certificates.node_key.read_text() + certificates.node.read_text())
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(own),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "listener.name.mutual.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    }
    for listener in ("sasl", "both", "brief"):
        for mechanism, login in _LOGINS.items():
            settings[f"listener.name.{listener}.{mechanism}.sasl.jaas.config"] = login
    for mechanism in _LOGINS:
        settings[f"listener.name.brief.{mechanism}.connections.max.reauth.ms"] = str(SESSION_MS)
    kafka = ApacheKafka(KafkaTools(libs), tmp_path_factory.mktemp("kafka") / "data", settings, LISTENERS)
    users = [f"SCRAM-SHA-{bits}=[name=jan,password=secret]" for bits in (256, 512)]
    kafka.format("securitysecuritysecuri", *(word for user in users for word in ("--add-scram", user)))
    kafka.start()
    yield kafka
    kafka.kill()


def settings_for(kafka: ApacheKafka, certificates: Certificates, listener: str, mechanism: str = "") -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": kafka.address(listener),
        "security_protocol": LISTENERS[listener],
    }
    if LISTENERS[listener].endswith("SSL"):
        settings["ssl_cafile"] = str(certificates.ca)
    if mechanism == "OAUTHBEARER":
        settings |= {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": Tokens()}
    elif mechanism:
        settings |= {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": "jan",
            "sasl_plain_password": "secret",
        }
    return settings


def use_everything(settings: dict[str, Any], topic: str) -> None:
    values = [b"%d" % number for number in range(5000)]
    with KafkaProducer(**settings) as producer:
        for value in values:
            producer.send(topic, value)
    with KafkaConsumer(
        topic, group_id=topic, auto_offset_reset="earliest", consumer_timeout_ms=5000, **settings
    ) as consumer:
        assert [next(consumer).value for _ in values] == values
    with KafkaAdminClient(**settings) as admin:
        assert topic in admin.list_topics()
    with Cluster(settings["bootstrap_servers"], security=read_security({**SETTINGS, **settings})) as cluster:
        assert topic in [each.name for each in cluster.run(list_topics())]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", ["SASL", "BOTH"])
def test_every_mechanism(
    kafka: ApacheKafka, certificates: Certificates, listener: str, mechanism: str, topic: str
) -> None:
    use_everything(settings_for(kafka, certificates, listener, mechanism), topic)


def test_tls_without_sasl(kafka: ApacheKafka, certificates: Certificates, topic: str) -> None:
    use_everything(settings_for(kafka, certificates, "TLS"), topic)


def test_tls_on_both_sides(kafka: ApacheKafka, certificates: Certificates, topic: str) -> None:
    settings = settings_for(kafka, certificates, "MUTUAL")
    own = {
        "ssl_certfile": str(certificates.client),
        "ssl_keyfile": str(certificates.client_key),
        "ssl_password": Certificates.password,
    }
    use_everything({**settings, **own}, topic)
    with pytest.raises(errors.KafkaError):
        KafkaProducer(bootstrap_timeout_ms=2000, **settings)


def test_asyncio(kafka: ApacheKafka, certificates: Certificates, topic: str) -> None:
    settings = settings_for(kafka, certificates, "BOTH", "SCRAM-SHA-512")
    del settings["ssl_cafile"]
    settings["ssl_context"] = ssl.create_default_context(cafile=str(certificates.ca))

    async def work() -> None:
        async with AIOKafkaProducer(**settings) as producer:
            assert (await producer.send_and_wait(topic, b"x")).offset == 0

    asyncio.run(asyncio.wait_for(work(), 60))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_told_at_once(kafka: ApacheKafka, certificates: Certificates, mechanism: str) -> None:
    class Expired(Tokens):
        lifetime = -600

    settings = settings_for(kafka, certificates, "SASL", mechanism)
    wrong: dict[str, Any] = {"sasl_plain_password": "guessed"}
    if mechanism == "OAUTHBEARER":
        wrong = {"sasl_oauth_token_provider": Expired()}
    with pytest.raises(errors.SaslAuthenticationFailedError):
        KafkaProducer(bootstrap_timeout_ms=600_000, **{**settings, **wrong})


def test_a_mechanism_the_broker_does_not_have(kafka: ApacheKafka, certificates: Certificates) -> None:
    with pytest.raises(errors.KafkaError):
        KafkaProducer(bootstrap_servers=kafka.bootstrap, bootstrap_timeout_ms=2000, **_plain())


def _plain() -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "jan",
        "sasl_plain_password": "secret",
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sessions_are_renewed_under_load(
    kafka: ApacheKafka, certificates: Certificates, mechanism: str, topic: str
) -> None:
    """Kafka closes a connection that is used after its session; ours outlive several, and no request is repeated."""
    settings = settings_for(kafka, certificates, "BRIEF", mechanism)
    with (
        KafkaProducer(**settings) as producer,
        KafkaConsumer(topic, auto_offset_reset="earliest", **settings) as consumer,
    ):
        read: list[bytes] = []
        sent = 0
        until = time.monotonic() + 4 * SESSION_MS / 1000
        while time.monotonic() < until:
            producer.send(topic, b"%d" % sent)
            sent += 1
            for records in consumer.poll(5).values():
                read += [record.value for record in records]
        producer.flush(20)
        while len(read) < sent and time.monotonic() < until + 20:
            for records in consumer.poll(100).values():
                read += [record.value for record in records]
        assert read == [b"%d" % number for number in range(sent)]
        assert producer.metrics()["producer-metrics"]["record-retry-total"] == 0


@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
def test_the_commands_by_the_file_of_kafkas_tools(
    kafka: ApacheKafka, certificates: Certificates, tmp_path: Path, mechanism: str
) -> None:
    file = tmp_path / "client.properties"
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    file.write_text(
        f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={_MODULES}.{module} required username="jan" password="secret";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={certificates.ca}\n"
    )
    topic = f"commands-{mechanism.lower()}"
    told = ("-b", kafka.address("BOTH"), "--command-config", str(file))

    def run(*words: str, given: bytes = b"") -> bytes:
        ended = subprocess.run(
            [sys.executable, "-m", "moldau", *words, *told], input=given, capture_output=True, timeout=60
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    run("topics", "create", topic, "-p", "1")
    run("produce", topic, "-q", given=b"vltava\nlabe\n")
    assert run("consume", topic, "-q") == b"vltava\nlabe\n"
    assert topic.encode() in run("topics", "list")
