"""A node with a listener for TLS, and the certificates of it and of its clients."""

from __future__ import annotations

from pathlib import Path

from clients import Tls
from issued import Issued, Issuer


class Pki:
    """`ca` vouches for `node` and `client`; nobody here knows `stranger`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.issuer, self.strangers = Issuer("ca"), Issuer("stranger")
        self.node = self.issuer.issue("node")
        self.ca = self._write("ca", self.issuer.pem)
        self.strange_ca = self._write("stranger", self.strangers.pem)

    def _write(self, name: str, text: str) -> str:
        path = self.directory / f"{name}.pem"
        path.write_text(text)
        return str(path)

    def store(self, issued: Issued, name: str = "node-store") -> str:
        return str(issued.write(self.directory / f"{name}.pem"))

    def listener(self, **more: str) -> dict[str, str]:
        """A node with nothing but a listener SSL; what else is to be set, with an underscore for each dot."""
        return {
            "listeners": "SSL://127.0.0.1:0",
            "inter.broker.listener.name": "SSL",
            "group.initial.rebalance.delay.ms": "0",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.store(self.node),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.ca,
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def client(self, issued: Issued | None = None, name: str = "client", ca: str | None = None) -> Tls:
        """What a client with this certificate is given, or without any."""
        if issued is None:
            return Tls(ca or self.ca)
        return Tls(ca or self.ca, self._write(name, issued.pem), self._write(f"{name}-key", issued.key_pem()))
