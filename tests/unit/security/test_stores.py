"""Key and trust stores: those of keytool, those made here, damaged ones, and the wrong password."""

from __future__ import annotations

import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from hypothesis import given
from hypothesis import strategies as st
from keytool_stores import (
    KEY_JKS,
    KEY_PASSWORD,
    KEY_PKCS12,
    STORE_PASSWORD,
    TRUST_JKS,
    TRUST_PASSWORD,
    TRUST_PKCS12,
)

from issued import Issuer
from moldau.runtime.ports import TlsKey
from moldau.security import pem
from moldau.security.stores import (
    StoreError,
    first_certificate,
    key_store,
    pem_certificates,
    pem_key,
    trust_store,
)


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer("authority")


def belong_together(key: TlsKey) -> bool:
    private = load_pem_private_key(key.key.encode(), key.password.encode() or None)
    certificate = x509.load_der_x509_certificate(pem.certificates(key.chain)[0])
    return private.public_key() == certificate.public_key()


def test_a_key_store_of_keytool_in_jks() -> None:
    [key] = key_store("JKS", KEY_JKS, STORE_PASSWORD, KEY_PASSWORD)
    assert belong_together(key)
    certificate = first_certificate(key)
    assert certificate.subject == "CN=node,OU=Bridges,O=Moldau,C=CZ"
    assert certificate.alternative_names == {"DNS:localhost", "IP:127.0.0.1"}


def test_a_key_store_of_keytool_in_pkcs12() -> None:
    [key] = key_store("PKCS12", KEY_PKCS12, STORE_PASSWORD, None)
    assert belong_together(key)
    assert first_certificate(key).subject == "CN=node12,O=Moldau"


@pytest.mark.parametrize(("data", "other"), [(TRUST_JKS, "PKCS12"), (TRUST_PKCS12, "JKS")])
def test_a_trust_store_of_keytool_whatever_the_settings_call_it(data: bytes, other: str) -> None:
    [key] = key_store("JKS", KEY_JKS, STORE_PASSWORD, KEY_PASSWORD)
    assert trust_store(other, data, TRUST_PASSWORD) == key.chain


def test_jks_is_read_without_its_password_as_by_java() -> None:
    assert trust_store("JKS", TRUST_JKS, None)


@pytest.mark.parametrize(
    ("kind", "data", "password", "key_password", "words"),
    [
        ("JKS", KEY_JKS, "guessed", KEY_PASSWORD, "the JKS store was changed, or its password is another one"),
        ("JKS", KEY_JKS, STORE_PASSWORD, "guessed", "the key node cannot be unlocked with this password"),
        ("JKS", KEY_JKS, STORE_PASSWORD, None, "the key node cannot be unlocked with this password"),
        ("JKS", KEY_JKS[:-1], STORE_PASSWORD, KEY_PASSWORD, "the JKS store ends too early"),
        ("JKS", TRUST_JKS, TRUST_PASSWORD, None, "there is no private key in it"),
        ("PKCS12", KEY_PKCS12, "guessed", None, "it is no PKCS12 store, or its password is another one"),
        ("PKCS12", b"nothing of the kind", "guessed", None, "it is no PKCS12 store, or its password is another one"),
        ("PKCS12", TRUST_PKCS12, TRUST_PASSWORD, None, "there is no private key in it"),
        ("PEM", b"\xff\xfe", None, None, "it is not PEM, which is text"),
        ("PEM", b"nothing of the kind", None, None, "there is no private key in it"),
    ],
)
def test_a_store_that_is_no_good_says_why(
    kind: str, data: bytes, password: str | None, key_password: str | None, words: str
) -> None:
    with pytest.raises(StoreError) as refused:
        key_store(kind, data, password, key_password)
    assert str(refused.value) == words


@given(st.integers(0, len(KEY_JKS) - 1), st.integers(1, 255), st.booleans())
def test_a_damaged_jks_store_is_refused_and_nothing_else(place: int, change: int, with_password: bool) -> None:
    damaged = bytearray(KEY_JKS)
    damaged[place] ^= change
    try:
        keys = key_store("JKS", bytes(damaged), STORE_PASSWORD if with_password else None, KEY_PASSWORD)
    except StoreError:
        return
    # The digest covers everything; without the password only names, dates and certificates may differ unseen.
    assert not with_password
    assert keys


def test_pkcs12_has_its_certificates_in_any_order(issuer: Issuer) -> None:
    middle = issuer.authority("middle")
    leaf = middle.issue("leaf")
    others = [issuer.certificate, middle.certificate]
    data = serialize_key_and_certificates(b"n", leaf.key, leaf.certificate, others, BestAvailableEncryption(b"secret"))
    [key] = key_store("PKCS12", data, "secret", None)
    chain = [x509.load_der_x509_certificate(each) for each in pem.certificates(key.chain)]
    assert chain == [leaf.certificate, middle.certificate, issuer.certificate]


def test_pem_in_one_file_or_in_two_texts(issuer: Issuer) -> None:
    leaf = issuer.issue("leaf")
    whole = f"Bag Attributes: none\n{leaf.key_pem()}\nsubject=CN=leaf\n{leaf.pem}{issuer.pem}"
    [key] = key_store("PEM", whole.encode(), None, None)
    assert belong_together(key)
    assert len(pem.certificates(key.chain)) == 2
    assert pem_key(leaf.key_pem(), leaf.pem + issuer.pem, None) == key
    # As it stands in a file of settings: one line.
    assert pem_key(" ".join(leaf.key_pem().split("\n")), whole.replace("\n", " "), None) == key


def test_a_locked_key_keeps_its_lock(issuer: Issuer) -> None:
    leaf = issuer.issue("leaf")
    key = pem_key(leaf.key_pem("secret"), leaf.pem, "secret")
    assert "ENCRYPTED" in key.key
    assert belong_together(key)
    assert "secret" not in repr(key)
    assert "BEGIN" not in repr(key).replace("BEGIN CERTIFICATE", "")


@pytest.mark.parametrize("text", ["", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"])
def test_no_certificate(text: str) -> None:
    with pytest.raises(StoreError, match="there is no certificate in it"):
        pem_certificates(text)


def test_what_is_called_a_certificate_and_is_none() -> None:
    with pytest.raises(StoreError, match="is none"):
        pem_certificates(pem.block("CERTIFICATE", b"\x30\x03\x02\x01\x01"))
    with pytest.raises(StoreError, match="not base64"):
        pem_certificates("-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n")


def test_what_is_written_is_what_the_ssl_module_reads(issuer: Issuer) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=pem_certificates(issuer.pem))
    assert len(context.get_ca_certs()) == 1
