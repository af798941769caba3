"""An issuer of tokens: its keys, the document they are found in, and what it signs."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
CURVES = {"ES256": (ec.SECP256R1(), 32), "ES384": (ec.SECP384R1(), 48), "ES512": (ec.SECP521R1(), 66)}


def text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value: object) -> str:
    return text(json.dumps(value).encode())


def number(value: int) -> str:
    return text(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Issuer:
    """`key_size` is that of its RSA key; a weak one is for tests of what is not taken."""

    def __init__(self, name: str = "one", key_size: int = 2048) -> None:
        self.name = name
        self.rsa = rsa.generate_private_key(65537, key_size)
        self.curves = {algorithm: ec.generate_private_key(curve) for algorithm, (curve, _) in CURVES.items()}

    def rows(self) -> list[dict[str, Any]]:
        numbers = self.rsa.public_key().public_numbers()
        rows: list[dict[str, Any]] = [
            {"kty": "RSA", "kid": f"{self.name}-rsa", "use": "sig", "n": number(numbers.n), "e": number(numbers.e)}
        ]
        for algorithm, key in self.curves.items():
            size = CURVES[algorithm][1]
            point = key.public_key().public_numbers()
            rows.append(
                {
                    "kty": "EC",
                    "kid": f"{self.name}-{algorithm}",
                    "alg": algorithm,
                    "crv": f"P-{key.curve.key_size}",
                    "x": text(point.x.to_bytes(size, "big")),
                    "y": text(point.y.to_bytes(size, "big")),
                }
            )
        return rows

    def document(self, *others: Mapping[str, Any]) -> bytes:
        return json.dumps({"keys": [*others, *self.rows()]}).encode()

    def token(self, claims: Mapping[str, Any], algorithm: str = "RS256", **header: Any) -> str:
        key = f"{self.name}-{algorithm if algorithm in CURVES else 'rsa'}"
        signed = f"{part({'alg': algorithm, 'kid': key, **header})}.{part(claims)}"
        return f"{signed}.{text(self.sign(signed.encode(), algorithm))}"

    def sign(self, content: bytes, algorithm: str) -> bytes:
        digest = HASHES[algorithm[2:]]
        if algorithm in CURVES:
            size = CURVES[algorithm][1]
            halves = decode_dss_signature(self.curves[algorithm].sign(content, ec.ECDSA(digest)))
            return b"".join(half.to_bytes(size, "big") for half in halves)
        if algorithm.startswith("PS"):
            return self.rsa.sign(content, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
        return self.rsa.sign(content, padding.PKCS1v15(), digest)


def unsigned(claims: Mapping[str, Any], **header: Any) -> str:
    return f"{part({'alg': 'none', **header})}.{part(claims)}."
