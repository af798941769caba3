"""Key stores and trust stores in the formats Kafka takes, as PEM: what a node shows of itself, and whom it believes.

The type in the settings says PEM, PKCS12 or JKS. Java looks at the file itself where that says one of the last two,
and so do we: `keytool` has written PKCS12 into files called .jks for years.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from moldau.runtime.ports import TlsKey
from moldau.security import pem
from moldau.security.certificate import Certificate
from moldau.security.der import DerError
from moldau.security.jks import MAGIC, JksError, JksStore, read_jks

T = TypeVar("T")

# Stores hold a few certificates; whatever is larger was meant for something else.
LARGEST: Final = 16 << 20


class StoreError(ValueError):
    """A store that cannot be read; the words complete a sentence about it."""


def key_store(kind: str, data: bytes, password: str | None, key_password: str | None) -> tuple[TlsKey, ...]:
    """The keys in it, in the order of the store."""
    if kind == "PEM":
        text = _text(data)
        return (pem_key(text, text, key_password),)
    if data.startswith(MAGIC):
        keys = [(each.key, each.chain) for each in _jks(data, password, key_password or password or "").keys]
    else:
        # All its keys have the store's password, in Java too.
        key, own, others = _pkcs12(data, password)
        keys = [] if key is None else [(key, _issuers(own, others))]
    if not keys:
        raise StoreError("there is no private key in it")
    return tuple(TlsKey(pem.block("PRIVATE KEY", key), _chain(chain)) for key, chain in keys)


def trust_store(kind: str, data: bytes, password: str | None) -> str:
    """The certificates in it, which are believed."""
    if kind == "PEM":
        return pem_certificates(_text(data))
    if data.startswith(MAGIC):
        trusted = _jks(data, password, None).trusted
    else:
        _, own, others = _pkcs12(data, password)
        trusted = (*own, *others)
    return _chain(trusted)


def pem_key(key: str, chain: str, password: str | None) -> TlsKey:
    """A key and its certificates from text, each or both in the same."""
    found = _from_pem(lambda: pem.private_key(key))
    if found is None:
        raise StoreError("there is no private key in it")
    return TlsKey(found, pem_certificates(chain), password or "")


def pem_certificates(text: str) -> str:
    return _chain(_from_pem(lambda: pem.certificates(text)))


def first_certificate(key: TlsKey) -> Certificate:
    """The one that stands for whoever has the key."""
    return Certificate(pem.certificates(key.chain)[0])


def _chain(certificates: Sequence[bytes]) -> str:
    if not certificates:
        raise StoreError("there is no certificate in it")
    for certificate in certificates:
        try:
            Certificate(certificate)
        except DerError:
            raise StoreError("there is something in it that is taken for a certificate and is none") from None
    return "".join(pem.block(pem.CERTIFICATE, certificate) for certificate in certificates)


def _issuers(own: Sequence[bytes], others: Sequence[bytes]) -> tuple[bytes, ...]:
    """From one's own certificate on, each with whoever signed it behind: a PKCS12 store has them in any order."""
    chain = [Certificate(each) for each in own[:1]]
    left = [Certificate(each) for each in others]
    while chain and chain[-1].issuer_name != chain[-1].subject_name:
        above = next((each for each in left if each.subject_name == chain[-1].issuer_name), None)
        if above is None:
            break
        left.remove(above)
        chain.append(above)
    return tuple(each.encoded for each in chain)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise StoreError("it is not PEM, which is text") from None


def _from_pem(read: Callable[[], T]) -> T:
    try:
        return read()
    except pem.PemError as error:
        raise StoreError(str(error)) from None


def _jks(data: bytes, password: str | None, key_password: str | None) -> JksStore:
    try:
        return read_jks(data, password, key_password)
    except JksError as error:
        raise StoreError(str(error)) from None


def _pkcs12(data: bytes, password: str | None) -> tuple[bytes | None, tuple[bytes, ...], tuple[bytes, ...]]:
    """A key, the certificates that vouch for it, and all others; in DER."""
    # Five megabytes that nobody else needs.
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        found = load_pkcs12(data, None if password is None else password.encode())
    except Exception as error:
        # Damaged ones and other passwords look the same, and there are more kinds of errors than it says.
        raise StoreError("it is no PKCS12 store, or its password is another one") from error
    key = None
    if found.key is not None:
        key = found.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    own = () if found.cert is None else (found.cert.certificate.public_bytes(Encoding.DER),)
    others = tuple(each.certificate.public_bytes(Encoding.DER) for each in found.additional_certs)
    return key, own, others
