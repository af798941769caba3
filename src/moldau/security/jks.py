"""JKS, Java's own format of key and trust stores.

A store is a list of entries under one digest that is keyed with the store's password. Private keys are hidden with a
stream made of SHA-1 and their own password, which is Sun's invention and protects little: whoever has the file can try
passwords as fast as he can hash.
"""

from __future__ import annotations

import hashlib
from struct import Struct
from typing import Final, NamedTuple

from moldau.security.der import OBJECT_ID, OCTET_STRING, DerError, object_id, only

MAGIC: Final = b"\xfe\xed\xfe\xed"

_KEY_ENTRY: Final = 1
_TRUSTED_ENTRY: Final = 2
_SUN_KEY_PROTECTOR: Final = "1.3.6.1.4.1.42.2.17.1.1"
# Keyed into the digest of a store together with its password; the words are part of the format.
_WHITENER: Final = b"Mighty Aphrodite"
_SHA1: Final = 20
_MOST_ENTRIES: Final = 10_000

_u2 = Struct(">H").unpack_from
_u4 = Struct(">I").unpack_from


class JksError(ValueError):
    """Not a store, a damaged one, or another password."""


class JksKey(NamedTuple):
    """The key as PKCS#8 in DER, and its certificates."""

    alias: str
    key: bytes
    chain: tuple[bytes, ...]


class JksStore(NamedTuple):
    keys: tuple[JksKey, ...]
    trusted: tuple[bytes, ...]


def read_jks(data: bytes, password: str | None, key_password: str | None) -> JksStore:
    """Without a password nobody knows whether the store was tampered with, as in Java; keys need theirs."""
    reader = _Reader(data)
    if reader.take(4) != MAGIC:
        raise JksError("this is no JKS store")
    version, count = reader.number(), reader.number()
    if version not in (1, 2) or count > _MOST_ENTRIES:
        raise JksError(f"a JKS store of version {version} with {count} entries cannot be read")
    found = [_entry(reader, version) for _ in range(count)]
    body, digest = data[: reader.position], reader.take(_SHA1)
    if password is not None:
        expected = hashlib.sha1(_utf16(password) + _WHITENER + body, usedforsecurity=False).digest()
        if expected != digest:
            raise JksError("the JKS store was changed, or its password is another one")
    keys = tuple(
        JksKey(alias, _unlocked(locked, key_password, alias), chain)
        for kind, alias, locked, chain in found
        if kind == _KEY_ENTRY and key_password is not None
    )
    # Java believes what was imported as trusted, and the owner's own certificates besides.
    return JksStore(keys, tuple(chain[0] for _, _, _, chain in found if chain))


def _entry(reader: _Reader, version: int) -> tuple[int, str, bytes, tuple[bytes, ...]]:
    kind, alias = reader.number(), reader.text()
    reader.take(8)  # when it was made
    if kind == _TRUSTED_ENTRY:
        return kind, alias, b"", (reader.certificate(version),)
    if kind != _KEY_ENTRY:
        raise JksError(f"an entry of kind {kind} cannot be read")
    locked = reader.take(reader.number())
    return kind, alias, locked, tuple(reader.certificate(version) for _ in range(reader.count()))


def _unlocked(locked: bytes, password: str | None, alias: str) -> bytes:
    try:
        algorithm, hidden = only(locked).inside()
        kind = algorithm.inside()[0]
        if kind.tag != OBJECT_ID or object_id(kind.content) != _SUN_KEY_PROTECTOR or hidden.tag != OCTET_STRING:
            raise JksError(f"the key {alias} is protected in a way that cannot be read")
    except (DerError, ValueError, IndexError):
        raise JksError(f"the key {alias} cannot be read") from None
    content = hidden.content
    if len(content) < 2 * _SHA1:
        raise JksError(f"the key {alias} cannot be read")
    secret = _utf16(password or "")
    block, encrypted, check = content[:_SHA1], content[_SHA1:-_SHA1], content[-_SHA1:]
    stream = bytearray()
    while len(stream) < len(encrypted):
        block = hashlib.sha1(secret + block, usedforsecurity=False).digest()
        stream += block
    key = bytes(one ^ other for one, other in zip(encrypted, stream, strict=False))
    if hashlib.sha1(secret + key, usedforsecurity=False).digest() != check:
        raise JksError(f"the key {alias} cannot be unlocked with this password")
    return key


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self._data):
            raise JksError("the JKS store ends too early")
        part = self._data[self.position : end]
        self.position = end
        return part

    def number(self) -> int:
        value: int = _u4(self.take(4))[0]
        return value

    def count(self) -> int:
        """Of things that each take some bytes."""
        count = self.number()
        if count > len(self._data):
            raise JksError("the JKS store ends too early")
        return count

    def text(self) -> str:
        return self.take(_u2(self.take(2))[0]).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        if version == 2 and (kind := self.text()) != "X.509":
            raise JksError(f"a certificate of type {kind} cannot be read")
        return self.take(self.number())
