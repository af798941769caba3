"""SCRAM credentials and delegation tokens between their records and what the node works with."""

from __future__ import annotations

from typing import Final, NamedTuple

from moldau.protocol.messages.delegation_token_record import DelegationTokenRecord
from moldau.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from moldau.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from moldau.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from moldau.security.delegation_token import DelegationToken, principal_from_text
from moldau.security.scram_credential import ScramCredential

# The metadata.version from which on a cluster may have them.
SCRAM_SINCE: Final = 11
TOKENS_SINCE: Final = 14


class ScramKey(NamedTuple):
    """A user has one credential for each mechanism, which stands here as its number."""

    mechanism: int
    user: str


def scram_key(record: UserScramCredentialRecord | RemoveUserScramCredentialRecord) -> ScramKey:
    return ScramKey(record.mechanism, record.name)


def credential_from_record(record: UserScramCredentialRecord) -> ScramCredential:
    return ScramCredential(bytes(record.salt), bytes(record.stored_key), bytes(record.server_key), record.iterations)


def credential_record(key: ScramKey, credential: ScramCredential) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=key.user,
        mechanism=key.mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def credential_removal(key: ScramKey) -> RemoveUserScramCredentialRecord:
    return RemoveUserScramCredentialRecord(name=key.user, mechanism=key.mechanism)


def token_from_record(record: DelegationTokenRecord) -> DelegationToken:
    return DelegationToken(
        record.token_id,
        principal_from_text(record.owner),
        principal_from_text(record.requester),
        tuple(principal_from_text(renewer) for renewer in record.renewers),
        record.issue_timestamp,
        record.max_timestamp,
        record.expiration_timestamp,
    )


def token_record(token: DelegationToken) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner=str(token.owner),
        requester=str(token.requester),
        renewers=[str(renewer) for renewer in token.renewers],
        issue_timestamp=token.issued_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expiry_ms,
        token_id=token.id,
    )


def token_removal(token_id: str) -> RemoveDelegationTokenRecord:
    return RemoveDelegationTokenRecord(token_id=token_id)
