"""GSSAPI with a real Kerberos realm, and a client that was written by others: kcat with Cyrus SASL.

Needs Debian's krb5-kdc, krb5-admin-server, krb5-user, libsasl2-modules-gssapi-mit and python3-gssapi (or the package
gssapi from PyPI), installed or unpacked below MOLDAU_KERBEROS; see kerberos_realm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kerberos_realm import REALM, Realm, missing
from node_process import NodeProcess
from secured_node import SecuredNode, sasl_settings
from secured_trio import Trio

pytestmark = [pytest.mark.long, pytest.mark.ours_only("its realm is made for our own node")]

_MODULE = "com.sun.security.auth.module.Krb5LoginModule"


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    lacking = missing()
    if lacking is not None or shutil.which("kcat") is None:
        pytest.skip(lacking or "kcat is not installed")
    realm = Realm(tmp_path_factory.mktemp("realm"))
    found = subprocess.run(
        [sys.executable, "-c", "import gssapi"], env={**os.environ, **realm.environment}, capture_output=True
    )
    if found.returncode:
        realm.close()
        pytest.skip("the Python package gssapi is not installed")
    yield realm
    realm.close()


@pytest.fixture(scope="module")
def node(realm: Realm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    table = realm.add("kafka/127.0.0.1")
    login = f'{_MODULE} required useKeyTab=true storeKey=true keyTab="{table}" principal="kafka/127.0.0.1@{REALM}";'
    settings = sasl_settings(
        "GSSAPI,PLAIN",
        **{
            "listener.name.sasl.gssapi.sasl.jaas.config": login,
            "sasl.kerberos.service.name": "kafka",
        },
    )
    started: list[NodeProcess] = []
    before = dict(os.environ)
    os.environ.update(realm.environment)
    try:

        def start(given: object) -> NodeProcess:
            started.append(NodeProcess(tmp_path_factory.mktemp("kerberos") / "data", settings))
            return started[0]

        node = SecuredNode(start, settings)
    finally:
        os.environ.clear()
        os.environ.update(before)
    yield node
    node.process.kill()


def kcat(realm: Realm, node: SecuredNode, topic: str) -> subprocess.CompletedProcess[bytes]:
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        # The ticket is there already.
        "sasl.kerberos.kinit.cmd": "true",
        "message.timeout.ms": "5000",
    }
    options = [word for name, value in properties.items() for word in ("-X", f"{name}={value}")]
    return subprocess.run(
        ["kcat", "-b", node.bootstrap, "-P", "-t", topic, *options],
        input=b"by ticket\n",
        env={**os.environ, **realm.environment},
        capture_output=True,
        timeout=60,
    )


def test_a_ticket_lets_in(realm: Realm, node: SecuredNode, topic: str) -> None:
    realm.log_in("jan", realm.add("jan"))
    for _ in range(3):
        done = kcat(realm, node, topic)
        assert done.returncode == 0, done.stderr.decode()


def test_without_a_ticket_nobody_comes_in(realm: Realm, node: SecuredNode, topic: str) -> None:
    (realm.directory / "ccache").unlink()
    assert kcat(realm, node, topic).returncode != 0


def test_a_key_that_was_changed_lets_nobody_in(realm: Realm, node: SecuredNode, topic: str) -> None:
    """As if somebody else played the service: its tickets cannot be read with the keys of this node."""
    realm.log_in("jan", realm.add("jan"))
    realm.run("kadmin.local", "-r", REALM, "-q", "cpw -randkey kafka/127.0.0.1")
    done = kcat(realm, node, topic)
    assert done.returncode != 0
    assert "did not log in by GSSAPI" in node.process.log.read_text()
    assert "Traceback" not in node.process.log.read_text()


def test_a_key_table_that_is_not_there(realm: Realm, tmp_path: Path) -> None:
    login = f'{_MODULE} required keyTab="{tmp_path}/none" principal="kafka/127.0.0.1@{REALM}";'
    settings = sasl_settings("GSSAPI", **{"listener.name.sasl.gssapi.sasl.jaas.config": login})
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run(
        [str(Path(sys.executable).parent / "moldau"), "start", "--data", str(tmp_path / "d"), *given],
        env={**os.environ, **realm.environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "has no key that can be used for kafka/127.0.0.1" in done.stderr


# ---------------------------------------------------------------------------------------------- our own side of a login


def moldau(
    realm: Realm, node: SecuredNode, directory: Path, properties: dict[str, str], **environment: str
) -> subprocess.CompletedProcess[str]:
    file = directory / "client.properties"
    usual = {"bootstrap.servers": node.bootstrap, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}
    file.write_text("".join(f"{name}={value}\n" for name, value in {**usual, **properties}.items()))
    words = [str(Path(sys.executable).parent / "moldau"), "topics", "list", "--config", str(file), "--timeout", "5s"]
    return subprocess.run(
        words, env={**os.environ, **realm.environment, **environment}, capture_output=True, text=True, timeout=60
    )


@pytest.fixture(scope="module")
def fresh(realm: Realm, node: SecuredNode) -> SecuredNode:
    """After its key was changed the node has it again."""
    realm.run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {realm.directory}/kafka_127.0.0.1.keytab kafka/127.0.0.1")
    return node


def test_commands_log_in_by_key_table_and_by_ticket(realm: Realm, fresh: SecuredNode, tmp_path: Path) -> None:
    table = realm.add("eva")
    by_table = {
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": f'{_MODULE} required useKeyTab=true keyTab="{table}" principal="eva@{REALM}";',
    }
    done = moldau(realm, fresh, tmp_path, by_table)
    assert done.returncode == 0, done.stderr
    as_librdkafka = {"sasl.kerberos.keytab": str(table), "sasl.kerberos.principal": f"eva@{REALM}"}
    assert moldau(realm, fresh, tmp_path, as_librdkafka).returncode == 0
    realm.log_in("eva", table)
    by_ticket = {"sasl.kerberos.service.name": "kafka", "sasl.jaas.config": f"{_MODULE} required useTicketCache=true;"}
    assert moldau(realm, fresh, tmp_path, by_ticket).returncode == 0
    assert moldau(realm, fresh, tmp_path, {}).returncode == 0


def test_what_keeps_a_command_from_a_ticket_is_one_sentence(realm: Realm, fresh: SecuredNode, tmp_path: Path) -> None:
    table = realm.add("ida")
    who = {"sasl.kerberos.keytab": str(table), "sasl.kerberos.principal": f"ida@{REALM}"}
    configuration = Path(realm.environment["KRB5_CONFIG"]).read_text()
    away = tmp_path / "away.conf"
    away.write_text(configuration.replace("kdc = 127.0.0.1:", "kdc = 127.0.0.1:1\n  admin_server = 127.0.0.1:"))
    wrong = [
        ({**who, "sasl.kerberos.service.name": "nobody"}, {}, "not found in Kerberos database"),
        ({**who, "sasl.kerberos.principal": f"eva2@{REALM}"}, {}, "Kerberos does not let us log in"),
        ({}, {"KRB5CCNAME": f"FILE:{tmp_path}/none"}, "Kerberos does not let us log in"),
        (who, {"KRB5_CONFIG": str(away)}, "annot contact any KDC"),
    ]
    for properties, environment, sentence in wrong:
        done = moldau(realm, fresh, tmp_path, properties, **environment)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert sentence in done.stderr


def test_our_clients(realm: Realm, fresh: SecuredNode, topic: str) -> None:
    table = realm.add("karel")
    program = f"""
