"""Names in certificates, as Java writes them: the expectations are what `X500Principal.getName()` printed."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from issued import Issuer
from moldau.security.certificate import Certificate, distinguished_name
from moldau.security.der import DerError, elements, object_id, only


def test_the_usual_name() -> None:
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "CZ"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Charles, Sons & Co"),
            x509.NameAttribute(NameOID.EMAIL_ADDRESS, "a@b"),
            x509.NameAttribute(NameOID.COMMON_NAME, " žofie "),
        ]
    )
    issued = Issuer().issue(name, ["a.invalid", "::1", "10.0.0.1"])
    certificate = Certificate(issued.der)
    assert certificate.subject == "CN=\\ žofie\\ ,1.2.840.113549.1.9.1=#1603614062,O=Charles\\, Sons & Co,C=CZ"
    assert certificate.alternative_names == {"DNS:a.invalid", "IP:::1", "IP:10.0.0.1"}
    assert Certificate(Issuer().der).alternative_names == frozenset()


# The encoded names, and what Java 17 wrote for them.
FROM_JAVA = [
    ("3000", ""),
    ("300c310a30080603550403140123", "CN=\\#"),
    ("301c311a300c06035504090c052023422c3b300a06062a0304868d1f0c00", "STREET=\\ \\#B\\,\\;+1.2.3.4.99999=#0c00"),
    ("301531133011060355040a1b0af09f98802c235c610a3b", "O=😀\\,\\#\\\\a\n\\;"),
    ("3032310c300a060355040713035c42003112301006035504090c0961233c22e697a5223d310e300c060355040904052c61223e20",
     'STREET=#04052c61223e20,STREET=a\\#\\<\\"日\\"\\=,L=\\\\B\\00'),
]  # fmt: skip


@pytest.mark.parametrize(("encoded", "expected"), FROM_JAVA)
def test_unusual_names(encoded: str, expected: str) -> None:
    assert distinguished_name(only(bytes.fromhex(encoded))) == expected


@given(st.binary(max_size=60))
def test_bytes_are_refused_or_taken_apart_completely(data: bytes) -> None:
    try:
        found = list(elements(data))
    except DerError:
        return
    assert b"".join(each.encoded for each in found) == data


@given(st.data())
def test_a_damaged_certificate_raises_nothing_unexpected(data: st.DataObject) -> None:
    damaged = bytearray(_SOME)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        certificate = Certificate(bytes(damaged))
        assert isinstance(certificate.subject, str)
        assert isinstance(certificate.alternative_names, frozenset)
    except DerError:
        pass


_SOME = Issuer().issue("someone").der


def test_object_ids() -> None:
    assert object_id(bytes.fromhex("550403")) == "2.5.4.3"
    assert object_id(bytes.fromhex("883703")) == "2.999.3"
    with pytest.raises(DerError):
        object_id(b"\x88")
