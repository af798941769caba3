"""Tokens by the settings alone: nodes log in at each other with them, and commands and clients with `--config`."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import MOLDAU
from secured_node import MODULES
from secured_trio import PATIENCE, Trio

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer
from moldau.admin import NewTopic
from moldau.client.properties import security_options
from token_endpoint import TokenEndpoint
from token_issuer import Issuer

pytestmark = pytest.mark.ours_only("nodes of ours among themselves")

MODULE = f"{MODULES}.oauthbearer.OAuthBearerLoginModule required"
HANDLER = f"{MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler"
# So short that every connection has to be renewed with another token while the test looks on.
LIFE = 4


class Tenant:
    """An issuer, and nodes that take its tokens: brokers ask it for them, controllers find theirs in a file."""

    def __init__(self, directory: Path) -> None:
        self.issuer = Issuer()
        self.endpoint = TokenEndpoint(self.token, {"node": "of-nodes", "jan": "secret"})
        (directory / "keys.json").write_bytes(self.issuer.document())
        (directory / "token").write_text(self.token("node", seconds=600))
        self.nodes = Trio(
            directory,
            **{
                "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
                "sasl.mechanism.controller.protocol": "OAUTHBEARER",
                "listener.name.sasl.sasl.enabled.mechanisms": "OAUTHBEARER",
                "listener.name.controller.sasl.enabled.mechanisms": "OAUTHBEARER",
                "listener.name.sasl.oauthbearer.sasl.jaas.config": (
                    f'{MODULE} clientId="node" clientSecret="of-nodes" extension_trace="on";'
                ),
                "listener.name.controller.oauthbearer.sasl.jaas.config": f"{MODULE};",
                "listener.name.controller.sasl.oauthbearer.token.endpoint.url": f"file:{directory}/token",
                "sasl.oauthbearer.token.endpoint.url": self.endpoint.url,
                "sasl.oauthbearer.jwks.endpoint.url": f"file://{directory}/keys.json",
                "sasl.oauthbearer.expected.audience": "kafka",
                "sasl.oauthbearer.clock.skew.seconds": "0",
                "sasl.login.callback.handler.class": HANDLER,
            },
        )

    def token(self, name: str, seconds: float = LIFE) -> str:
        now = time.time()
        return self.issuer.token({"sub": name, "iat": int(now) - 1, "exp": now + seconds, "aud": "kafka"})

    def properties(self, **more: str) -> dict[str, str]:
        return {
            "bootstrap.servers": self.nodes.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": HANDLER,
            "sasl.jaas.config": f'{MODULE} clientId="jan" clientSecret="secret";',
            "sasl.oauthbearer.token.endpoint.url": self.endpoint.url,
            **more,
        }

    def close(self) -> None:
        self.nodes.close()
        self.endpoint.close()


@pytest.fixture(scope="module")
def tenant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    tenant = Tenant(tmp_path_factory.mktemp("tenant"))
    yield tenant
    tenant.close()


def test_records_are_replicated_while_tokens_end(tenant: Tenant) -> None:
    given = tenant.properties()
    settings = {"bootstrap_servers": tenant.nodes.bootstrap, **security_options(given).client()}
    with KafkaAdminClient(**settings) as admin:
        admin.create_topics([NewTopic("rivers", 3, 3)])
    sent = 0
    with KafkaProducer(**settings, acks="all") as producer:
        end = time.monotonic() + 2 * LIFE
        while time.monotonic() < end:
            producer.send("rivers", str(sent).encode(), partition=sent % 3).get(PATIENCE)
            sent += 1
            time.sleep(0.02)
    with KafkaConsumer("rivers", **settings, group_id="readers", auto_offset_reset="earliest") as consumer:
        assert {next(consumer).value for _ in range(sent)} == {str(number).encode() for number in range(sent)}
    with KafkaAdminClient(**settings) as admin:
        (topic,) = admin.describe_topics(["rivers"])
    assert all(len(partition["isr_nodes"]) == 3 for partition in topic["partitions"])
    names = [name for name, _ in tenant.endpoint.asked]
    # Again and again, but not for every connection.
    assert 6 <= names.count("node") <= 60
    log = tenant.nodes.tail()
    assert not any(word in log for word in ("Traceback", "of-nodes", "did not log in", "No token"))


def listed(directory: Path, properties: dict[str, str]) -> subprocess.CompletedProcess[str]:
    file = directory / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    words = [str(MOLDAU), "topics", "list", "--config", str(file), "--timeout", "5s"]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)


def test_commands_log_in_with_tokens(tenant: Tenant, tmp_path: Path) -> None:
    done = listed(tmp_path, tenant.properties())
    assert done.returncode == 0, done.stderr
    (tmp_path / "token").write_text(tenant.token("jan"))
    in_a_file = tenant.properties(
        **{"sasl.oauthbearer.token.endpoint.url": f"file://{tmp_path}/token", "sasl.jaas.config": f"{MODULE};"}
    )
    assert listed(tmp_path, in_a_file).returncode == 0
    as_librdkafka = {
        "bootstrap.servers": tenant.nodes.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "jan",
        "sasl.oauthbearer.client.secret": "secret",
        "sasl.oauthbearer.token.endpoint.url": tenant.endpoint.url,
    }
    assert listed(tmp_path, as_librdkafka).returncode == 0


def test_what_keeps_a_command_from_a_token_is_one_sentence(tenant: Tenant, tmp_path: Path) -> None:
    url = "sasl.oauthbearer.token.endpoint.url"
    (tmp_path / "stranger").write_text(Issuer().token({"sub": "jan", "iat": 0, "exp": time.time() + 60}))
    wrong = {
        "the answer was 401": {"sasl.jaas.config": f'{MODULE} clientId="jan" clientSecret="guess";'},
        "it cannot be read": {url: "file:/no/such/token"},
        "Connection refused": {url: "http://127.0.0.1:1/token"},
        "invalid_token": {url: f"file:{tmp_path}/stranger"},
    }
    for sentence, given in wrong.items():
        done = listed(tmp_path, tenant.properties(**given))
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert sentence in done.stderr
        assert "guess" not in done.stderr