from moldau import KafkaConsumer, KafkaProducer
settings = dict(bootstrap_servers={fresh.bootstrap!r}, security_protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI",
                sasl_kerberos_key_table={str(table)!r}, sasl_kerberos_principal="karel@{REALM}")
with KafkaProducer(**settings) as producer:
    producer.send({topic!r}, b"by ticket").get(20)
with KafkaConsumer({topic!r}, **settings, auto_offset_reset="earliest") as consumer:
    assert next(consumer).value == b"by ticket"
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **realm.environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_nodes_log_in_at_each_other(realm: Realm, fresh: SecuredNode, tmp_path: Path) -> None:
    """Three of them, controllers and brokers; sessions end all the while, so logins have to be renewed."""
    table = realm.directory / "kafka_127.0.0.1.keytab"
    login = f'{_MODULE} required useKeyTab=true storeKey=true keyTab="{table}" principal="kafka/127.0.0.1@{REALM}";'
    trio = Trio(
        tmp_path,
        realm.environment,
        **{
            "sasl.kerberos.service.name": "kafka",
            **{
                f"listener.name.{name}.{setting}": value
                for name in ("sasl", "controller")
                for setting, value in (("sasl.enabled.mechanisms", "GSSAPI"), ("gssapi.sasl.jaas.config", login))
            },
            "sasl.mechanism.inter.broker.protocol": "GSSAPI",
            "sasl.mechanism.controller.protocol": "GSSAPI",
        },
    )
    try:
        program = f"""
import time
from moldau import KafkaAdminClient, KafkaProducer
from moldau.admin import NewTopic
settings = dict(bootstrap_servers={trio.bootstrap!r}, security_protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI",
                sasl_kerberos_key_table={str(table)!r}, sasl_kerberos_principal="kafka/127.0.0.1@{REALM}")
with KafkaAdminClient(**settings) as admin:
    admin.create_topics([NewTopic("rivers", 3, 3)])
end = time.monotonic() + 8
with KafkaProducer(**settings, acks="all") as producer:
    while time.monotonic() < end:
        producer.send("rivers", b"x").get(20)
        time.sleep(0.02)
with KafkaAdminClient(**settings) as admin:
    (topic,) = admin.describe_topics(["rivers"])
assert all(len(partition["isr_nodes"]) == 3 for partition in topic["partitions"])
"""
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **realm.environment},
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stderr + trio.tail()
        assert not any(word in trio.tail() for word in ("Traceback", "did not log in"))
    finally:
        trio.close()
