"""Passwords of users that authenticate by SCRAM, for brokers that keep them. Objects as kafka-python has them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import partial
from hashlib import pbkdf2_hmac
from os import urandom
from typing import Any, ClassVar

from moldau.client.conversation import CONTROLLER, Ask, Conversation, retrying
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import alter_user_scram_credentials as altering
from moldau.protocol.messages import describe_user_scram_credentials as describing


class ScramMechanism(IntEnum):
    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def hash_name(self) -> str:
        return {1: "sha256", 2: "sha512"}[int(self)]


class UserScramCredentialDeletion:
    def __init__(self, user: str, mechanism: Any) -> None:
        self.user = user
        self.mechanism = _mechanism(mechanism)


class UserScramCredentialUpsertion:
    """The password never leaves the program: brokers are told what can check it."""

    DEFAULT_ITERATIONS: ClassVar[int] = 4096

    def __init__(
        self,
        user: str,
        mechanism: Any,
        password: str | bytes,
        iterations: int | None = None,
        salt: bytes | None = None,
    ) -> None:
        self.user = user
        self.mechanism = _mechanism(mechanism)
        if self.mechanism is ScramMechanism.UNKNOWN:
            raise ValueError("a password is kept for a mechanism that is known")
        self.iterations = self.DEFAULT_ITERATIONS if iterations is None else iterations
        self.salt = urandom(24) if salt is None else salt
        secret = password.encode() if isinstance(password, str) else password
        self.salted_password = pbkdf2_hmac(self.mechanism.hash_name, secret, self.salt, self.iterations)


def alter_credentials(
    deletions: Sequence[UserScramCredentialDeletion], upsertions: Sequence[UserScramCredentialUpsertion]
) -> Conversation[dict[str, KafkaError | None]]:
    """One outcome for each user: the first failure, after which nothing more is changed for him.

    Kafka's controllers refuse requests that name a user twice, so several mechanisms of one go one after the other.
    """
    outcomes: dict[str, KafkaError | None] = {}
    left: list[UserScramCredentialDeletion | UserScramCredentialUpsertion] = [*deletions, *upsertions]
    while left:
        now = {each.user: each for each in reversed(left)}
        left = [each for each in left if now[each.user] is not each]
        found = yield from retrying(partial(_alter, list(now.values())))
        outcomes |= found
        left = [each for each in left if found.get(each.user) is None]
    return outcomes


def _alter(
    alterations: Sequence[UserScramCredentialDeletion | UserScramCredentialUpsertion],
) -> Conversation[dict[str, KafkaError | None]]:
    request = altering.AlterUserScramCredentialsRequest(
        deletions=[
            altering.ScramCredentialDeletion(name=each.user, mechanism=each.mechanism)
            for each in alterations
            if isinstance(each, UserScramCredentialDeletion)
        ],
        upsertions=[
            altering.ScramCredentialUpsertion(
                name=each.user,
                mechanism=each.mechanism,
                iterations=each.iterations,
                salt=each.salt,
                salted_password=each.salted_password,
            )
            for each in alterations
            if isinstance(each, UserScramCredentialUpsertion)
        ],
    )
    response: altering.AlterUserScramCredentialsResponse = yield Ask(request, to=CONTROLLER)
    return {row.user: _problem(row.error_code, row.error_message) for row in response.results}


def describe_credentials(
    users: Sequence[str] | None,
) -> Conversation[dict[str, list[tuple[ScramMechanism, int]] | KafkaError]]:
    """Mechanisms and iterations of users, of all or of those named."""
    names = None if users is None else [describing.UserName(name=user) for user in users]
    request = describing.DescribeUserScramCredentialsRequest(users=names)

    def attempt() -> Conversation[dict[str, list[tuple[ScramMechanism, int]] | KafkaError]]:
        response: describing.DescribeUserScramCredentialsResponse = yield Ask(request)
        problem = _problem(response.error_code, response.error_message)
        if problem is not None:
            raise problem
        return {
            row.user: _problem(row.error_code, row.error_message)
            or [(ScramMechanism(each.mechanism), each.iterations) for each in row.credential_infos]
            for row in response.results
        }

    return retrying(attempt)


def _mechanism(given: Any) -> ScramMechanism:
    return ScramMechanism[given.upper().replace("-", "_")] if isinstance(given, str) else ScramMechanism(given)


def _problem(number: int, message: str | None) -> KafkaError | None:
    code = error_code(number)
    return None if code is ErrorCode.NONE else KafkaError(code, message or code.text)
