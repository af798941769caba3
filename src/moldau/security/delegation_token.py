"""A delegation token (KIP-48): lets in whoever holds it as its owner, until it runs out. Its HMAC is the password."""

from __future__ import annotations

from typing import NamedTuple

from moldau.security.principal import Principal


class DelegationToken(NamedTuple):
    """As the cluster's metadata has it; there is no secret in it."""

    id: str
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issued_ms: int
    # How far it can be renewed.
    max_ms: int
    expiry_ms: int

    def owned_by(self, who: Principal) -> bool:
        """Its owner, and who asked for it on the owner's behalf."""
        return same(who, self.owner) or same(who, self.requester)

    def renewed_by(self, who: Principal) -> bool:
        return self.owned_by(who) or any(same(who, renewer) for renewer in self.renewers)


def same(one: Principal, other: Principal) -> bool:
    """Whoever it is, however he logged in."""
    return one[:2] == other[:2]


def principal_from_text(text: str) -> Principal:
    """`User:name`, as records have it; the name may have colons in it."""
    kind, _, name = text.partition(":")
    return Principal(kind, name)
