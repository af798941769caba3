"""Real clients log in: every mechanism, right and wrong, several on one listener, and who leaves while connected."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logins import CLIENTS, GIVE_UP_SECONDS, MECHANISMS, by_ours, client_of
from node_process import MOLDAU, NodeProcess
from secured_node import SecuredNode, kafka_python, sasl_settings

from moldau import KafkaConsumer, KafkaProducer, errors

pytestmark = pytest.mark.ours_only("users are made with our command")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    started: list[NodeProcess] = []

    def start(settings: Any) -> NodeProcess:
        started.append(NodeProcess(tmp_path_factory.mktemp("secured") / "data", settings))
        return started[0]

    node = SecuredNode(start, sasl_settings())
    node.add_user("jan", "secret")
    yield node
    node.process.kill()


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_right_and_wrong_passwords(node: SecuredNode, client: str, mechanism: str, topic: str) -> None:
    log_in = client_of(client)
    assert log_in(node.bootstrap, mechanism, "jan", "secret", topic)
    assert not log_in(node.bootstrap, mechanism, "jan", "wrong", topic)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_strangers_are_told_what_wrong_passwords_are_told(node: SecuredNode, mechanism: str) -> None:
    said = []
    for user, password in (("jan", "wrong"), ("stranger", "secret")):
        with pytest.raises(errors.SaslAuthenticationFailedError) as refusal:
            KafkaProducer(**kafka_python(node.bootstrap, mechanism, user, password))
        said.append(str(refusal.value))
    assert said[0] == said[1]


def test_a_mechanism_the_listener_does_not_offer(start_node: Any) -> None:
    node = SecuredNode(start_node, sasl_settings("PLAIN"))
    with pytest.raises(errors.UnsupportedSaslMechanismError, match="the broker offers PLAIN"):
        KafkaProducer(**kafka_python(node.bootstrap, "SCRAM-SHA-256", "jan", "secret"))


def test_a_user_who_is_removed_stays_connected_and_does_not_come_back(node: SecuredNode, topic: str) -> None:
    node.add_user("short", "lived", "--mechanism", "SCRAM-SHA-256")
    settings = kafka_python(node.bootstrap, "SCRAM-SHA-256", "short", "lived")
    with KafkaProducer(**settings) as producer:
        producer.send(topic, b"before").get(GIVE_UP_SECONDS)
        assert node.users("remove", "short").returncode == 0
        assert producer.send(topic, b"after").get(GIVE_UP_SECONDS).offset == 1
    with pytest.raises(errors.SaslAuthenticationFailedError):
        KafkaProducer(**settings)


def test_a_new_password_takes_the_place_of_the_old(node: SecuredNode, topic: str) -> None:
    node.add_user("changing", "first")
    assert by_ours(node.bootstrap, "SCRAM-SHA-512", "changing", "first", topic)
    node.add_user("changing", "second")
    assert not by_ours(node.bootstrap, "SCRAM-SHA-512", "changing", "first", topic)
    assert by_ours(node.bootstrap, "SCRAM-SHA-512", "changing", "second", topic)


def test_users_outlive_a_restart(start_node: Any, topic: str) -> None:
    node = SecuredNode(start_node, {**sasl_settings(), "metadata.log.max.record.bytes.between.snapshots": "1"})
    node.add_user("jan", "secret")
    settings = node.process.settings
    assert node.process.stop()[0] == 0
    again = NodeProcess(node.process.data, settings)
    try:
        assert by_ours(again.bootstrap.split(",")[1], "SCRAM-SHA-256", "jan", "secret", topic)
    finally:
        again.kill()


def test_consumers_in_groups(node: SecuredNode, topic: str) -> None:
    settings = kafka_python(node.bootstrap, "SCRAM-SHA-512", "jan", "secret")
    with KafkaProducer(**settings) as producer:
        producer.send(topic, b"record").get(GIVE_UP_SECONDS)
    with KafkaConsumer(topic, **settings, group_id=topic, auto_offset_reset="earliest") as consumer:
        assert next(consumer).value == b"record"


# ---------------------------------------------------------------------------------------------------------- the command


def test_the_command(node: SecuredNode, tmp_path: Path) -> None:
    node.add_user("command", "first", "--mechanism", "SCRAM-SHA-256", "--iterations", "8192")
    shown = node.users("describe", "command", "--json")
    assert shown.stdout == '[{"user": "command", "mechanism": "SCRAM-SHA-256", "iterations": 8192}]\n' or (
        '"iterations": 8192' in shown.stdout
    )
    assert "command" in node.users("list").stdout
    secret = tmp_path / "secret"
    secret.write_text("second\n")
    assert node.users("add", "command", "--new-password-file", str(secret)).returncode == 0
    assert node.users("describe", "command").stdout.count("SCRAM-SHA") == 2
    assert node.users("remove", "command", "--mechanism", "SCRAM-SHA-256").returncode == 0
    assert node.users("remove", "command").stdout == "command may no longer log in by SCRAM-SHA-512.\n"
    missing = node.users("remove", "command")
    assert (missing.returncode, missing.stderr) == (1, "moldau: There is no user command.\n")
    assert node.users("describe", "command").returncode == 1
    no_password = node.users("add", "command")
    assert no_password.returncode == 2
    assert "no terminal to ask" in no_password.stderr
    assert node.users("add", "command", "--new-password-file", "-", given="\n").returncode == 2


def test_secrets_are_not_told(node: SecuredNode) -> None:
    by_ours(node.bootstrap, "PLAIN", "jan", "a-wrong-secret", "secrets")
    log = node.process.log.read_text()
    assert "did not log in by PLAIN" in log
    assert not any(secret in log for secret in ("a-wrong-secret", 'user_jan="secret"', "other"))


def test_passwords_of_plain_change_while_the_node_runs(start_node: Any, topic: str) -> None:
    node = SecuredNode(start_node, sasl_settings(**{"password.encoder.secret": "of this broker"}))
    setting = "listener.name.sasl.plain.sasl.jaas.config"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"

    def set_to(line: str) -> subprocess.CompletedProcess[str]:
        command = [str(MOLDAU), "configs", "set", "--broker", "1", "--value-file", f"{setting}=-", "-b", node.open]
        return subprocess.run(command, input=line, capture_output=True, text=True, timeout=60)

    refused = set_to(f'{module} user_jan="half a line')
    assert refused.returncode == 1
    assert "half a line" not in refused.stderr
    assert by_ours(node.bootstrap, "PLAIN", "jan", "secret", topic)
    done = set_to(f'{module} user_jan="changed";')
    assert (done.returncode, done.stdout) == (0, f"Broker '1': {setting} = [hidden]\n")
    assert by_ours(node.bootstrap, "PLAIN", "jan", "changed", topic)
    assert not by_ours(node.bootstrap, "PLAIN", "jan", "secret", topic)
    assert "changed" not in node.process.log.read_text()
    stored = list((node.process.data / "__cluster_metadata-0").iterdir())
    assert not [file for file in stored if file.is_file() and b'user_jan="changed"' in file.read_bytes()]
