"""Java's clients log in: every mechanism, right and wrong, with tokens, and again in the middle of their work.

Needs Java and Kafka's jars: `make compat-java`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from java_tools import KafkaTools, find_libs
from node_process import MOLDAU, NodeProcess
from secured_node import MODULES, SecuredNode, sasl_settings
from tls_node import Pki

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.ours_only("users are made with our command"),
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
]

SESSION_MS = 3000


@pytest.fixture(scope="module")
def tools() -> KafkaTools:
    assert isinstance(_libs, Path)
    return KafkaTools(_libs)


@pytest.fixture(scope="module", params=["SASL_PLAINTEXT", "SASL_SSL"])
def protocol(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, protocol: str, pki: Pki) -> Iterator[SecuredNode]:
    started: list[NodeProcess] = []

    def start(settings: dict[str, str]) -> NodeProcess:
        started.append(NodeProcess(tmp_path_factory.mktemp("java") / "data", settings))
        return started[0]

    unsigned = f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredValidatorPrincipalClaimName="sub";'
    settings = sasl_settings(
        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        **{
            "connections.max.reauth.ms": str(SESSION_MS),
            "delegation.token.secret.key": "secret",
            "listener.name.sasl.oauthbearer.sasl.jaas.config": unsigned,
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,SASL:{protocol}",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": pki.store(pki.node),
        },
    )
    node = SecuredNode(start, settings)
    node.add_user("jan", "secret")
    yield node
    node.process.kill()


Config = Callable[[str, str], str]


@pytest.fixture
def config(tmp_path: Path, protocol: str, pki: Pki) -> Config:
    """Writes what a client is told of a mechanism and its login."""

    def write(mechanism: str, login: str) -> str:
        path = tmp_path / f"client-{len(list(tmp_path.iterdir()))}.properties"
        trusted = f"ssl.truststore.type=PEM\nssl.truststore.location={pki.ca}\n" if protocol == "SASL_SSL" else ""
        path.write_text(
            f"security.protocol={protocol}\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n{trusted}"
        )
        return str(path)

    return write


def login_of(mechanism: str, password: str) -> str:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f'{MODULES}.{module} required username="jan" password="{password}";'


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_right_and_wrong_passwords(tools: KafkaTools, node: SecuredNode, config: Config, mechanism: str) -> None:
    words = ("--bootstrap-server", node.bootstrap, "--list", "--command-config")
    tools.run("TopicCommand", *words, config(mechanism, login_of(mechanism, "secret")))
    wrong = config(mechanism, login_of(mechanism, "wrong"))
    status, said = tools.java("org.apache.kafka.tools.TopicCommand", *words, wrong)
    assert status != 0
    assert re.search("Authentication failed|SaslAuthenticationException", said)


def test_sessions_are_renewed_under_load(tools: KafkaTools, node: SecuredNode, config: Config, topic: str) -> None:
    """Ten seconds of records, 200 a second: no connection is closed for its session's end."""
    words = ("--topic", topic, "--num-records", "2000", "--record-size", "100", "--throughput", "200")
    client = config("SCRAM-SHA-512", login_of("SCRAM-SHA-512", "secret"))
    said = tools.run("ProducerPerformance", *words, "--bootstrap-server", node.bootstrap, "--command-config", client)
    assert "2000 records sent" in said
    assert "after the end of its session" not in node.process.log.read_text()


def test_users_by_kafkas_own_tool(tools: KafkaTools, node: SecuredNode) -> None:
    words = ("--bootstrap-server", node.open, "--entity-type", "users", "--entity-name", "java")
    tools.run("ConfigCommand", *words, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=of-java]")
    assert "iterations=8192" in tools.run("ConfigCommand", *words, "--describe")
    tools.run("ConfigCommand", *words, "--alter", "--delete-config", "SCRAM-SHA-256")
    assert node.users("describe", "java").returncode == 1


def test_delegation_tokens_by_kafkas_own_tool(tools: KafkaTools, node: SecuredNode, config: Config) -> None:
    client = config("SCRAM-SHA-256", login_of("SCRAM-SHA-256", "secret"))
    words = ("--bootstrap-server", node.bootstrap, "--command-config", client)
    said = tools.run("DelegationTokenCommand", *words, "--create", "--max-life-time-period", "-1")
    listed = subprocess.run(
        [str(MOLDAU), "tokens", "list", "--json", "--bootstrap", node.bootstrap, "--config", client],
        capture_output=True,
        text=True,
        timeout=60,
    )
    (token,) = json.loads(listed.stdout)
    assert token["id"] in said
    (hmac,) = re.findall(r"[A-Za-z0-9+/]{86}==", said)
    by_token = config(
        "SCRAM-SHA-512",
        f'{MODULES}.scram.ScramLoginModule required username="{token["id"]}" password="{hmac}" tokenauth="true";',
    )
    tools.run("TopicCommand", "--bootstrap-server", node.bootstrap, "--list", "--command-config", by_token)
    tools.run("DelegationTokenCommand", *words, "--renew", "--renew-time-period", "-1", "--hmac", hmac)
    tools.run("DelegationTokenCommand", *words, "--expire", "--expiry-time-period", "-1", "--hmac", hmac)


def test_unsigned_tokens_of_javas_client(tools: KafkaTools, node: SecuredNode, config: Config) -> None:
    login = f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="jan";'
    client = config("OAUTHBEARER", login)
    tools.run("TopicCommand", "--bootstrap-server", node.bootstrap, "--list", "--command-config", client)
