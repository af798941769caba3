"""Delegation tokens (KIP-48, KIP-373): issued, renewed, ended, and removed when they have run out.

A token is known to the cluster by its id; its HMAC, which is the password, is worked out from the id with
`delegation.token.secret.key` wherever it is needed and written nowhere. Who logged in with a token, or with nothing,
gets none.
"""

from __future__ import annotations

from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.controller.decision import MAX_RECORDS, Decision
from moldau.controller.features import FeatureControl
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.credentials import TOKENS_SINCE, token_from_record, token_record, token_removal
from moldau.metadata.features import release_of
from moldau.metadata.records import DelegationTokenRecord, Message, RemoveDelegationTokenRecord
from moldau.protocol.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from moldau.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from moldau.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from moldau.runtime.ports import Clock, Random
from moldau.security.delegation_token import DelegationToken
from moldau.security.principal import USER, Principal
from moldau.timeline import SnapshotRegistry, TimelineMap
from moldau.types import uuid_to_text

_MOST_RENEWERS: Final = 1000
_LONGEST_NAME: Final = 1024


class DelegationTokenControl:
    def __init__(
        self, registry: SnapshotRegistry, config: BrokerConfig, features: FeatureControl, clock: Clock, random: Random
    ) -> None:
        self._config = config
        self._features = features
        self._clock = clock
        self._random = random
        self._tokens: TimelineMap[str, DelegationToken] = TimelineMap(registry)
        # By HMAC, for those that were looked for; ids have one for ever, so an undo need not touch it.
        self._ids: dict[bytes, str] = {}

    # --------------------------------------------------------------------------------------------------- decisions

    def create(
        self, request: CreateDelegationTokenRequest, requester: Principal, version: int
    ) -> Decision[CreateDelegationTokenResponse]:
        secret = self._secret()
        if self._features.metadata_version < TOKENS_SINCE:
            needed = release_of(TOKENS_SINCE)
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"Delegation tokens need a metadata.version of {needed} or later."
            )
        owner = owner_of(request, requester)
        renewers = tuple(Principal(one.principal_type, one.principal_name) for one in request.renewers)
        _check_names(owner, *renewers)
        now, config = self._clock.now_ms(), self._config
        longest = config.delegation_token_max_lifetime_ms
        if request.max_lifetime_ms > 0:
            longest = min(longest, request.max_lifetime_ms)
        max_ms = now + longest
        token = DelegationToken(
            uuid_to_text(self._random.bytes(16)),
            Principal(owner.kind, owner.name),
            Principal(requester.kind, requester.name),
            renewers,
            now,
            max_ms,
            min(max_ms, now + config.delegation_token_expiry_time_ms),
        )
        response = CreateDelegationTokenResponse(
            principal_type=token.owner.kind,
            principal_name=token.owner.name,
            token_requester_principal_type=token.requester.kind if version >= 3 else "",
            token_requester_principal_name=token.requester.name if version >= 3 else "",
            issue_timestamp_ms=token.issued_ms,
            expiry_timestamp_ms=token.expiry_ms,
            max_timestamp_ms=token.max_ms,
            token_id=token.id,
            hmac=_hmac(secret, token.id),
        )
        return Decision([token_record(token)], response)

    def renew(self, request: RenewDelegationTokenRequest, who: Principal) -> Decision[RenewDelegationTokenResponse]:
        token, now = self._find(bytes(request.hmac)), self._clock.now_ms()
        _check_alive(token, now)
        _check_renewer(token, who)
        period = self._config.delegation_token_expiry_time_ms
        if request.renew_period_ms > 0:
            period = min(period, request.renew_period_ms)
        renewed = token._replace(expiry_ms=min(token.max_ms, now + period))
        return Decision([token_record(renewed)], RenewDelegationTokenResponse(expiry_timestamp_ms=renewed.expiry_ms))

    def expire(self, request: ExpireDelegationTokenRequest, who: Principal) -> Decision[ExpireDelegationTokenResponse]:
        """At once for a negative period, else when it is over."""
        token, now = self._find(bytes(request.hmac)), self._clock.now_ms()
        _check_renewer(token, who)
        record: Message
        if request.expiry_time_period_ms < 0:
            expiry, record = now, token_removal(token.id)
        else:
            _check_alive(token, now)
            expiry = min(token.max_ms, now + request.expiry_time_period_ms)
            record = token_record(token._replace(expiry_ms=expiry))
        return Decision([record], ExpireDelegationTokenResponse(expiry_timestamp_ms=expiry))

    def sweep(self) -> Decision[bool]:
        """Those that have run out are removed; whether there are more of them."""
        now = self._clock.now_ms()
        over = [token.id for token in self._tokens.values() if token.expiry_ms < now or token.max_ms < now]
        return Decision([token_removal(token_id) for token_id in over[:MAX_RECORDS]], len(over) > MAX_RECORDS)

    # ------------------------------------------------------------------------------------------------------ replay

    def replay(self, record: DelegationTokenRecord) -> None:
        self._tokens[record.token_id] = token_from_record(record)

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        self._tokens.pop(record.token_id)

    # ----------------------------------------------------------------------------------------------------- details

    def _secret(self) -> str:
        secret = self._config.delegation_token_secret_key
        if secret is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        return secret.value

    def _find(self, given: bytes) -> DelegationToken:
        secret = self._secret()
        if given not in self._ids:
            known = {token_id: found for found, token_id in self._ids.items()}
            self._ids = {known.get(token_id) or _hmac(secret, token_id): token_id for token_id in self._tokens}
        token = self._tokens.get(self._ids.get(given, ""))
        if token is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return token


def owner_of(request: CreateDelegationTokenRequest, requester: Principal) -> Principal:
    """Whoever asks, unless he names somebody else."""
    if not request.owner_principal_name:
        return requester
    return Principal(request.owner_principal_type or USER, request.owner_principal_name)


def _check_names(*principals: Principal) -> None:
    if len(principals) > _MOST_RENEWERS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"A token has at most {_MOST_RENEWERS} renewers.")
    for one in principals:
        if one.kind != USER:
            raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE, f"A token belongs to a {USER} and is renewed by one.")
        if not one.name or len(one.name) > _LONGEST_NAME:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A principal of the token has no name, or one too long.")


def _check_alive(token: DelegationToken, now: int) -> None:
    if token.max_ms < now or token.expiry_ms < now:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)


def _check_renewer(token: DelegationToken, who: Principal) -> None:
    if not token.renewed_by(who):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def _hmac(secret: str, token_id: str) -> bytes:
    from moldau.security.token_hmac import token_hmac  # what it needs is slow to load, and few clusters have tokens

    return token_hmac(secret, token_id)
