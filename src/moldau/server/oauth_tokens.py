"""Tokens of OAUTHBEARER as the settings of a listener judge them, on a worker: a signature takes its time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.config.settings.security import UNSIGNED_TOKENS
from moldau.deferred import Deferred
from moldau.runtime.ports import Runtime
from moldau.security.jaas import OAUTHBEARER_MODULE
from moldau.security.jws import TokenRefused, UnknownKey
from moldau.security.jwt import Claims, TokenRules, signed_claims, unsigned_claims
from moldau.security.oauthbearer import OAuthBearerServer, Validate
from moldau.security.verdict import AuthenticationFailed, ServerMechanism
from moldau.server.jwks import Keys, VerificationKeys

if TYPE_CHECKING:
    from moldau.security.jaas import JaasEntry

logger = logging.getLogger("moldau.server")

_UNSECURED: Final = "unsecured"
_SCHEMES: Final = ("file://", "http://", "https://")
_REFUSED: Final = "the token is not taken"


class SignedTokens:
    """One for each listener: it has the keys, and those who wait for newer ones."""

    def __init__(self, keys: VerificationKeys, rules: TokenRules, runtime: Runtime) -> None:
        self._keys = keys
        self._rules = rules
        self._runtime = runtime

    def validate(self, token: str) -> Deferred[Claims]:
        answer: Deferred[Claims] = Deferred()

        def with_keys(keys: Keys | None, error: BaseException | None, *, last: bool = False) -> None:
            if keys is None:
                # Told by the keys themselves; the token may be good.
                answer.fail(AuthenticationFailed(_REFUSED))
                return
            self._check(token, keys, lambda claims, why: judged(claims, why, last=last))

        def judged(claims: Claims | None, why: BaseException | None, *, last: bool) -> None:
            newer = self._keys.newer() if isinstance(why, UnknownKey) and not last else None
            if newer is not None:
                newer.then(lambda keys, error: with_keys(keys, error, last=True))
            else:
                _settle(answer, claims, why)

        self._keys.get().then(with_keys)
        return answer

    def _check(self, token: str, keys: Keys, done: Callable[[Claims | None, BaseException | None], None]) -> None:
        now_ms = self._runtime.clock.now_ms()
        self._runtime.workers.submit(lambda: signed_claims(token, keys, self._rules, now_ms), done)


def _unsigned(rules: TokenRules, runtime: Runtime) -> Validate:
    def validate(token: str) -> Deferred[Claims]:
        answer: Deferred[Claims] = Deferred()
        now_ms = runtime.clock.now_ms()
        runtime.workers.submit(
            lambda: unsigned_claims(token, rules, now_ms), lambda claims, why: _settle(answer, claims, why)
        )
        return answer

    return validate


def _settle(answer: Deferred[Claims], claims: Claims | None, why: BaseException | None) -> None:
    if claims is not None:
        answer.resolve(claims)
    elif isinstance(why, TokenRefused):
        logger.info("a token is not taken: %s", why)
        answer.fail(AuthenticationFailed(_REFUSED))
    else:
        assert why is not None
        answer.fail(why)


# ------------------------------------------------------------------------------------------------------------ settings


def oauthbearer_maker(
    listener: str, config: BrokerConfig, runtime: Runtime, entry: JaasEntry | None
) -> Callable[[], ServerMechanism]:
    """ConfigError where nothing says how tokens are judged: any would do for somebody who forgot it."""
    name = "OAUTHBEARER"
    if entry is not None and entry.module != OAUTHBEARER_MODULE:
        raise ConfigError(f"the listener {listener} offers {name}, which needs the login module OAuthBearerLoginModule")
    handler = config.for_listener(type(config).sasl_server_callback_handler_class, listener, name)
    url = config.for_listener(type(config).sasl_oauthbearer_jwks_endpoint_url, listener)
    options = {} if entry is None else entry.options
    means_unsigned = handler is None and url is None and any(option.startswith(_UNSECURED) for option in options)
    if handler == UNSIGNED_TOKENS or means_unsigned:
        logger.warning("the listener %s believes unsigned tokens: anybody can be anyone there", listener)
        validate = _unsigned(_unsigned_rules(options), runtime)
        return lambda: OAuthBearerServer(validate)
    if url is None:
        raise ConfigError(
            f"the listener {listener} offers {name}, and sasl.oauthbearer.jwks.endpoint.url is required to check tokens"
        )
    if not url.startswith(_SCHEMES):
        raise ConfigError(f"sasl.oauthbearer.jwks.endpoint.url must begin with one of {', '.join(_SCHEMES)}")
    tokens = SignedTokens(VerificationKeys(url, config, runtime), _signed_rules(listener, config), runtime)
    return lambda: OAuthBearerServer(tokens.validate)


def _signed_rules(listener: str, config: BrokerConfig) -> TokenRules:
    audiences = config.for_listener(type(config).sasl_oauthbearer_expected_audience, listener)
    return TokenRules(
        subject_claim=config.for_listener(type(config).sasl_oauthbearer_sub_claim_name, listener),
        scope_claim=config.for_listener(type(config).sasl_oauthbearer_scope_claim_name, listener),
        audiences=frozenset(audiences),
        issuer=config.for_listener(type(config).sasl_oauthbearer_expected_issuer, listener),
        skew_seconds=config.for_listener(type(config).sasl_oauthbearer_clock_skew_seconds, listener),
    )


def _unsigned_rules(options: Mapping[str, str]) -> TokenRules:
    skew = options.get("unsecuredValidatorAllowableClockSkewMs", "0")
    if not (skew.isascii() and skew.isdigit() and len(skew) < 12):
        raise ConfigError("unsecuredValidatorAllowableClockSkewMs must be a number of milliseconds")
    return TokenRules(
        subject_claim=options.get("unsecuredValidatorPrincipalClaimName", "sub"),
        scope_claim=options.get("unsecuredValidatorScopeClaimName", "scope"),
        skew_seconds=int(skew) / 1000,
        scopes=frozenset(options.get("unsecuredValidatorRequiredScope", "").split()),
        needs_issue_time=False,
        any_audience=True,
    )
