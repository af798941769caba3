"""What a listener with TLS shows, as settings of a node, and the contexts of clients that believe it."""

from __future__ import annotations

import ssl
from pathlib import Path

from issued import Issuer

ISSUER = Issuer()
_NODE = ISSUER.issue("node")
KEYSTORE = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.key": _NODE.key_pem(),
    "ssl.keystore.certificate.chain": _NODE.pem,
}
TRUSTSTORE = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": ISSUER.pem}


def trusting(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, certificate: Path | None = None) -> ssl.SSLContext:
    """Speaks no newer version; with a `certificate` (and its key) to show."""
    context = ssl.create_default_context(cadata=ISSUER.pem)
    context.maximum_version = version
    if certificate is not None:
        context.load_cert_chain(certificate)
    return context
