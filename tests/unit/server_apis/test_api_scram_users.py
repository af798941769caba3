"""SCRAM credentials through the handlers: what is told of them, and in which words something is refused."""

from __future__ import annotations

import pytest
from api_kit import ApiWorld

from moldau.errors import ErrorCode
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from moldau.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from moldau.security.scram import salted_password
from moldau.server.apis.alter_user_scram_credentials import ALTER_USER_SCRAM_CREDENTIALS
from moldau.server.apis.describe_user_scram_credentials import DESCRIBE_USER_SCRAM_CREDENTIALS


def upsertion(name: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    salted = salted_password({1: "sha256", 2: "sha512"}[mechanism], b"secret", b"salt", iterations)
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted
    )


@pytest.fixture
def world() -> ApiWorld:
    world = ApiWorld()
    request = AlterUserScramCredentialsRequest(
        upsertions=[upsertion("jan", 2, 8192), upsertion("jan"), upsertion("eva")]
    )
    response = world.call(ALTER_USER_SCRAM_CREDENTIALS, request, 0)
    assert {row.user: row.error_code for row in response.results} == {"jan": 0, "eva": 0}
    return world


def described(world: ApiWorld, *names: str) -> dict[str, object]:
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names] if names else None)
    response = world.call(DESCRIBE_USER_SCRAM_CREDENTIALS, request, 0)
    assert response.error_code == 0
    return {
        row.user: row.error_code or [(each.mechanism, each.iterations) for each in row.credential_infos]
        for row in response.results
    }


def test_all_users_and_some(world: ApiWorld) -> None:
    everybody = {"eva": [(1, 4096)], "jan": [(1, 4096), (2, 8192)]}
    assert described(world) == everybody
    request = DescribeUserScramCredentialsRequest(users=[])
    assert len(world.call(DESCRIBE_USER_SCRAM_CREDENTIALS, request, 0).results) == 2
    assert described(world, "jan") == {"jan": everybody["jan"]}


def test_users_that_cannot_be_described(world: ApiWorld) -> None:
    assert described(world, "nobody", "jan", "eva", "eva") == {
        "nobody": ErrorCode.RESOURCE_NOT_FOUND,
        "jan": [(1, 4096), (2, 8192)],
        "eva": ErrorCode.DUPLICATE_RESOURCE,
    }


def test_a_request_that_is_refused_as_a_whole(world: ApiWorld) -> None:
    world.quorum.lose_leadership()
    request = AlterUserScramCredentialsRequest(
        upsertions=[upsertion("jan")], deletions=[ScramCredentialDeletion(name="jan", mechanism=2)]
    )
    response = world.call(ALTER_USER_SCRAM_CREDENTIALS, request, 0)
    assert [(row.user, row.error_code) for row in response.results] == [("jan", ErrorCode.NOT_CONTROLLER)]
