"""Apache Kafka's tools over TLS, with stores made by keytool on both sides, and the names in certificates as Java
writes them.

Needs Java and Kafka's jars: `make compat-java`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from java_tools import KafkaTools, find_libs
from node_process import NodeProcess

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
    pytest.mark.skipif(shutil.which("keytool") is None, reason="keytool, which comes with Java, is not installed"),
]
PASSWORD = "storepass"
DUKE = ("CN=Duke, OU=Service Users", "O=Charles\\, Sons & Co", "C=CZ")


class Stores:
    """Of the node (JKS) and of a client (PKCS12), each of which trusts the other."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._make("node", "JKS", "CN=node", "-ext", "san=dns:localhost,ip:127.0.0.1")
        self._make("client", "PKCS12", ", ".join(DUKE))
        for owner, other, kind in (("node", "client", "JKS"), ("client", "node", "PKCS12")):
            exported = str(directory / f"{other}.der")
            self._keytool("-exportcert", "-alias", other, "-keystore", self.path(other), "-file", exported)
            words = ("-importcert", "-noprompt", "-alias", other, "-file", exported, "-storetype", kind)
            self._keytool(*words, "-keystore", self.path(f"{owner}-trust"))

    def path(self, name: str) -> str:
        return str(self._directory / name)

    def settings(self, owner: str, kind: str) -> dict[str, str]:
        return {
            "ssl.keystore.type": kind,
            "ssl.keystore.location": self.path(owner),
            "ssl.keystore.password": PASSWORD,
            "ssl.truststore.type": kind,
            "ssl.truststore.location": self.path(f"{owner}-trust"),
            "ssl.truststore.password": PASSWORD,
        }

    def _make(self, name: str, kind: str, subject: str, *more: str) -> None:
        words = ("-genkeypair", "-alias", name, "-keyalg", "RSA", "-storetype", kind, "-keypass", PASSWORD)
        self._keytool(*words, "-keystore", self.path(name), "-dname", subject, "-validity", "100", *more)

    def _keytool(self, *words: str) -> None:
        done = subprocess.run(["keytool", *words, "-storepass", PASSWORD], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def tools() -> KafkaTools:
    assert isinstance(_libs, Path)
    return KafkaTools(_libs)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def node(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "inter.broker.listener.name": "SSL",
        "ssl.client.auth": "required",
        **stores.settings("node", "JKS"),
    }
    node = NodeProcess(tmp_path_factory.mktemp("secured") / "data", settings)
    yield node
    node.kill()


def written(path: Path, settings: dict[str, str]) -> str:
    everything = {"security.protocol": "SSL", **settings}
    path.write_text("".join(f"{name}={value}\n" for name, value in everything.items()))
    return str(path)


def test_tools_come_in_with_a_certificate_of_keytool(
    tools: KafkaTools, node: NodeProcess, stores: Stores, tmp_path: Path, topic: str
) -> None:
    config = written(tmp_path / "client.properties", stores.settings("client", "PKCS12"))
    at = ("--bootstrap-server", node.bootstrap)
    tools.run("TopicCommand", *at, "--command-config", config, "--create", "--topic", topic)
    assert topic in tools.run("TopicCommand", *at, "--command-config", config, "--list").splitlines()
    lines = "".join(f"line {number}\n" for number in range(100))
    tools.run("ConsoleProducer", *at, "--command-config", config, "--topic", topic, given=lines)
    read = ("--topic", topic, "--from-beginning", "--max-messages", "100", "--group", topic)
    assert lines in tools.run("ConsoleConsumer", *at, "--command-config", config, *read)


def test_tools_are_refused_without_one(
    tools: KafkaTools, node: NodeProcess, stores: Stores, tmp_path: Path, topic: str
) -> None:
    trust = {name: value for name, value in stores.settings("client", "PKCS12").items() if "truststore" in name}
    config = written(tmp_path / "client.properties", trust)
    said = tools.refused(
        "TopicCommand", "--bootstrap-server", node.bootstrap, "--command-config", config, "--create", "--topic", topic
    )
    assert "handshake" in said.lower()
    assert "certificate" in node.log_tail()


def test_a_store_is_changed_with_kafkas_own_command(
    tools: KafkaTools, node: NodeProcess, stores: Stores, tmp_path: Path
) -> None:
    config = written(tmp_path / "client.properties", stores.settings("client", "PKCS12"))
    at = ("--bootstrap-server", node.bootstrap, "--command-config", config)
    broker = ("--entity-type", "brokers", "--entity-name", "1", "--alter", "--add-config")
    name = "listener.name.ssl.ssl.keystore.location"
    tools.run("ConfigCommand", *at, *broker, f"{name}={stores.path('node')}")
    assert "cannot be secured" in tools.refused("ConfigCommand", *at, *broker, f"{name}={stores.path('node-trust')}")
