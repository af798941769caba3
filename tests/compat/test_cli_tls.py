"""The commands through TLS, with what stands for a broker's TLS in front of a node."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import StartNode

from certificates import Certificates
from tls_proxy import TlsProxy


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def bootstrap(certificates: Certificates, start_node: StartNode) -> Iterator[str]:
    """A node that wants to see a certificate of whoever comes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.node, certificates.node_key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificates.ca)
    proxy = TlsProxy(context)
    node = start_node({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"})
    proxy.lead_to(node.address)
    yield f"127.0.0.1:{proxy.port}"
    proxy.close()


def run(*words: str, given: bytes = b"", status: int = 0, **environment: str) -> subprocess.CompletedProcess[bytes]:
    ended = subprocess.run(
        [sys.executable, "-m", "moldau", *words],
        input=given,
        capture_output=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert ended.returncode == status, ended.stderr
    return ended


def test_commands_through_tls(bootstrap: str, certificates: Certificates, tmp_path: Path) -> None:
    own = ("--cert-file", str(certificates.client), "--key-file", str(certificates.client_key))
    told = ("-b", bootstrap, "--security-protocol", "SSL", "--ca-file", str(certificates.ca), *own)
    locked = {"MOLDAU_KEY_PASSWORD": certificates.password}
    run("topics", "create", "rivers", "-p", "2", *told, **locked)
    values = b"".join(b"%d\n" % number for number in range(10_000))
    run("produce", "rivers", "-p", "1", *told, given=values, **locked)
    assert run("consume", "rivers", "-q", *told, **locked).stdout == values
    assert b"rivers" in run("topics", "describe", *told, **locked).stdout

    # The same by a file: one for Kafka's tools, one for librdkafka's, and both know where the brokers are.
    chain = certificates.directory / "client-all.pem"
    chain.write_text(certificates.client_key.read_text() + certificates.client.read_text())
    for number, lines in enumerate(
        (
            f"ssl.truststore.type=PEM\nssl.truststore.location={certificates.ca}\nssl.keystore.type=PEM\n"
            f"ssl.keystore.location={chain}\nssl.key.password={certificates.password}\n",
            f"ssl.ca.location={certificates.ca}\nssl.certificate.location={certificates.client}\n"
            f"ssl.key.location={certificates.client_key}\nssl.key.password={certificates.password}\n",
        )
    ):
        file = tmp_path / f"{number}.properties"
        file.write_text(f"bootstrap.servers={bootstrap}\nsecurity.protocol=SSL\n{lines}")
        for words in (
            ["topics", "list"],
            ["cluster", "describe"],
            ["groups", "list"],
            ["topics", "describe"],
        ):
            run(*words, "--command-config", str(file))
            run(*words, MOLDAU_CONFIG=str(file))


def test_whom_a_command_does_not_trust(bootstrap: str, certificates: Certificates) -> None:
    told = ("-b", bootstrap, "--timeout", "20s", "--security-protocol", "SSL")
    for words in (("--ca-file", str(certificates.stranger)), ()):
        said = run("topics", "list", *told, *words, status=1).stderr
        assert said.startswith(b"moldau: ")
        assert said.count(b"\n") == 1
        assert b"certificate" in said
