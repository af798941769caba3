"""Certificates for tests that want particular ones: made in the process, by the `cryptography` package."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_DAY = datetime.timedelta(days=1)


class Issued:
    """A certificate and its key."""

    def __init__(self, key: Key, certificate: x509.Certificate) -> None:
        self.key = key
        self.certificate = certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    def key_pem(self, password: str | None = None) -> str:
        lock = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()

    def pkcs12(self, password: str, others: Sequence[x509.Certificate] = ()) -> bytes:
        lock = BestAvailableEncryption(password.encode())
        return serialize_key_and_certificates(b"node", self.key, self.certificate, others, lock)

    def write(self, path: Path, password: str | None = None) -> Path:
        """Both in one file."""
        path.write_text(self.key_pem(password) + self.pem)
        return path


class Issuer(Issued):
    """An authority; signed by itself or by another one."""

    def __init__(self, name: str = "authority", above: Issuer | None = None) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = named(name)
        self.name = subject
        super().__init__(key, _signed(subject, key, above or self, key if above is None else above.key, authority=True))

    def authority(self, name: str) -> Issuer:
        return Issuer(name, self)

    def issue(
        self,
        name: str | x509.Name,
        hosts: Sequence[str] = ("localhost", "127.0.0.1"),
        *,
        days: tuple[int, int] = (-1, 3650),
        bits: int | None = None,
    ) -> Issued:
        """For these hosts; valid from so many days from now to so many. With `bits` its key is one of RSA."""
        key: Key = (
            ec.generate_private_key(ec.SECP256R1())
            if bits is None
            else rsa.generate_private_key(public_exponent=65537, key_size=bits)
        )
        subject = named(name) if isinstance(name, str) else name
        return Issued(key, _signed(subject, key, self, self.key, hosts=hosts, days=days))


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _signed(
    subject: x509.Name,
    key: Key,
    issuer: Issuer,
    issuer_key: Key,
    *,
    hosts: Sequence[str] = (),
    days: tuple[int, int] = (-1, 3650),
    authority: bool = False,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + days[0] * _DAY)
        .not_valid_after(now + days[1] * _DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(host) for host in hosts]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
