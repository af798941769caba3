"""Logins on encrypted listeners: the certificate shows the node, the login the user, whatever certificate he has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from node_process import StartNode
from secured_node import SecuredNode, sasl_settings
from tls_node import Pki

from moldau import KafkaProducer, errors

pytestmark = pytest.mark.ours_only("users are made with our command")


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


@pytest.fixture
def node(start_node: StartNode, pki: Pki) -> SecuredNode:
    settings = sasl_settings(
        **{
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": pki.store(pki.node),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": pki.ca,
        }
    )
    node = SecuredNode(start_node, settings)
    node.add_user("jan", "secret")
    return node


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_our_clients_and_librdkafka(node: SecuredNode, pki: Pki, topic: str, mechanism: str) -> None:
    import confluent_kafka

    ours = {
        "bootstrap_servers": node.bootstrap,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": pki.ca,
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "jan",
    }
    with KafkaProducer(**ours, sasl_plain_password="secret") as producer:
        producer.send(topic, b"x" * 200_000).get(30)
    with pytest.raises(errors.SaslAuthenticationFailedError):
        KafkaProducer(**ours, sasl_plain_password="wrong")
    outcome: list[Any] = []
    theirs = confluent_kafka.Producer(
        {
            "bootstrap.servers": node.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": pki.ca,
            "sasl.mechanism": mechanism,
            "sasl.username": "jan",
            "sasl.password": "secret",
        }
    )
    theirs.produce(topic, b"y" * 200_000, on_delivery=lambda error, _: outcome.append(error))
    assert theirs.flush(30) == 0
    assert outcome == [None]
