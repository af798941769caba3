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
