"""Who a node is to others: logins from the JAAS line of the listener it calls, and settings that make none."""

from __future__ import annotations

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.deferred import Deferred, ready
from moldau.links.addresses import Address
from moldau.links.security import Mechanism
from moldau.node.peer_login import peer_login
from moldau.runtime.real import RealRuntime
from moldau.security.scram import make_credential
from moldau.security.scram_credential import ScramCredential
from moldau.security.scram_server import Known, ScramServer
from moldau.security.verdict import Reply

MODULES = "org.apache.kafka.common.security"
PLAIN = f'{MODULES}.plain.PlainLoginModule required username="node" password="secret" user_node="secret";'
SCRAM = f'{MODULES}.scram.ScramLoginModule required username="node" password="secret";'
TOKEN = f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;"
KERBEROS = 'com.sun.security.auth.module.Krb5LoginModule required keyTab="/no/such" principal="kafka/here@REALM";'
COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "SASL://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "inter.broker.listener.name": "SASL",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": PLAIN,
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": SCRAM,
}

RUNTIME = RealRuntime()
THERE = Address("127.0.0.1", 9092)


def login(mechanism: str, listener: str = "SASL", **settings: str) -> Mechanism:
    config = BrokerConfig.parse({**COMBINED, **settings})
    make = peer_login(config, listener, mechanism, RUNTIME)
    assert make is not None
    return make(THERE)


def test_by_plain() -> None:
    assert login("PLAIN").first() == b"\0node\0secret"


def test_by_scram() -> None:
    credential = make_credential("SCRAM-SHA-256", "secret", b"salt", 4096)

    class Credentials:
        def user(self, mechanism: str, name: str) -> ScramCredential | None:
            return credential if name == "node" else None

        def token(self, mechanism: str, token_id: str) -> Deferred[Known | None]:
            return ready(None)

    make = peer_login(BrokerConfig.parse(COMBINED), "SASL", "SCRAM-SHA-256", RUNTIME)
    assert make is not None
    firsts = set()
    for _ in range(2):  # the second time with what is remembered
        client, server = make(THERE), ScramServer("SCRAM-SHA-256", Credentials(), lambda: "nonce", b"")
        firsts.add(first := client.first())
        challenge = server.answer(first)
        assert isinstance(challenge, Reply)
        final = client.answer(challenge.token)
        assert final is not None
        verdict = server.answer(final)
        assert isinstance(verdict, Reply)
        assert client.answer(verdict.token) is None
    assert len(firsts) == 2


def test_a_listener_that_asks_nobody_needs_no_login() -> None:
    settings = {**COMBINED, "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"}
    assert peer_login(BrokerConfig.parse(settings), "CONTROLLER", "PLAIN", RUNTIME) is None


@pytest.mark.parametrize(
    ("mechanism", "line", "sentence"),
    [
        ("PLAIN", None, "is required"),
        ("PLAIN", SCRAM, "needs the login module PlainLoginModule"),
        ("SCRAM-SHA-256", PLAIN, "needs the login module ScramLoginModule"),
        ("PLAIN", f'{MODULES}.plain.PlainLoginModule required user_node="secret";', "the username and the password"),
        ("PLAIN", "secret", "it must be one login module"),
        ("GSSAPI", SCRAM, "needs the login module Krb5LoginModule"),
        ("GSSAPI", KERBEROS, "sasl.kerberos.service.name is required"),
        ("GSSAPI", f'{KERBEROS[:-1]} serviceName="kafka" ccache="x";', "cannot be given ccache"),
        ("OAUTHBEARER", SCRAM, "needs the login module OAuthBearerLoginModule"),
        ("OAUTHBEARER", TOKEN, "token.endpoint.url is required"),
        ("SCRAM-SHA-1", SCRAM, "cannot log in at each other by SCRAM-SHA-1"),
    ],
)
def test_logins_that_are_none(mechanism: str, line: str | None, sentence: str) -> None:
    setting = f"listener.name.controller.{mechanism.lower()}.sasl.jaas.config"
    with pytest.raises(ConfigError, match=sentence) as refusal:
        login(mechanism, "CONTROLLER", **({} if line is None else {setting: line}))
    assert '"secret"' not in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sasl.mechanism.controller.protocol": "GSSAPI"}, r"controller\.protocol \(GSSAPI\) must be one of"),
        (
            {
                "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
                "controller.quorum.voters": "1@127.0.0.1:9093,2@127.0.0.1:9094",
            },
            "where several controllers vote",
        ),
        (
            {
                "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
                "controller.quorum.voters": "",
                "controller.quorum.bootstrap.servers": "127.0.0.1:9093,127.0.0.1:9094",
            },
            "where several controllers vote",
        ),
    ],
)
def test_mechanisms_controllers_cannot_use(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        BrokerConfig.parse({**COMBINED, **settings})
    one_voter = {"sasl.mechanism.controller.protocol": "SCRAM-SHA-256"}
    assert BrokerConfig.parse({**COMBINED, **one_voter}).sasl_mechanism_controller_protocol == "SCRAM-SHA-256"
