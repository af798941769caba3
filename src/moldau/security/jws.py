"""Signed tokens (RFC 7515) and the keys they are checked with (RFC 7517): public keys only, and no token without one.

What signs and verifies with the same secret (HS256) is not taken: whoever checks tokens could then make them.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

_HASHES: Final = {"256": "SHA256", "384": "SHA384", "512": "SHA512"}
# Curve, and bytes of each half of a signature, by algorithm (RFC 7518, section 3.4).
_CURVES: Final = {"ES256": ("P-256", 32), "ES384": ("P-384", 48), "ES512": ("P-521", 66)}
ALGORITHMS: Final = (*(f"RS{bits}" for bits in _HASHES), *(f"PS{bits}" for bits in _HASHES), *_CURVES)
_SMALLEST_RSA: Final = 2048
_LARGEST_RSA: Final = 16384
# Keys that a document may hold; more are those of no issuer.
_MOST_KEYS: Final = 1000
# Keys that are tried for a token that does not say which one it was signed with.
_MOST_TRIED: Final = 4


class TokenRefused(Exception):
    """Says for the log why a token is not taken, and nothing of what is in it."""


class UnknownKey(TokenRefused):
    """It was signed with a key that is not among those known; perhaps newer ones are to be had."""


class VerificationKey(NamedTuple):
    id: str | None
    type: str
    # As its owner restricts it: one of ALGORITHMS, if he does.
    algorithm: str | None
    # Of `cryptography`.
    key: Any

    def __repr__(self) -> str:
        return f"VerificationKey({self.id!r}, {self.type})"


def parse_keys(document: bytes) -> list[VerificationKey]:
    """The keys of a JWK set that can check signatures; ValueError if it is none or has no such key."""
    try:
        rows = json.loads(document)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("it is not a JWK set, a JSON object with keys") from None
    if not isinstance(rows, list) or len(rows) > _MOST_KEYS:
        raise ValueError(f"its keys are not a list of at most {_MOST_KEYS}")
    keys = [key for row in rows if isinstance(row, dict) and (key := _read_key(row)) is not None]
    if not keys:
        raise ValueError("it has no key that can check a signature")
    return keys


def _read_key(row: Mapping[str, Any]) -> VerificationKey | None:
    """None for a key of another kind or for another use, of which a set may have some."""
    if row.get("use", "sig") != "sig":
        return None
    name, algorithm = row.get("kid"), row.get("alg")
    if not isinstance(name, str | None) or not isinstance(algorithm, str | None):
        return None
    try:
        if row.get("kty") == "RSA":
            key = _rsa_key(row)
        elif row.get("kty") == "EC":
            key = _ec_key(row)
        else:
            return None
    except (ValueError, KeyError, TypeError):
        return None
    return None if key is None else VerificationKey(name, str(row["kty"]), algorithm, key)


def _rsa_key(row: Mapping[str, Any]) -> Any:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

    modulus, exponent = _number(row["n"]), _number(row["e"])
    if not _SMALLEST_RSA <= modulus.bit_length() <= _LARGEST_RSA or exponent.bit_length() > 64:
        return None
    return RSAPublicNumbers(exponent, modulus).public_key()


def _ec_key(row: Mapping[str, Any]) -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    curves = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}
    curve = curves.get(row["crv"])
    if curve is None:
        return None
    return ec.EllipticCurvePublicNumbers(_number(row["x"]), _number(row["y"]), curve).public_key()


def _number(text: str) -> int:
    return int.from_bytes(decoded(text), "big")


def decoded(text: str) -> bytes:
    """Base64 for addresses, without its padding; ValueError."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (NotBase64, ValueError, TypeError):
        raise ValueError("not in base64") from None


class SignedToken(NamedTuple):
    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signed: bytes
    signature: bytes

    def __repr__(self) -> str:
        return "SignedToken([hidden])"


def parse_token(token: str) -> SignedToken:
    """Its three parts, nothing of which is believed yet."""
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenRefused("it is not of three parts")
    try:
        header, claims = (json.loads(decoded(part)) for part in parts[:2])
        signature = decoded(parts[2])
    except (ValueError, RecursionError):
        raise TokenRefused("its parts cannot be read") from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise TokenRefused("its parts are no objects")
    if "crit" in header:
        raise TokenRefused("it needs extensions that are not known here")
    return SignedToken(header, claims, f"{parts[0]}.{parts[1]}".encode(), signature)


def check_signature(token: SignedToken, keys: Sequence[VerificationKey]) -> None:
    """TokenRefused unless one of these keys has signed it."""
    algorithm, name = token.header.get("alg"), token.header.get("kid")
    if algorithm not in ALGORITHMS:
        raise TokenRefused("it is not signed by an algorithm that is taken here")
    fitting = [key for key in keys if _fits(key, algorithm)]
    if name is not None:
        fitting = [key for key in fitting if key.id == name]
    if not fitting:
        raise UnknownKey("the key it was signed with is not known")
    if not any(_has_signed(key, algorithm, token) for key in fitting[:_MOST_TRIED]):
        raise TokenRefused("its signature is not right")


def _fits(key: VerificationKey, algorithm: str) -> bool:
    if key.algorithm not in (None, algorithm):
        return False
    if algorithm in _CURVES:
        return key.type == "EC" and f"P-{key.key.curve.key_size}" == _CURVES[algorithm][0]
    return key.type == "RSA"


def _has_signed(key: VerificationKey, algorithm: str, token: SignedToken) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    digest = getattr(hashes, _HASHES[algorithm[2:]])()
    try:
        if algorithm in _CURVES:
            size = _CURVES[algorithm][1]
            if len(token.signature) != 2 * size:
                return False
            halves = (int.from_bytes(half, "big") for half in (token.signature[:size], token.signature[size:]))
            key.key.verify(encode_dss_signature(*halves), token.signed, ec.ECDSA(digest))
        elif algorithm.startswith("PS"):
            filling = padding.PSS(mgf=padding.MGF1(digest), salt_length=digest.digest_size)
            key.key.verify(token.signature, token.signed, filling, digest)
        else:
            key.key.verify(token.signature, token.signed, padding.PKCS1v15(), digest)
    except InvalidSignature:
        return False
    return True
