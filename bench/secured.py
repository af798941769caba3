"""A broker with a listener of each kind, TLS or not and SCRAM or not: ours, and Apache Kafka with the same settings.

The certificate is from an authority made for it, with a key on P-256; the one user is made through the open listener.
Loads reach the others by `bench/secured.c`.
"""

from __future__ import annotations

import copy
import hashlib
import secrets
import sys
from pathlib import Path

from bench.contenders import Contender, Door, Running, fresh
from bench.conversation import Conversation
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from moldau.supervision.layout import hold_ports

HOST = "127.0.0.1"
OPEN = "PLAINTEXT"
PROTOCOLS = {OPEN: "plain text", "SSL": "TLS", "SASL_PLAINTEXT": "SCRAM", "SASL_SSL": "TLS and SCRAM"}
SCRAM_SHA_512 = 2
ITERATIONS = 4096
USER = "bench"
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


class SecuredBroker:
    def __init__(self, running: Running, doors: dict[str, Door]) -> None:
        self.running = running
        self.doors = doors

    def through(self, protocol: str) -> Running:
        """The same broker, for loads that come by this listener."""
        entered = copy.copy(self.running)
        entered.door = self.doors[protocol]
        return entered


def start_secured(contender: Contender, directory: Path) -> SecuredBroker:
    data = fresh(directory)
    keys, trusted = _issue(directory)
    ports = dict(zip(PROTOCOLS, hold_ports(len(PROTOCOLS)), strict=True))
    password = secrets.token_urlsafe(16)
    running = contender.start(data, _settings(ports, keys))
    with Conversation(running.address) as conversation:
        _add_user(conversation, password)
    doors = {
        protocol: Door(
            (HOST, port),
            trusted if protocol.endswith("SSL") else None,
            f"{USER}:{password}" if protocol.startswith("SASL") else None,
        )
        for protocol, port in ports.items()
    }
    return SecuredBroker(running, doors)


def _settings(ports: dict[str, int], keys: Path) -> dict[str, str]:
    return {
        "listeners": ",".join(f"{protocol}://{HOST}:{port}" for protocol, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{name}" for name in PROTOCOLS) + ",CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": OPEN,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keys),
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        **{f"listener.name.{name}.scram-sha-512.sasl.jaas.config": MODULE for name in ("sasl_plaintext", "sasl_ssl")},
    }


def _issue(directory: Path) -> tuple[Path, Path]:
    """A file with key and certificate, and one with the authority."""
    tests = str(Path(__file__).resolve().parents[1] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    from issued import Issuer  # needs a package that measuring does not need otherwise

    issuer = Issuer()
    keys, trusted = (directory.absolute().with_name(f"{directory.name}-{name}.pem") for name in ("node", "authority"))
    trusted.write_text(issuer.pem)
    return issuer.issue("node").write(keys), trusted


def _add_user(conversation: Conversation, password: str) -> None:
    salt = secrets.token_bytes(24)
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    wanted = ScramCredentialUpsertion(
        name=USER, mechanism=SCRAM_SHA_512, iterations=ITERATIONS, salt=salt, salted_password=salted
    )
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[wanted])
    (made,) = conversation.ask(request, 0, AlterUserScramCredentialsResponse).results
    if made.error_code:
        raise RuntimeError(f"the user was refused: error {made.error_code} {made.error_message or ''}")
