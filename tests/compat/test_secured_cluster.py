"""`moldau cluster start --secure`: one command makes a cluster that lets in nobody it does not know."""

from __future__ import annotations

import os
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cluster_command import Started, begun, node_pids
from confluent_kafka import Consumer, KafkaException, Producer
from kafka import KafkaConsumer as TheirConsumer
from kafka import KafkaProducer as TheirProducer
from patience import PATIENCE

from moldau import KafkaAdminClient, KafkaProducer
from moldau.admin import NewTopic
from moldau.client.properties import security_options
from moldau.config.properties import decode_properties
from moldau.errors import KafkaError, MoldauError
from moldau.supervision.layout import read

pytestmark = pytest.mark.ours_only("it is our own command")

MOLDAU = str(Path(sys.executable).with_name("moldau"))


@dataclass
class Secured:
    command: Started
    data: Path

    @property
    def bootstrap(self) -> str:
        return self.command.bootstrap

    @property
    def security(self) -> Path:
        return self.data / "security"

    def properties(self, user: str) -> dict[str, str]:
        return decode_properties((self.security / f"{user}.properties").read_bytes())

    def password(self, user: str) -> str:
        return (self.security / f"{user}.password").read_text().strip()

    def ours(self, user: str) -> dict[str, Any]:
        return {"bootstrap_servers": self.bootstrap, **security_options(self.properties(user)).client()}

    def theirs(self, user: str) -> dict[str, Any]:
        """What kafka-python is told."""
        return {
            "bootstrap_servers": self.bootstrap.split(","),
            "security_protocol": "SASL_SSL",
            "ssl_cafile": str(self.security / "ca.pem"),
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": user,
            "sasl_plain_password": self.password(user),
        }

    def confluent(self, user: str, password: str | None = None) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.security / "ca.pem"),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": self.password(user) if password is None else password,
        }

    def moldau(self, *words: str, user: str = "admin", status: int = 0, given: str = "") -> str:
        """What it printed, or what it complained about if it was to fail."""
        done = subprocess.run(
            [MOLDAU, *words, "--config", str(self.security / f"{user}.properties")],
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == status, done.stderr
        return done.stderr if status else done.stdout


def started(commands: list[Started], data: Path, *more: str) -> Secured:
    words = ("cluster", "start", "--data", str(data), "--set", "offsets.topic.num.partitions=2", *more)
    commands.append(Started(*words))
    return Secured(commands[-1], data)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with begun() as commands:
        yield started(commands, tmp_path_factory.mktemp("secured") / "c", "--secure", "--nodes", "3", "--port", "0")


def test_every_client_comes_in_and_nobody_else(cluster: Secured) -> None:
    with KafkaAdminClient(**cluster.ours("admin")) as admin:
        admin.create_topics([NewTopic("rivers", 1, 3)])
    ours = KafkaProducer(**cluster.ours("admin"), acks="all")
    ours.send("rivers", b"moldau").get(PATIENCE)
    ours.close()
    theirs = TheirProducer(**cluster.theirs("admin"))
    theirs.send("rivers", b"elbe").get(PATIENCE)
    theirs.close()
    producer = Producer(cluster.confluent("admin"))
    producer.produce("rivers", b"eger")
    assert producer.flush(PATIENCE) == 0
    expected = [b"moldau", b"elbe", b"eger"]
    consumer = Consumer(cluster.confluent("admin") | {"group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["rivers"])
    assert [message.value() for message in consumer.consume(3, PATIENCE)] == expected
    consumer.close()
    reader = TheirConsumer("rivers", **cluster.theirs("admin"), auto_offset_reset="earliest", group_id="others")
    assert [next(reader).value for _ in expected] == expected
    reader.close()
    assert cluster.moldau("consume", "rivers", "--format", "{value}").split() == ["moldau", "elbe", "eger"]

    with pytest.raises(KafkaException):
        Producer(cluster.confluent("admin", "guessed")).list_topics(timeout=5)
    with pytest.raises(MoldauError):
        KafkaProducer(bootstrap_servers=cluster.bootstrap, max_block_ms=1000).send("rivers", b"x")


def test_a_guest_may_do_what_a_rule_says(cluster: Secured) -> None:
    with KafkaAdminClient(**cluster.ours("admin")) as admin:
        admin.create_topics([NewTopic("streams", 1, 3)])
    told = cluster.moldau("produce", "streams", user="alice", given="no\n", status=1)
    assert "Not authorized for these topics" in told
    cluster.moldau("acls", "add", "--user", "alice", "--producer", "--topic", "streams")
    cluster.moldau("produce", "streams", user="alice", given="yes\n")
    cluster.moldau("consume", "streams", user="alice", status=1)
    assert cluster.moldau("consume", "streams") == "yes\n"
    with KafkaAdminClient(**cluster.ours("alice")) as guest, pytest.raises(KafkaError):
        guest.create_topics([NewTopic("more", 1, 1)])


def test_nodes_meet_with_certificates_of_this_authority_only(cluster: Secured) -> None:
    layout = read(cluster.data)
    assert layout is not None
    port = layout.places[0].controller_port
    assert port is not None
    context = ssl.create_default_context(cafile=str(cluster.security / "ca.pem"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        said_to(port, context)
    context.load_cert_chain(cluster.security / "node-2.pem")
    assert said_to(port, context)[4:] == bytes.fromhex("00000007")


def said_to(port: int, context: ssl.SSLContext) -> bytes:
    """The begin of an answer. With TLS 1.3 only reading it shows that a certificate was missing."""
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as node,
    ):
        node.sendall(bytes.fromhex("0000000f 0012 0000 00000007 0005") + b"named")
        answer = node.recv(8)
        if not answer:
            raise ConnectionError("closed")
        return answer


def test_what_is_secret_is_read_by_its_owner_only(cluster: Secured) -> None:
    secrets = [cluster.password(user) for user in ("admin", "alice", "node")]
    assert len({*secrets}) == 3
    assert stat.S_IMODE(cluster.security.stat().st_mode) == 0o700
    private = [path for path in cluster.security.iterdir() if path.name != "ca.pem"]
    private += cluster.data.glob("node-*/server.properties")
    assert len(private) == 14
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}
    for pid in node_pids(cluster.data):
        command = Path(f"/proc/{pid}/cmdline").read_text() + Path(f"/proc/{pid}/environ").read_text()
        assert not any(secret in command for secret in secrets)
    for log in cluster.data.glob("node-*/node.log"):
        assert not any(secret in log.read_text() for secret in secrets)


def test_it_comes_back_as_it_was_and_grows(tmp_path: Path) -> None:
    data = tmp_path / "a place with blänks"
    profiles = tmp_path / "home"
    environment = {**os.environ, "XDG_CONFIG_HOME": str(profiles)}
    with begun() as commands, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(profiles))
        first = started(commands, data, "--secure", "--nodes", "1", "--port", "0", "--profile", "trial")
        password = first.password("admin")
        first.moldau("produce", "rivers", given="moldau\n")
        with_name = [MOLDAU, "topics", "list", "--profile", "trial"]
        done = subprocess.run(with_name, capture_output=True, text=True, timeout=PATIENCE, env=environment)
        assert "rivers" in done.stdout, done.stderr
        status, said, told = first.command.end()
        assert (status, said) == (0, "")
        # What it told works as it stands there, and says nothing that nobody else may read.
        assert password not in told
        again = started(commands, data, "--nodes", "2", "--profile", "trial")
        assert again.password("admin") == password
        assert again.bootstrap.startswith(f"{first.bootstrap},")
        assert again.properties("admin")["bootstrap.servers"] == again.bootstrap
        lines = [line.strip() for line in told.partition("try:\n")[2].splitlines()]
        assert len(lines) == 4
        again.moldau("topics", "delete", "rivers")
        for line in lines:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", line],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                env={**environment, "PATH": f"{Path(MOLDAU).parent}:/usr/bin:/bin", "MOLDAU_NEW_PASSWORD": "of bob"},
            )
            assert done.returncode == 0, (line, done.stderr)
        assert again.moldau("consume", "rivers", "--format", "{value}") == "vltava\n"
        # The node that came later, and does not vote, is as good as the first.
        again.moldau("topics", "create", "both", "--replication-factor", "2")
        again.moldau("produce", "both", given="labe\n")
        assert again.moldau("consume", "both") == "labe\n"


def refused(*words: str) -> str:
    done = subprocess.run([MOLDAU, *words], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode in (1, 2), done.stdout) == (True, "")
    return done.stderr


def test_what_was_open_does_not_become_secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    data = str(tmp_path / "c")
    with begun() as commands:
        commands.append(Started("cluster", "start", "--nodes", "1", "--port", "0", "--data", data))
        assert commands[0].end() == (0, "", "")
    assert "holds a cluster that is not secured" in refused("cluster", "start", "--data", data, "--secure")
    assert "--profile is for a cluster" in refused("cluster", "start", "--data", data, "--profile", "x")
    new = ("cluster", "start", "--data", str(tmp_path / "new"), "--port", "0", "--secure", "--profile")
    (tmp_path / "moldau").mkdir()
    (tmp_path / "moldau" / "mine.properties").write_text("")
    assert "There is another profile mine in $XDG_CONFIG_HOME/moldau" in refused(*new, "mine")
    assert "takes a name" in refused(*new, "../mine")
    open_one = tmp_path / "open"
    assert "--profile is for a cluster" in refused("cluster", "start", "--data", str(open_one), "--profile", "x")
    # Nothing of it is there that would decide what the next start makes.
    made = [path.name for place in (tmp_path / "new", open_one) for path in place.iterdir()]
    assert [name for name in made if not name.startswith(".") and not name.endswith("lock")] == []
