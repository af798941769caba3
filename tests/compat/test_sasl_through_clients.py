"""Real clients log in: every mechanism, right and wrong, several on one listener, and who leaves while connected."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from node_process import MOLDAU, NodeProcess
from secured_node import SecuredNode, confluent, kafka_python, sasl_settings

from moldau import KafkaConsumer, KafkaProducer, errors
from moldau.aio import AIOKafkaProducer

pytestmark = pytest.mark.ours_only("users are made with our command")

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
# Long enough for a client that logs in at once, short enough for one that never will.
_GIVE_UP_SECONDS = 8

# (bootstrap, mechanism, user, password, topic): raises or returns False if it is not let in.
LogIn = Callable[[str, str, str, str, str], bool]


def by_ours(bootstrap: str, mechanism: str, user: str, password: str, topic: str) -> bool:
    try:
        with KafkaProducer(**kafka_python(bootstrap, mechanism, user, password)) as producer:
            producer.send(topic, b"ours").get(_GIVE_UP_SECONDS)
    except errors.SaslAuthenticationFailedError:
        return False
    return True


def by_ours_aio(bootstrap: str, mechanism: str, user: str, password: str, topic: str) -> bool:
    async def send() -> bool:
        producer = AIOKafkaProducer(**kafka_python(bootstrap, mechanism, user, password))
        try:
            await producer.start()
            await producer.send_and_wait(topic, b"ours, too")
        except (errors.SaslAuthenticationFailedError, errors.KafkaConnectionError):
            return False
        finally:
            await producer.stop()
        return True

    return asyncio.run(send())


def by_kafka_python(bootstrap: str, mechanism: str, user: str, password: str, topic: str) -> bool:
    import kafka
    from kafka.errors import KafkaError

    settings = kafka_python(bootstrap, mechanism, user, password)
    try:
        producer = kafka.KafkaProducer(**settings, bootstrap_timeout_ms=2000)
    except KafkaError:
        return False
    producer.send(topic, b"kafka-python").get(_GIVE_UP_SECONDS)
    producer.close()
    return True


def by_aiokafka(bootstrap: str, mechanism: str, user: str, password: str, topic: str) -> bool:
    import aiokafka
    from aiokafka.errors import KafkaError

    async def send() -> bool:
        producer = aiokafka.AIOKafkaProducer(**kafka_python(bootstrap, mechanism, user, password))
        try:
            await producer.start()
            await producer.send_and_wait(topic, b"aiokafka")
        except KafkaError:
            return False
        finally:
            await producer.stop()
        return True

    return asyncio.run(send())


def by_confluent(bootstrap: str, mechanism: str, user: str, password: str, topic: str) -> bool:
    import confluent_kafka

    refused: list[Any] = []

    def heard(error: Any) -> None:
        if error.name() == "_AUTHENTICATION":
            refused.append(error)

    settings = confluent(bootstrap, mechanism, user, password)
    producer = confluent_kafka.Producer({**settings, "error_cb": heard, "log_level": 0})
    outcome: list[Any] = []
    producer.produce(topic, b"librdkafka", on_delivery=lambda error, _: outcome.append(error))
    for _ in range(_GIVE_UP_SECONDS * 10):
        producer.poll(0.1)
        if outcome or refused:
            break
    producer.purge()
    return outcome == [None]


def by_kcat(bootstrap: str, mechanism: str, user: str, password: str, topic: str) -> bool:
    options = [
        word
        for name, value in confluent(bootstrap, mechanism, user, password).items()
        if name != "bootstrap.servers"
        for word in ("-X", f"{name}={value}")
    ]
    done = subprocess.run(
        ["kcat", "-b", bootstrap, "-P", "-t", topic, "-X", "message.timeout.ms=4000", *options],
        input=b"kcat\n",
        capture_output=True,
        timeout=60,
    )
    return done.returncode == 0


CLIENTS = {
    "ours": by_ours,
    "ours-aio": by_ours_aio,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
    "confluent-kafka": by_confluent,
    "kcat": by_kcat,
}


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


@pytest.fixture(params=CLIENTS)
def log_in(request: pytest.FixtureRequest) -> LogIn:
    if request.param == "kcat" and shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    return CLIENTS[request.param]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_right_and_wrong_passwords(node: SecuredNode, log_in: LogIn, mechanism: str, topic: str) -> None:
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
        producer.send(topic, b"before").get(_GIVE_UP_SECONDS)
        assert node.users("remove", "short").returncode == 0
        assert producer.send(topic, b"after").get(_GIVE_UP_SECONDS).offset == 1
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
        producer.send(topic, b"record").get(_GIVE_UP_SECONDS)
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
    node = SecuredNode(start_node, sasl_settings())
    setting = "listener.name.sasl.plain.sasl.jaas.config"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"

    def set_to(line: str) -> subprocess.CompletedProcess[str]:
        command = [str(MOLDAU), "configs", "set", "--broker", "1", f"{setting}={line}", "--bootstrap", node.open]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    refused = set_to(f'{module} user_jan="half a line')
    assert refused.returncode == 1
    assert "half a line" not in refused.stderr
    assert by_ours(node.bootstrap, "PLAIN", "jan", "secret", topic)
    assert set_to(f'{module} user_jan="changed";').returncode == 0
    assert by_ours(node.bootstrap, "PLAIN", "jan", "changed", topic)
    assert not by_ours(node.bootstrap, "PLAIN", "jan", "secret", topic)
    assert "changed" not in node.process.log.read_text()
