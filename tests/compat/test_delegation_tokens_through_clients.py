"""Delegation tokens from asking for one to its end, with our clients and the command."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from node_process import MOLDAU, StartNode
from secured_node import SCRAM, SecuredNode, kafka_python, sasl_settings

from moldau import KafkaProducer, errors

pytestmark = pytest.mark.ours_only("tokens are made with our command")


class Desk:
    """The command as a user who has logged in."""

    def __init__(self, start_node: StartNode, directory: Path, **settings: str) -> None:
        secret = {"delegation.token.secret.key": "of-the-cluster", **settings}
        self.node = SecuredNode(start_node, sasl_settings(**secret))
        self._directory = directory
        for name in ("jan", "eva"):
            self.node.add_user(name, "secret")
            self.file(name, f'username="{name}" password="secret"')

    def file(self, name: str, login: str) -> Path:
        path = self._directory / f"{name}.properties"
        path.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
            f"sasl.jaas.config={SCRAM.removesuffix(';')} {login};\n"
        )
        return path

    def run(self, who: str, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        config = str(self._directory / f"{who}.properties")
        return subprocess.run(
            [str(MOLDAU), *words, "--json", "--bootstrap", self.node.bootstrap, "--config", config],
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def tokens(self, who: str, *words: str, given: str = "") -> Any:
        done = self.run(who, "tokens", *words, given=given)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def desk(start_node: StartNode, tmp_path: Path) -> Desk:
    return Desk(start_node, tmp_path)


def producer(desk: Desk, token: Any, mechanism: str = "SCRAM-SHA-512") -> KafkaProducer:
    settings = kafka_python(desk.node.bootstrap, mechanism, token["id"], token["hmac"])
    return KafkaProducer(**settings, sasl_by_token=True)


def test_from_asking_to_the_end(desk: Desk, topic: str) -> None:
    token = desk.tokens("jan", "create", "--renewer", "eva")
    assert (token["owner"], token["requester"], token["renewers"]) == ("User:jan", "User:jan", ["User:eva"])
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512", "SCRAM-SHA-512"):
        with producer(desk, token, mechanism) as one:
            one.send(topic, b"by token").get(30)
    # Its holder is its owner, but gets no further tokens.
    desk.file("holder", f'username="{token["id"]}" password="{token["hmac"]}" tokenauth="true"')
    assert desk.run("holder", "topics", "list").returncode == 0
    refused = desk.run("holder", "tokens", "create")
    assert refused.returncode == 1
    assert "token" in refused.stderr
    assert [one["id"] for one in desk.tokens("eva", "list")] == [token["id"]]
    renewed = desk.tokens("eva", "renew", token["id"], "--period", "1h")
    assert renewed["expiry_ms"] < token["expiry_ms"]
    desk.tokens("jan", "expire", "--hmac-file", "-", given=token["hmac"] + "\n")
    assert desk.tokens("jan", "list") == []
    with pytest.raises(errors.SaslAuthenticationFailedError):
        producer(desk, token)


def test_a_wrong_hmac_and_a_token_as_a_user(desk: Desk) -> None:
    token = desk.tokens("jan", "create")
    with pytest.raises(errors.SaslAuthenticationFailedError):
        producer(desk, {**token, "hmac": "wrong"})
    with pytest.raises(errors.SaslAuthenticationFailedError):
        KafkaProducer(**kafka_python(desk.node.bootstrap, "SCRAM-SHA-256", token["id"], token["hmac"]))


def test_a_login_ends_with_its_token(desk: Desk, topic: str) -> None:
    token = desk.tokens("jan", "create", "--lifetime", "3s")
    with producer(desk, token) as one:
        one.send(topic, b"in time").get(30)
        while time.time() * 1000 <= token["expiry_ms"]:
            time.sleep(0.1)
        # Its session has ended, and it cannot log in again.
        with pytest.raises(errors.KafkaError):
            one.send(topic, b"too late").get(30)
    with pytest.raises(errors.SaslAuthenticationFailedError):
        producer(desk, token)
