"""Tokens of an issuer: real clients log in with them, and what happens to those that are wrong, old or rotated."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from node_process import StartNode
from secured_node import SecuredNode, sasl_settings
from tls_node import Pki

from moldau import KafkaProducer, errors
from moldau.sasl.oauth import AbstractTokenProvider
from token_issuer import Issuer, unsigned

pytestmark = pytest.mark.ours_only("keys are in a file of the test")

_PATIENCE = 20


class Tokens(AbstractTokenProvider):
    def __init__(self, make: Callable[[], str]) -> None:
        super().__init__()
        self._make = make
        self.made = 0

    def token(self) -> str:
        self.made += 1
        return self._make()


class Tenant:
    """A node that takes tokens of its issuer only; with `pki` behind TLS."""

    def __init__(self, start_node: StartNode, directory: Path, pki: Pki | None = None, **settings: str) -> None:
        self.issuer = Issuer()
        self.keys = directory / "keys.json"
        self.keys.write_bytes(self.issuer.document())
        given = {
            "sasl.oauthbearer.jwks.endpoint.url": f"file://{self.keys}",
            "sasl.oauthbearer.expected.audience": "kafka",
            "sasl.oauthbearer.expected.issuer": "https://issuer",
            "sasl.oauthbearer.clock.skew.seconds": "0",
            **settings,
        }
        self.protocol, self.ca = "SASL_PLAINTEXT", None if pki is None else pki.ca
        if pki is not None:
            self.protocol = "SASL_SSL"
            given["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL"
            given |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": pki.store(pki.node)}
        self.node = SecuredNode(start_node, sasl_settings("PLAIN,OAUTHBEARER", **given))

    def token(self, seconds: float = 600, algorithm: str = "RS256", **claims: Any) -> str:
        now = time.time()
        usual = {"sub": "jan", "iat": int(now) - 1, "exp": now + seconds, "aud": "kafka", "iss": "https://issuer"}
        return self.issuer.token({**usual, **claims}, algorithm)

    def settings(self, make: Callable[[], str]) -> dict[str, Any]:
        return {
            "bootstrap_servers": self.node.bootstrap,
            "security_protocol": self.protocol,
            **({} if self.ca is None else {"ssl_cafile": self.ca}),
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauth_token_provider": Tokens(make),
        }


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def tenant(request: pytest.FixtureRequest, start_node: StartNode, tmp_path: Path) -> Tenant:
    return Tenant(start_node, tmp_path, Pki(tmp_path) if request.param else None)


def test_our_clients(tenant: Tenant, topic: str) -> None:
    for algorithm in ("RS256", "PS512", "ES384"):
        with KafkaProducer(**tenant.settings(lambda algorithm=algorithm: tenant.token(algorithm=algorithm))) as one:
            one.send(topic, b"ours").get(_PATIENCE)
    wrong = {
        "expired": lambda: tenant.token(-1),
        "another audience": lambda: tenant.token(aud="other"),
        "another issuer": lambda: tenant.token(iss="https://other"),
        "another key": lambda: Issuer().token({"sub": "jan", "iat": 0, "exp": time.time() + 60}),
        "no signature": lambda: unsigned({"sub": "jan", "iat": 0, "exp": time.time() + 60}),
        "nonsense": lambda: "nonsense",
    }
    for make in wrong.values():
        with pytest.raises(errors.SaslAuthenticationFailedError, match="invalid_token"):
            KafkaProducer(**tenant.settings(make))
    log = tenant.node.process.log.read_text()
    assert "a token is not taken: it has expired" in log
    assert "Traceback" not in log


def test_confluent_kafka(tenant: Tenant, topic: str) -> None:
    import confluent_kafka

    def produce(make: Callable[[], str]) -> list[Any]:
        refused: list[Any] = []
        outcome: list[Any] = []

        def heard(error: Any) -> None:
            if error.name() == "_AUTHENTICATION":
                refused.append(error)

        settings = {
            "bootstrap.servers": tenant.node.bootstrap,
            "security.protocol": tenant.protocol,
            **({} if tenant.ca is None else {"ssl.ca.location": tenant.ca}),
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _config: (make(), time.time() + 600),
            "error_cb": heard,
            "log_level": 0,
        }
        producer = confluent_kafka.Producer(settings)
        producer.produce(topic, b"librdkafka", on_delivery=lambda error, _: outcome.append(error))
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and not outcome and not refused:
            producer.poll(0.1)
        producer.purge()
        return outcome

    assert produce(tenant.token) == [None]
    assert produce(lambda: tenant.token(aud="other")) != [None]
    assert produce(lambda: tenant.token(-1)) != [None]


def test_kafka_python_and_aiokafka(tenant: Tenant, topic: str) -> None:
    import aiokafka
    import aiokafka.abc
    import kafka
    from aiokafka.errors import KafkaError as AioError
    from kafka.errors import KafkaError
    from kafka.net.sasl.oauth import AbstractTokenProvider as TheirProvider

    class Theirs(TheirProvider):  # type: ignore[misc]
        seconds = 600

        def token(self) -> str:
            return tenant.token(self.seconds)

    class Expired(Theirs):
        seconds = -1

    def by_kafka_python(provider: type[TheirProvider]) -> None:
        settings = {**tenant.settings(tenant.token), "sasl_oauth_token_provider": provider()}
        producer = kafka.KafkaProducer(**settings, bootstrap_timeout_ms=2000)
        producer.send(topic, b"kafka-python").get(_PATIENCE)
        producer.close()

    by_kafka_python(Theirs)
    with pytest.raises(KafkaError):
        by_kafka_python(Expired)

    class Async(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
        def __init__(self, seconds: int) -> None:
            super().__init__()
            self.seconds = seconds

        async def token(self) -> str:
            return tenant.token(self.seconds)

    async def send(seconds: int) -> None:
        settings = {**tenant.settings(tenant.token), "sasl_oauth_token_provider": Async(seconds)}
        if tenant.ca is not None:
            settings["ssl_context"] = ssl.create_default_context(cafile=settings.pop("ssl_cafile"))
        one = aiokafka.AIOKafkaProducer(**settings)
        try:
            await one.start()
            await one.send_and_wait(topic, b"aiokafka")
        finally:
            await one.stop()

    asyncio.run(send(600))
    with pytest.raises(AioError):
        asyncio.run(send(-1))
    assert tenant.node.process.log.read_text().count("a token is not taken: it has expired") >= 2


def test_a_session_ends_with_its_token_and_is_renewed_with_a_new_one(tenant: Tenant, topic: str) -> None:
    settings = tenant.settings(lambda: tenant.token(4))
    provider = settings["sasl_oauth_token_provider"]
    with KafkaProducer(**settings) as one:
        end = time.monotonic() + 9
        while time.monotonic() < end:
            one.send(topic, b"still here").get(_PATIENCE)
            time.sleep(0.05)
        assert provider.made >= 3


def test_keys_are_rotated(start_node: StartNode, tmp_path: Path, topic: str) -> None:
    tenant = Tenant(start_node, tmp_path, **{"sasl.oauthbearer.jwks.endpoint.refresh.ms": "1000"})
    with KafkaProducer(**tenant.settings(tenant.token)) as one:
        one.send(topic, b"by the old key").get(_PATIENCE)
    tenant.issuer = Issuer("next")
    tenant.keys.write_bytes(tenant.issuer.document())
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            with KafkaProducer(**tenant.settings(tenant.token)) as one:
                one.send(topic, b"by the new key").get(_PATIENCE)
            break
        except errors.SaslAuthenticationFailedError:
            assert time.monotonic() < end, "the new key was never fetched"


def test_unsigned_tokens_where_the_settings_want_them(start_node: StartNode, topic: str) -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    line = f'{module} required unsecuredLoginStringClaim_sub="broker" unsecuredValidatorRequiredScope="write";'
    settings = {"listener.name.sasl.oauthbearer.sasl.jaas.config": line}
    tenant = SecuredNode(start_node, sasl_settings("OAUTHBEARER", **settings))

    def client(scope: str) -> KafkaProducer:
        claims = {"sub": "jan", "exp": time.time() + 60, "scope": scope}
        return KafkaProducer(
            bootstrap_servers=tenant.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Tokens(lambda: unsigned(claims)),
        )

    with client("read write") as one:
        one.send(topic, b"unsigned").get(_PATIENCE)
    with pytest.raises(errors.SaslAuthenticationFailedError):
        client("read")
    assert "believes unsigned tokens" in tenant.process.log.read_text()
