"""DescribeUserScramCredentials (key 50): which users have SCRAM credentials, for which mechanisms, with how many
iterations (KIP-554). Salts and keys are never told; version 0 only."""

from __future__ import annotations

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
from moldau.slicing import Work, in_order, pieces


def describe_user_scram_credentials(
    context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> Work[DescribeUserScramCredentialsResponse]:
    require_cluster(context, Operation.DESCRIBE)
    known: dict[str, list[tuple[int, int]]] = {}
    for some in pieces(context.services.metadata.image.scram.items()):
        for (mechanism, user), credential in some:
            known.setdefault(user, []).append((mechanism, credential.iterations))
        yield
    times: dict[str, int] = {}
    for row in request.users or ():
        times[row.name] = times.get(row.name, 0) + 1
        yield
    response = DescribeUserScramCredentialsResponse(error_message=None)
    # Nobody named means everybody.
    for user in times or (yield from in_order(known)):
        response.results.append(_result(user, times.get(user, 1), known.get(user)))
        yield
    return response


def _result(user: str, times: int, known: list[tuple[int, int]] | None) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return _refused(
            user,
            ErrorCode.DUPLICATE_RESOURCE,
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}",
        )
    if known is None:
        return _refused(
            user, ErrorCode.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}"
        )
    infos = [CredentialInfo(mechanism=mechanism, iterations=iterations) for mechanism, iterations in sorted(known)]
    return DescribeUserScramCredentialsResult(user=user, error_message=None, credential_infos=infos)


def _refused(user: str, code: ErrorCode, message: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=user, error_code=code, error_message=message)


def error_response(
    request: DescribeUserScramCredentialsRequest, version: int, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    """Kafka says it for each user, too, without naming him."""
    refused = [_refused("", error.code, error.message) for _ in request.users or ()]
    return DescribeUserScramCredentialsResponse(error_code=error.code, error_message=error.message, results=refused)


DESCRIBE_USER_SCRAM_CREDENTIALS: Final = Api(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    DescribeUserScramCredentialsRequest,
    describe_user_scram_credentials,
    error_response,
)
