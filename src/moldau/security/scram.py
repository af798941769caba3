"""SCRAM (RFC 5802, 7677): the formulas and the forms of messages that both sides share."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from hashlib import new, pbkdf2_hmac

from moldau.security.scram_credential import HASHES, ScramCredential


def salted_password(hash_name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """Milliseconds, on purpose. It releases the GIL."""
    return pbkdf2_hmac(hash_name, password, salt, iterations)


def keyed(hash_name: str, key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, hash_name)


def hashed(hash_name: str, message: bytes) -> bytes:
    return new(hash_name, message).digest()


def exclusive_or(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def client_key(hash_name: str, salted: bytes) -> bytes:
    return keyed(hash_name, salted, b"Client Key")


def server_key(hash_name: str, salted: bytes) -> bytes:
    return keyed(hash_name, salted, b"Server Key")


def credential_of(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """From the salted password, which is all that clients tell a broker."""
    name = HASHES[mechanism]
    return ScramCredential(salt, hashed(name, client_key(name, salted)), server_key(name, salted), iterations)


def make_credential(mechanism: str, password: str, salt: bytes, iterations: int) -> ScramCredential:
    salted = salted_password(HASHES[mechanism], password.encode(), salt, iterations)
    return credential_of(mechanism, salted, salt, iterations)


# ----------------------------------------------------------------------------------------------------------- messages


def escaped_name(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def plain_name(escaped: str) -> str | None:
    """None for what no client may write: an = that begins none of the two escapes."""
    if "=" in escaped.replace("=2C", "").replace("=3D", ""):
        return None
    return escaped.replace("=2C", ",").replace("=3D", "=")


def attributes(message: bytes) -> dict[str, str] | None:
    """`r=...,s=...` by letter; None if it is no text."""
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        return None
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}


def from_base64(text: str) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        return None


def to_base64(data: bytes) -> str:
    return b64encode(data).decode()
