"""What a token claims (RFC 7519), and whether it is taken: who it is about, for whom it was made, until when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from moldau.dataclass import dataclass
from moldau.security.jws import SignedToken, TokenRefused, VerificationKey, check_signature, parse_token

_LONGEST_NAME: Final = 1024
# Until the year 9999: what is later is no time, and may not fit into an answer.
LATEST: Final = 253_402_300_799


@dataclass(frozen=True, slots=True)
class TokenRules:
    """As the settings have it. Without audiences a token that names some is refused: it was made for somebody else."""

    subject_claim: str = "sub"
    scope_claim: str = "scope"
    audiences: frozenset[str] = frozenset()
    issuer: str | None = None
    skew_seconds: float = 0.0
    # All of these a token must have.
    scopes: frozenset[str] = frozenset()
    # Kafka's signed tokens say when they were made, unsigned ones need not.
    needs_issue_time: bool = True
    # Whom an unsigned token was made for says nothing.
    any_audience: bool = False


class Claims(NamedTuple):
    subject: str
    expires_ms: int
    scopes: frozenset[str]


def signed_claims(token: str, keys: Sequence[VerificationKey], rules: TokenRules, now_ms: int) -> Claims:
    """TokenRefused unless all is well."""
    parsed = parse_token(token)
    check_signature(parsed, keys)
    return _checked(parsed.claims, rules, now_ms)


def unsigned_claims(token: str, rules: TokenRules, now_ms: int) -> Claims:
    """Of a token that anybody could have made: for trying things out, as with Kafka's unsecured validator."""
    parsed: SignedToken = parse_token(token)
    if parsed.header.get("alg") != "none" or parsed.signature:
        raise TokenRefused("it is signed, and only unsigned ones are taken here")
    return _checked(parsed.claims, rules, now_ms)


def _checked(claims: Mapping[str, Any], rules: TokenRules, now_ms: int) -> Claims:
    now, skew = now_ms / 1000, rules.skew_seconds
    expiry = _time(claims, "exp")
    if expiry is None:
        raise TokenRefused("it does not say until when it counts")
    if expiry + skew <= now:
        raise TokenRefused("it has expired")
    begin, issued = _time(claims, "nbf"), _time(claims, "iat")
    if begin is not None and begin - skew > now:
        raise TokenRefused("it does not count yet")
    if issued is None and rules.needs_issue_time:
        raise TokenRefused("it does not say when it was made")
    if issued is not None and issued - skew > now:
        raise TokenRefused("it was made in the future")
    if issued is not None and issued > expiry:
        raise TokenRefused("it expired before it was made")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise TokenRefused("it is not from the issuer that is expected")
    _check_audience(claims, rules)
    scopes = _scopes(claims.get(rules.scope_claim))
    if not rules.scopes <= scopes:
        raise TokenRefused("it lacks a scope that is required")
    subject = claims.get(rules.subject_claim)
    if not isinstance(subject, str) or not subject.strip() or len(subject) > _LONGEST_NAME:
        raise TokenRefused("it does not say whom it is about")
    return Claims(subject, int(expiry * 1000), scopes)


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST:
        raise TokenRefused("a time in it is none")
    return float(value)


def _check_audience(claims: Mapping[str, Any], rules: TokenRules) -> None:
    value = claims.get("aud")
    if rules.any_audience:
        return
    named = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    if value is not None and not rules.audiences:
        raise TokenRefused("it names its audiences, and none is expected here")
    if rules.audiences and not rules.audiences.intersection(one for one in named if isinstance(one, str)):
        raise TokenRefused("it was made for another audience")


def _scopes(value: Any) -> frozenset[str]:
    """Words of a text, or a list of texts."""
    if value is None:
        return frozenset()
    words = value.split() if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise TokenRefused("its scopes are none")
    return frozenset(words)
