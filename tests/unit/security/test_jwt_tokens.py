"""Signed tokens: every algorithm, claims that are not taken, and forgeries."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest

from moldau.security.jws import ALGORITHMS, TokenRefused, UnknownKey, parse_keys, parse_token
from moldau.security.jwt import Claims, TokenRules, signed_claims, unsigned_claims
from token_issuer import Issuer, part, text, unsigned

NOW = 1_700_000_000
GOOD = {"sub": "jan", "iat": NOW - 10, "exp": NOW + 600, "scope": "read write"}
ISSUER, OTHER = Issuer(), Issuer("two")
KEYS = parse_keys(ISSUER.document())


def judged(token: str, **rules: Any) -> Claims:
    return signed_claims(token, KEYS, TokenRules(**rules), NOW * 1000)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(algorithm: str) -> None:
    claims = judged(ISSUER.token(GOOD, algorithm))
    assert claims == Claims("jan", (NOW + 600) * 1000, frozenset({"read", "write"}))
    token, _, signature = ISSUER.token(GOOD, algorithm).rpartition(".")
    raw = bytearray(parse_token(f"{token}.{signature}").signature)
    for position in (0, len(raw) // 2, len(raw) - 1):
        forged = bytearray(raw)
        forged[position] ^= 1
        with pytest.raises(TokenRefused):
            judged(f"{token}.{text(forged)}")
    for wrong in (b"", raw[:-1], raw + b"\0"):
        with pytest.raises(TokenRefused):
            judged(f"{token}.{text(bytes(wrong))}")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": NOW}, "has expired"),
        ({"exp": None}, "until when"),
        ({"exp": "soon"}, "a time in it"),
        ({"exp": True}, "a time in it"),
        ({"exp": -1}, "a time in it"),
        ({"exp": 1e300}, "a time in it"),
        ({"exp": [NOW]}, "a time in it"),
        ({"iat": None}, "when it was made"),
        ({"iat": NOW + 60}, "in the future"),
        ({"iat": NOW + 5, "exp": NOW + 2}, "in the future|before it was made"),
        ({"nbf": NOW + 60}, "does not count yet"),
        ({"sub": None}, "whom it is about"),
        ({"sub": "  "}, "whom it is about"),
        ({"sub": 7}, "whom it is about"),
        ({"sub": "j" * 1025}, "whom it is about"),
        ({"scope": 7}, "scopes"),
        ({"scope": ["read", 7]}, "scopes"),
        ({"aud": "somebody"}, "none is expected"),
        ({"aud": []}, "none is expected"),
    ],
)
def test_claims_that_are_not_taken(changes: dict[str, Any], why: str) -> None:
    claims = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    with pytest.raises(TokenRefused, match=why) as refusal:
        judged(ISSUER.token(claims))
    assert "jan" not in str(refusal.value)


def test_clocks_may_differ_a_little() -> None:
    early, late = {**GOOD, "iat": NOW + 20, "nbf": NOW + 20}, {**GOOD, "iat": NOW - 60, "exp": NOW - 20}
    for claims in (early, late):
        assert judged(ISSUER.token(claims), skew_seconds=30).subject == "jan"
        with pytest.raises(TokenRefused):
            judged(ISSUER.token(claims), skew_seconds=10)


@pytest.mark.parametrize(
    ("audience", "taken"),
    [
        ("kafka", True),
        (["x", "kafka"], True),
        (["x"], False),
        ("kafka2", False),
        (None, False),
        ([7], False),
        ({}, False),
    ],
)
def test_audiences(audience: object, taken: bool) -> None:
    claims = GOOD if audience is None else {**GOOD, "aud": audience}
    rules = {"audiences": frozenset({"kafka", "moldau"})}
    if taken:
        assert judged(ISSUER.token(claims), **rules).subject == "jan"
    else:
        with pytest.raises(TokenRefused, match="another audience"):
            judged(ISSUER.token(claims), **rules)


def test_issuer_and_names_of_claims() -> None:
    claims = {**GOOD, "iss": "https://issuer", "user": "eva", "scp": ["read"]}
    found = judged(ISSUER.token(claims), issuer="https://issuer", subject_claim="user", scope_claim="scp")
    assert (found.subject, found.scopes) == ("eva", frozenset({"read"}))
    for other in ({**claims, "iss": "https://other"}, GOOD):
        with pytest.raises(TokenRefused, match="issuer"):
            judged(ISSUER.token(other), issuer="https://issuer")
    assert judged(ISSUER.token(GOOD), scopes=frozenset({"read"})).subject == "jan"
    with pytest.raises(TokenRefused, match="lacks a scope"):
        judged(ISSUER.token(GOOD), scopes=frozenset({"admin"}))


def test_forgeries() -> None:
    signed = ISSUER.token(GOOD)
    header, claims, signature = signed.split(".")
    # Somebody else's claims under a good signature.
    with pytest.raises(TokenRefused, match="signature"):
        judged(f"{header}.{part({**GOOD, 'sub': 'eve'})}.{signature}")
    # No signature, and the public key used as a secret.
    with pytest.raises(TokenRefused, match="algorithm"):
        judged(unsigned(GOOD))
    document = json.dumps(ISSUER.rows()[0]).encode()
    content = f"{part({'alg': 'HS256', 'kid': 'one-rsa'})}.{claims}"
    with pytest.raises(TokenRefused, match="algorithm"):
        judged(f"{content}.{text(hmac.digest(document, content.encode(), hashlib.sha256))}")
    # A key of another issuer, by its own name and by one that is known.
    with pytest.raises(UnknownKey):
        judged(OTHER.token(GOOD))
    with pytest.raises(TokenRefused, match="signature"):
        judged(OTHER.token(GOOD, kid="one-rsa"))
    # A key that stands in the token itself is no key.
    with pytest.raises(TokenRefused):
        judged(OTHER.token(GOOD, kid="one-rsa", jwk=OTHER.rows()[0]))
    # A curve's key under RSA's name.
    with pytest.raises(UnknownKey):
        judged(ISSUER.token(GOOD, "ES256", kid="one-rsa"))


def test_a_token_without_the_name_of_its_key() -> None:
    assert judged(ISSUER.token(GOOD, kid=None)).subject == "jan"
    with pytest.raises(TokenRefused, match="signature"):
        judged(OTHER.token(GOOD, kid=None))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a",
        "a.b",
        "a.b.c.d",
        "!.!.!",
        f"{part([])}.{part(GOOD)}.",
        f"{part({'alg': 'RS256'})}.{part([])}.",
        f"{part({'alg': 'none'})}.{part([])}.",
        f"{part({'alg': 'none'})}.{part(GOOD)}..x",
        f"{part({'alg': 'RS256', 'crit': ['x']})}.{part(GOOD)}.",
        f"{part({'alg': ['RS256']})}.{part(GOOD)}.",
        f"{text(b'[' * 100_000)}.{part(GOOD)}.",
        f"{text(b'{')}.{part(GOOD)}.",
        f"{part({'alg': 'RS256'})}.{text(b'{chr(34)exp{chr(34)}:' + b'9' * 5000 + b'}')}.",
    ],
)
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(TokenRefused):
        judged(token)
    with pytest.raises(TokenRefused):
        unsigned_claims(token, TokenRules(), NOW * 1000)


def test_unsigned_tokens_for_those_who_want_them() -> None:
    rules = TokenRules(needs_issue_time=False, any_audience=True)
    claims = {"sub": "jan", "exp": NOW + 5, "aud": "x"}
    assert unsigned_claims(unsigned(claims), rules, NOW * 1000).subject == "jan"
    with pytest.raises(TokenRefused, match="signed"):
        unsigned_claims(ISSUER.token(GOOD), rules, NOW * 1000)
    with pytest.raises(TokenRefused, match="signed"):
        unsigned_claims(unsigned(claims) + "YWJj", rules, NOW * 1000)


def odd(bits: int) -> str:
    """A number of so many bits, as keys are written."""
    return text((1 << (bits - 1) | 1).to_bytes(-(-bits // 8), "big"))


def test_keys_that_are_passed_over() -> None:
    row = ISSUER.rows()[0]
    others: list[dict[str, Any]] = [
        {"kty": "oct", "k": "c2VjcmV0"},
        {**row, "use": "enc", "kid": "enc"},
        {**row, "n": "AQAB", "kid": "small"},
        {**row, "n": odd(2047), "kid": "too short"},
        {**row, "n": odd(16_385), "kid": "too long"},
        {**row, "e": odd(65), "kid": "too slow"},
        {**row, "n": "!!!", "kid": "broken"},
        {**row, "n": 7, "kid": "number"},
        {**row, "kid": 7},
        {**ISSUER.rows()[1], "x": "AQAB", "kid": "off the curve"},
        {**ISSUER.rows()[1], "crv": "P-192", "kid": "short"},
        {"kty": "EC"},
    ]
    assert {key.id for key in parse_keys(ISSUER.document(*others))} == {
        "one-rsa",
        "one-ES256",
        "one-ES384",
        "one-ES512",
    }


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"{}", b'{"keys": 7}', b'{"keys": []}', b'{"keys": [7]}', b"\xff", b"[" * 100_000]
)
def test_what_is_no_set_of_keys(document: bytes) -> None:
    with pytest.raises(ValueError, match=r"it is not|its keys|it has no key"):
        parse_keys(document)


def test_nothing_secret_shows_itself() -> None:
    assert "jan" not in repr(parse_token(ISSUER.token(GOOD)))
