"""Delegation tokens: asked for, prolonged, ended, and looked at."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field

from moldau.client.conversation import Ask, Conversation, retrying
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import create_delegation_token as creating
from moldau.protocol.messages import describe_delegation_token as describing
from moldau.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from moldau.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse


@dataclass(slots=True, frozen=True)
class TokenDescription:
    """Times are milliseconds since 1970. The HMAC is the token's password, and does not show itself."""

    id: str
    owner: str
    requester: str
    issued_ms: int
    expiry_ms: int
    max_ms: int
    hmac: bytes = field(repr=False)
    renewers: tuple[str, ...] = ()

    @property
    def password(self) -> str:
        """What to log in with, under the token's id as the user name."""
        return b64encode(self.hmac).decode()


def create_token(
    renewers: Sequence[str] = (), *, owner: str | None = None, max_lifetime_ms: int = -1
) -> Conversation[TokenDescription]:
    """For whoever asks, or for the user `owner`; `renewers` are users."""
    request = creating.CreateDelegationTokenRequest(
        owner_principal_type=None if owner is None else "User",
        owner_principal_name=owner,
        renewers=[creating.CreatableRenewers(principal_type="User", principal_name=name) for name in renewers],
        max_lifetime_ms=max_lifetime_ms,
    )

    def attempt() -> Conversation[TokenDescription]:
        answer: creating.CreateDelegationTokenResponse = yield Ask(request)
        _check(answer.error_code)
        return TokenDescription(
            answer.token_id,
            f"{answer.principal_type}:{answer.principal_name}",
            f"{answer.token_requester_principal_type}:{answer.token_requester_principal_name}",
            answer.issue_timestamp_ms,
            answer.expiry_timestamp_ms,
            answer.max_timestamp_ms,
            bytes(answer.hmac),
            tuple(f"User:{name}" for name in renewers),
        )

    return retrying(attempt)


def renew_token(hmac: bytes, period_ms: int = -1) -> Conversation[int]:
    """When it runs out from now on."""

    def attempt() -> Conversation[int]:
        request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms)
        answer: RenewDelegationTokenResponse = yield Ask(request)
        _check(answer.error_code)
        return answer.expiry_timestamp_ms

    return retrying(attempt)


def expire_token(hmac: bytes, period_ms: int = -1) -> Conversation[int]:
    """Ends it at once, or after `period_ms`; when that is."""

    def attempt() -> Conversation[int]:
        request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)
        answer: ExpireDelegationTokenResponse = yield Ask(request)
        _check(answer.error_code)
        return answer.expiry_timestamp_ms

    return retrying(attempt)


def describe_tokens(owners: Sequence[str] | None = None) -> Conversation[list[TokenDescription]]:
    """All that one may see, or those of these users."""
    asked = None
    if owners is not None:
        asked = [describing.DescribeDelegationTokenOwner(principal_type="User", principal_name=one) for one in owners]
    request = describing.DescribeDelegationTokenRequest(owners=asked)

    def attempt() -> Conversation[list[TokenDescription]]:
        answer: describing.DescribeDelegationTokenResponse = yield Ask(request)
        _check(answer.error_code)
        return [
            TokenDescription(
                row.token_id,
                f"{row.principal_type}:{row.principal_name}",
                f"{row.token_requester_principal_type}:{row.token_requester_principal_name}",
                row.issue_timestamp,
                row.expiry_timestamp,
                row.max_timestamp,
                bytes(row.hmac),
                tuple(f"{each.principal_type}:{each.principal_name}" for each in row.renewers),
            )
            for row in answer.tokens
        ]

    return retrying(attempt)


def _check(number: int) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, code.text)
