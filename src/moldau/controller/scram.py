"""SCRAM credentials of users: set and removed, each user all or nothing (KIP-554).

A client sends the salted password; what is written is what can check it. Passwords themselves are never here.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from moldau.controller.decision import Decision, check_size
from moldau.controller.features import FeatureControl
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.credentials import (
    SCRAM_SINCE,
    ScramKey,
    credential_from_record,
    credential_record,
    credential_removal,
    scram_key,
)
from moldau.metadata.features import release_of
from moldau.metadata.records import Message, RemoveUserScramCredentialRecord, UserScramCredentialRecord
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from moldau.security.scram_credential import FEWEST_ITERATIONS, HASHES, MECHANISMS, MOST_ITERATIONS, ScramCredential
from moldau.slicing import Work
from moldau.timeline import SnapshotRegistry, TimelineMap

_LONGEST_SALT: Final = 1024
_LONGEST_NAME: Final = 1024

_Asked: TypeAlias = ScramCredentialDeletion | ScramCredentialUpsertion


class ScramControl:
    def __init__(self, registry: SnapshotRegistry, features: FeatureControl) -> None:
        self._features = features
        self._credentials: TimelineMap[ScramKey, ScramCredential] = TimelineMap(registry)

    def alter(self, request: AlterUserScramCredentialsRequest) -> Work[Decision[AlterUserScramCredentialsResponse]]:
        asked: list[_Asked] = [*request.deletions, *request.upsertions]
        check_size(len(asked), "credentials")
        if self._features.metadata_version < SCRAM_SINCE:
            needed = release_of(SCRAM_SINCE)
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"SCRAM credentials need a metadata.version of {needed} or later."
            )
        records: dict[str, list[Message]] = {}
        refused: dict[str, KafkaError] = {}
        seen: set[ScramKey] = set()
        for one in asked:
            found = records.setdefault(one.name, [])
            # What is wrong with a user first is what is said of him.
            if one.name not in refused:
                try:
                    found.append(self._record(one, seen))
                except KafkaError as error:
                    refused[one.name] = error
            yield
        results: list[AlterUserScramCredentialsResult] = []
        written: list[Message] = []
        for name, found in records.items():
            results.append(_result(name, refused.get(name)))
            if name not in refused:
                written += found
            yield
        return Decision(written, AlterUserScramCredentialsResponse(results=results))

    def _record(self, asked: _Asked, seen: set[ScramKey]) -> Message:
        key = ScramKey(asked.mechanism, asked.name)
        if key in seen:
            raise KafkaError(
                ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
            )
        seen.add(key)
        if not asked.name:
            raise _unacceptable("Username must not be empty.")
        if len(asked.name) > _LONGEST_NAME:
            raise _unacceptable("The username is too long.")
        if asked.mechanism not in MECHANISMS:
            raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
        if isinstance(asked, ScramCredentialUpsertion):
            return _upserted(asked)
        if key not in self._credentials:
            raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
        return credential_removal(key)

    def replay(self, record: UserScramCredentialRecord) -> None:
        self._credentials[scram_key(record)] = credential_from_record(record)

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        self._credentials.pop(scram_key(record))


def _upserted(asked: ScramCredentialUpsertion) -> UserScramCredentialRecord:
    from moldau.security.scram import credential_of  # few nodes are ever asked, and it is slow to load

    mechanism = MECHANISMS[asked.mechanism]
    if asked.iterations < FEWEST_ITERATIONS:
        raise _unacceptable(f"Too few iterations; at least {FEWEST_ITERATIONS} are needed")
    if asked.iterations > MOST_ITERATIONS:
        raise _unacceptable(f"Too many iterations; at most {MOST_ITERATIONS} are allowed")
    salt, salted = bytes(asked.salt), bytes(asked.salted_password)
    if not salt or len(salt) > _LONGEST_SALT:
        raise _unacceptable(f"The salt must have from 1 to {_LONGEST_SALT} bytes")
    if len(salted) != {"sha256": 32, "sha512": 64}[HASHES[mechanism]]:
        raise _unacceptable(f"The salted password has not the length that {mechanism} makes")
    credential = credential_of(mechanism, salted, salt, asked.iterations)
    return credential_record(ScramKey(asked.mechanism, asked.name), credential)


def _unacceptable(message: str) -> KafkaError:
    return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, message)


def _result(name: str, error: KafkaError | None) -> AlterUserScramCredentialsResult:
    if error is None:
        return AlterUserScramCredentialsResult(user=name, error_message=None)
    return AlterUserScramCredentialsResult(user=name, error_code=error.code, error_message=error.message)
