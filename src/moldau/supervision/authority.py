"""A certificate authority in a directory, for a cluster on one machine: it vouches for its nodes, and nobody else."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from moldau.errors import MoldauError
from moldau.supervision.private_files import write_private, write_public

CA: Final = "ca.pem"
_CA_KEY: Final = "ca.key"
_CA_DAYS: Final = 7300
# What some clients take at most.
_NODE_DAYS: Final = 825
# A node's certificate is made anew at the first start within so many days of its end.
_RENEWED_DAYS: Final = 30
_DAY: Final = datetime.timedelta(days=1)


class AuthorityError(MoldauError):
    """The authority's files are not what they should be."""


class Authority:
    """Made in `directory` if it is not there yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.certificate_file = directory / CA
        key_file = directory / _CA_KEY
        if not key_file.exists():
            # The certificate last: with it there, there is a key.
            key = ec.generate_private_key(ec.SECP256R1())
            write_private(key_file, _key_text(key))
            self.certificate_file.unlink(missing_ok=True)
        self._key = _read_key(key_file)
        if not self.certificate_file.exists():
            write_public(self.certificate_file, _text(self._own_certificate()))
        try:
            self._certificate = x509.load_pem_x509_certificate(self.certificate_file.read_bytes())
        except ValueError:
            raise AuthorityError(f"{self.certificate_file} is not a certificate.") from None
        if self._certificate.public_key() != self._key.public_key():
            raise AuthorityError(f"{self.certificate_file} and {key_file} do not belong together.")

    def certify(self, name: str, hosts: Sequence[str]) -> Path:
        """Key and certificate of a node in one file: those it has, or new ones."""
        path = self._directory / f"{name}.pem"
        if not path.exists() or not self._is_good(path):
            key = ec.generate_private_key(ec.SECP256R1())
            write_private(path, _key_text(key) + _text(self._node_certificate(name, key, hosts)))
        return path

    def _is_good(self, path: Path) -> bool:
        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
            certificate.verify_directly_issued_by(self._certificate)
        except Exception:  # whatever is wrong with it, a new one is right
            return False
        return certificate.not_valid_after_utc > _now() + _RENEWED_DAYS * _DAY

    def _own_certificate(self) -> x509.Certificate:
        # A name of its own for each: clients that know several of them find the right one by it.
        name = _name(f"Moldau cluster {x509.random_serial_number() & 0xFFFFFFFF:08x}")
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        return (
            _begun(name, name, self._key, _CA_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def _node_certificate(self, name: str, key: ec.EllipticCurvePrivateKey, hosts: Sequence[str]) -> x509.Certificate:
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        both_sides = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        return (
            _begun(_name(name), self._certificate.subject, key, _NODE_DAYS)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([_general(host) for host in hosts]), critical=False)
            .add_extension(both_sides, critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(authority, critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = _now()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Clocks differ.
        .not_valid_before(now - _DAY)
        .not_valid_after(now + days * _DAY)
    )


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise AuthorityError(f"{path} is not the key of an authority that was made here.")
    return key


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
