"""Settings that change while a node runs and only refer to a value: `${file:PATH:NAME}` is what the cluster keeps, and
the node takes the value from its own machine, by the providers that its file names."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import MOLDAU
from secured_node import kafka_python, sasl_settings

from moldau import KafkaAdminClient, errors
from moldau.supervision.process import NodeProcess

pytestmark = pytest.mark.ours_only("a file of our node is written")

JAAS = "listener.name.sasl.plain.sasl.jaas.config"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class Place:
    def __init__(self, directory: Path) -> None:
        self.secrets = directory / "secrets.properties"
        self.write(jaas=f'{MODULE} user_jan="from-a-file";', retention="4711")
        server = directory / "server.properties"
        server.write_text(f"config.providers=file\nconfig.providers.file.param.allowed.paths={directory}\n")
        settings = {"node.id": "1", **sasl_settings()}
        self.node = NodeProcess(1, directory / "node", settings, properties=server)
        self.start()

    def write(self, **values: str) -> None:
        self.secrets.write_text("".join(f"{name}={value}\n" for name, value in values.items()))

    def start(self) -> None:
        self.node.begin()
        self.node.wait_ready()
        self.open, self.secured = self.node.addresses

    def reference(self, name: str) -> str:
        return f"${{file:{self.secrets}:{name}}}"

    def set(self, *changes: str) -> tuple[int, str]:
        command = [str(MOLDAU), "configs", "set", "--broker", "1", *changes, "--bootstrap", self.open]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def lets_in(self, password: str) -> bool:
        try:
            KafkaAdminClient(**kafka_python(self.secured, "PLAIN", "jan", password)).close()
        except errors.AuthenticationFailedError:
            return False
        return True

    def kept(self) -> bytes:
        directory = self.node.data / "__cluster_metadata-0"
        return b"".join(file.read_bytes() for file in directory.iterdir() if file.is_file())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.node.kill()


def test_a_secret_stays_where_it_is(place: Place) -> None:
    assert place.lets_in("secret")
    # No password.encoder.secret is needed, because no secret is kept.
    status, said = place.set(f"{JAAS}={place.reference('jaas')}")
    assert status == 0, said
    assert place.lets_in("from-a-file")
    assert not place.lets_in("secret")
    assert place.reference("jaas").encode() in place.kept()
    assert b"from-a-file" not in place.kept()
    place.node.stop()
    place.start()
    assert place.lets_in("from-a-file")
    assert "from-a-file" not in place.node.log.read_text()


def test_what_is_not_there_is_refused(place: Place, tmp_path: Path) -> None:
    status, said = place.set(f"{JAAS}={place.reference('nothing')}")
    assert (status, "there is no such property" in said) == (1, True), said
    status, said = place.set(f"{JAAS}=${{file:/etc/hostname:jaas}}")
    assert (status, "is not below what allowed.paths says" in said) == (1, True), said
    status, said = place.set(f"{JAAS}=${{vault:secrets:jaas}}")
    assert (status, "it must be one login module" in said) == (1, True), said
    assert place.lets_in("secret")


def test_numbers_are_referred_to_as_well(place: Place) -> None:
    status, said = place.set(f"log.retention.ms={place.reference('retention')}")
    assert status == 0, said
    command = [str(MOLDAU), "configs", "describe", "--broker", "1", "log.retention.ms", "-b", place.open]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "4711" in shown.stdout, shown.stderr
    assert place.reference("retention").encode() in place.kept()
    status, said = place.set(f"log.segment.bytes={place.reference('jaas')}")
    assert (status, f"is not allowed to be what {place.reference('jaas')} leads to" in said) == (1, True), said
    assert "from-a-file" not in said


def test_what_has_gone_since_keeps_no_node_from_starting(place: Place) -> None:
    assert place.set(f"{JAAS}={place.reference('jaas')}", f"log.retention.ms={place.reference('retention')}")[0] == 0
    place.node.stop()
    place.write(retention="4711")
    place.start()
    assert place.lets_in("secret")
    assert f"{JAAS} is not taken over" in place.node.log.read_text()
