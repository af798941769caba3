"""Logins on encrypted listeners: the certificate shows the node, the login the user, whatever certificate he has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from logins import CLIENTS, MECHANISMS, client_of
from node_process import NodeProcess
from secured_node import SecuredNode, kafka_python, sasl_settings
from tls_node import Pki

from moldau import KafkaProducer

pytestmark = pytest.mark.ours_only("users are made with our command")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[SecuredNode]:
    settings = sasl_settings(
        **{
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": pki.store(pki.node),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": pki.ca,
        }
    )
    started: list[NodeProcess] = []

    def start(settings: Any) -> NodeProcess:
        started.append(NodeProcess(tmp_path_factory.mktemp("secured") / "data", settings))
        return started[0]

    node = SecuredNode(start, settings)
    node.add_user("jan", "secret")
    yield node
    node.process.kill()


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_right_and_wrong_passwords(node: SecuredNode, pki: Pki, client: str, mechanism: str, topic: str) -> None:
    log_in = client_of(client)
    assert log_in(node.bootstrap, mechanism, "jan", "secret", topic, pki.ca)
    assert not log_in(node.bootstrap, mechanism, "jan", "wrong", topic, pki.ca)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_records_larger_than_a_frame_of_strangers(node: SecuredNode, pki: Pki, mechanism: str, topic: str) -> None:
    with KafkaProducer(**kafka_python(node.bootstrap, mechanism, "jan", "secret", pki.ca)) as producer:
        producer.send(topic, bytes(900_000)).get(30)
