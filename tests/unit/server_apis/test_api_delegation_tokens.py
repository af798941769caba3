"""Delegation tokens through the handlers: who may ask at all, and which tokens one is told of."""

from __future__ import annotations

from typing import Any

import pytest
from api_kit import ApiWorld, versions

from moldau.errors import ErrorCode
from moldau.protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from moldau.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from moldau.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from moldau.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from moldau.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from moldau.security.principal import ANONYMOUS, Principal, user
from moldau.server.apis.create_delegation_token import CREATE_DELEGATION_TOKEN
from moldau.server.apis.describe_delegation_token import DESCRIBE_DELEGATION_TOKEN
from moldau.server.apis.expire_delegation_token import EXPIRE_DELEGATION_TOKEN
from moldau.server.apis.renew_delegation_token import RENEW_DELEGATION_TOKEN
from moldau.server.authorization import Authorization

REQUESTS = {
    CREATE_DELEGATION_TOKEN: CreateDelegationTokenRequest(),
    RENEW_DELEGATION_TOKEN: RenewDelegationTokenRequest(),
    EXPIRE_DELEGATION_TOKEN: ExpireDelegationTokenRequest(),
    DESCRIBE_DELEGATION_TOKEN: DescribeDelegationTokenRequest(),
}


@pytest.fixture
def world() -> ApiWorld:
    return ApiWorld({"delegation.token.secret.key": "a-secret"})


def create(world: ApiWorld, name: str, *renewers: str, version: int = 3) -> Any:
    world.principal = user(name)
    request = CreateDelegationTokenRequest(
        renewers=[CreatableRenewers(principal_type="User", principal_name=one) for one in renewers]
    )
    return world.call(CREATE_DELEGATION_TOKEN, request, version)


def seen(world: ApiWorld, who: str, *owners: str, version: int = 3) -> list[Any]:
    world.principal = user(who)
    asked = [DescribeDelegationTokenOwner(principal_type="User", principal_name=one) for one in owners] or None
    response = world.call(DESCRIBE_DELEGATION_TOKEN, DescribeDelegationTokenRequest(owners=asked), version)
    assert response.error_code == 0
    tokens: list[Any] = response.tokens
    return tokens


@pytest.mark.parametrize("api", REQUESTS, ids=lambda api: api.key.name)
@pytest.mark.parametrize("who", [ANONYMOUS, Principal("User", "jan", by_token=True)], ids=["nobody", "by token"])
def test_who_may_not_ask(world: ApiWorld, api: Any, who: Principal) -> None:
    world.principal = who
    for version in versions(api):
        response = world.call(api, REQUESTS[api], version)
        assert response.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize("api", REQUESTS, ids=lambda api: api.key.name)
def test_a_cluster_without_them(api: Any) -> None:
    world = ApiWorld()
    world.principal = user("jan")
    assert world.call(api, REQUESTS[api], 2).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.parametrize("version", versions(DESCRIBE_DELEGATION_TOKEN))
def test_one_sees_ones_own_and_those_one_may_renew(world: ApiWorld, version: int) -> None:
    mine, shared = create(world, "jan", version=version), create(world, "eva", "jan", version=version)
    create(world, "eve")
    assert [token.token_id for token in seen(world, "jan", version=version)] == [mine.token_id, shared.token_id]
    (told,) = seen(world, "jan", "eva", version=version)
    assert (told.hmac, told.principal_name, told.issue_timestamp) == (shared.hmac, "eva", shared.issue_timestamp_ms)
    assert [one.principal_name for one in told.renewers] == ["jan"]
    assert seen(world, "jan", "eve") == []
    assert seen(world, "stranger") == []


def test_nobody_named_is_nobody(world: ApiWorld) -> None:
    create(world, "jan")
    response = world.call(DESCRIBE_DELEGATION_TOKEN, DescribeDelegationTokenRequest(owners=[]), 3)
    assert response.tokens == []


def test_renewed_and_ended(world: ApiWorld) -> None:
    token = create(world, "jan")
    for version in (1, 2):
        renewed = world.call(RENEW_DELEGATION_TOKEN, RenewDelegationTokenRequest(hmac=token.hmac), version)
        assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, token.expiry_timestamp_ms)
    unknown = world.call(RENEW_DELEGATION_TOKEN, RenewDelegationTokenRequest(hmac=b"?"), 2)
    assert unknown.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    ended = world.call(
        EXPIRE_DELEGATION_TOKEN, ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1), 2
    )
    assert ended.error_code == 0
    assert seen(world, "jan") == []


# --------------------------------------------------------------------------------------------------------- permissions


def permit(world: ApiWorld, operation: Operation, kind: ResourceType, name: str) -> None:
    acl = Acl(kind, name, PatternType.LITERAL, "User:jan", "*", operation, Permission.ALLOW)
    world.settle(world.controller.create_acls([acl]))


@pytest.fixture
def guarded(world: ApiWorld) -> ApiWorld:
    world.services.authorization = Authorization(world.loader, frozenset({"User:root"}), allow_everyone=False)
    world.services.authorization.is_ready = True
    return world


def create_for_eva(world: ApiWorld, who: str) -> int:
    world.principal = user(who)
    request = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="eva")
    code: int = world.call(CREATE_DELEGATION_TOKEN, request, 3).error_code
    return code


def test_tokens_for_others_need_a_permission(guarded: ApiWorld) -> None:
    assert create(guarded, "jan").error_code == 0
    assert create_for_eva(guarded, "jan") == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    permit(guarded, Operation.CREATE_TOKENS, ResourceType.USER, "User:adam")
    assert create_for_eva(guarded, "jan") == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    permit(guarded, Operation.CREATE_TOKENS, ResourceType.USER, "User:eva")
    assert create_for_eva(guarded, "jan") == 0
    assert create_for_eva(guarded, "root") == 0
    assert create_for_eva(guarded, "eva") == 0


def test_tokens_of_others_are_told_to_those_who_may_know(guarded: ApiWorld) -> None:
    of_eva, of_adam = create(guarded, "eva"), create(guarded, "adam")
    assert seen(guarded, "jan") == []
    permit(guarded, Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, of_eva.token_id)
    assert [token.token_id for token in seen(guarded, "jan")] == [of_eva.token_id]
    permit(guarded, Operation.DESCRIBE_TOKENS, ResourceType.USER, "User:adam")
    assert {token.token_id for token in seen(guarded, "jan")} == {of_eva.token_id, of_adam.token_id}
    assert len(seen(guarded, "root")) == 2
