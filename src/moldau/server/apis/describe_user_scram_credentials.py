"""DescribeUserScramCredentials (key 50): which users have SCRAM credentials, for which mechanisms, with how many
iterations (KIP-554). Salts and keys are never told; version 0 only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def describe_user_scram_credentials(
    context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    require_cluster(context, Operation.DESCRIBE)
    known: dict[str, list[CredentialInfo]] = {}
    for (mechanism, user), credential in sorted(
        context.services.metadata.image.scram.items(), key=lambda item: (item[0].user, item[0].mechanism)
    ):
        known.setdefault(user, []).append(CredentialInfo(mechanism=mechanism, iterations=credential.iterations))
    # Nobody named means everybody.
    asked = [row.name for row in request.users or ()] or list(known)
    return DescribeUserScramCredentialsResponse(error_message=None, results=list(_results(asked, known)))


def _results(asked: list[str], known: dict[str, list[CredentialInfo]]) -> Iterator[DescribeUserScramCredentialsResult]:
    times: dict[str, int] = {}
    for user in asked:
        times[user] = times.get(user, 0) + 1
    for user, count in times.items():
        if count > 1:
            yield _refused(
                user,
                ErrorCode.DUPLICATE_RESOURCE,
                f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}",
            )
        elif user not in known:
            yield _refused(
                user,
                ErrorCode.RESOURCE_NOT_FOUND,
                f"Attempt to describe a user credential that does not exist: {user}",
            )
        else:
            yield DescribeUserScramCredentialsResult(user=user, error_message=None, credential_infos=known[user])


def _refused(user: str, code: ErrorCode, message: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=user, error_code=code, error_message=message)


def error_response(
    request: DescribeUserScramCredentialsRequest, version: int, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(error_code=error.code, error_message=error.message)


DESCRIBE_USER_SCRAM_CREDENTIALS: Final = Api(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    DescribeUserScramCredentialsRequest,
    describe_user_scram_credentials,
    error_response,
)
