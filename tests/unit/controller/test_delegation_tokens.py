"""Delegation tokens at the controller: who gets them, who prolongs and ends them, and when they are gone."""

from __future__ import annotations

from typing import Any

import pytest
from controller_kit import World

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.features import METADATA_VERSION
from moldau.metadata.records import FeatureLevelRecord
from moldau.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from moldau.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from moldau.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from moldau.security.principal import Principal, user
from moldau.security.token_hmac import token_hmac

# Nothing is removed behind the back of a test.
SECRET = {"delegation.token.secret.key": "a-secret", "delegation.token.expiry.check.interval.ms": "99999999999"}
HOUR = 3_600_000
DAY = 24 * HOUR
JAN, EVA, EVE = user("jan"), user("eva"), user("eve")


@pytest.fixture
def world() -> World:
    return World(SECRET)


def create(world: World, who: Principal = JAN, *renewers: str, **fields: object) -> CreateDelegationTokenResponse:
    request = CreateDelegationTokenRequest(
        renewers=[CreatableRenewers(principal_type="User", principal_name=name) for name in renewers], **fields
    )
    return world.settle(world.controller.run(lambda: world.controller.state.tokens.create(request, who, 3)))


def renew(world: World, hmac: bytes, who: Principal = JAN, period_ms: int = -1) -> int:
    request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms)
    answer = world.controller.run(lambda: world.controller.state.tokens.renew(request, who))
    return world.settle(answer).expiry_timestamp_ms


def expire(world: World, hmac: bytes, who: Principal = JAN, period_ms: int = -1) -> int:
    request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)
    answer = world.controller.run(lambda: world.controller.state.tokens.expire(request, who))
    return world.settle(answer).expiry_timestamp_ms


def refused(code: ErrorCode) -> Any:
    return pytest.raises(KafkaError, check=lambda error: error.code is code)


def test_a_token_is_issued(world: World) -> None:
    token, now = create(world, JAN, "eva"), world.clock.now_ms()
    assert (token.principal_type, token.principal_name) == ("User", "jan")
    assert (token.issue_timestamp_ms, token.expiry_timestamp_ms, token.max_timestamp_ms) == (
        now,
        now + DAY,
        now + 7 * DAY,
    )
    assert token.hmac == token_hmac("a-secret", token.token_id)
    known = world.image.tokens[token.token_id]
    assert (known.owner, known.requester, known.renewers) == (JAN, JAN, (EVA,))
    assert create(world).token_id != token.token_id


def test_for_somebody_else(world: World) -> None:
    token = create(world, JAN, owner_principal_type="User", owner_principal_name="eva")
    assert (token.principal_name, token.token_requester_principal_name) == ("eva", "jan")
    for who in (JAN, EVA, Principal("User", "eva", by_token=True)):
        renew(world, token.hmac, who)


@pytest.mark.parametrize(("asked", "days"), [(-1, 7), (0, 7), (8 * DAY, 7), (2 * DAY, 2), (HOUR, 1 / 24)])
def test_how_long_it_may_live(world: World, asked: int, days: float) -> None:
    token = create(world, max_lifetime_ms=asked)
    assert token.max_timestamp_ms - token.issue_timestamp_ms == int(days * DAY)
    assert token.expiry_timestamp_ms - token.issue_timestamp_ms == min(DAY, int(days * DAY))


def test_renewal(world: World) -> None:
    token = create(world, JAN, "eva")
    world.loop.advance(HOUR / 1000)
    now = world.clock.now_ms()
    assert renew(world, token.hmac) == now + DAY
    assert renew(world, token.hmac, EVA, HOUR) == now + HOUR
    assert renew(world, token.hmac, JAN, 100 * DAY) == now + DAY
    assert world.image.tokens[token.token_id].expiry_ms == now + DAY
    with refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH):
        renew(world, token.hmac, EVE)
    with refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
        renew(world, b"another")
    for _ in range(7):
        world.loop.advance(0.9 * DAY / 1000)
        last = renew(world, token.hmac)
    assert last == token.max_timestamp_ms
    world.loop.advance(DAY / 1000)
    with refused(ErrorCode.DELEGATION_TOKEN_EXPIRED):
        renew(world, token.hmac)


def test_the_end(world: World) -> None:
    token = create(world, JAN, "eva")
    with refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH):
        expire(world, token.hmac, EVE)
    now = world.clock.now_ms()
    assert expire(world, token.hmac, EVA, HOUR) == now + HOUR
    assert expire(world, token.hmac, JAN, 100 * DAY) == token.max_timestamp_ms
    assert expire(world, token.hmac, JAN, 0) == now
    world.loop.advance(0.002)
    with refused(ErrorCode.DELEGATION_TOKEN_EXPIRED):
        expire(world, token.hmac, JAN, HOUR)
    expire(world, token.hmac)
    assert world.image.tokens == {}
    with refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
        expire(world, token.hmac)


def test_those_that_ran_out_are_removed() -> None:
    world = World({**SECRET, "delegation.token.expiry.check.interval.ms": "1000"}, brokers=())
    short, long = create(world, max_lifetime_ms=500), create(world)
    world.loop.advance(1.1)
    world.quorum.commit()
    assert set(world.image.tokens) == {long.token_id}
    assert short.token_id != long.token_id
    world.controller.renounced()
    world.loop.advance(8 * DAY / 1000)
    assert set(world.image.tokens) == {long.token_id}


def test_nobody_gets_one_without_a_secret() -> None:
    world = World()
    for ask in (lambda: create(world), lambda: renew(world, b""), lambda: expire(world, b"")):
        with refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED):
            ask()


def test_an_older_cluster_has_none(world: World) -> None:
    world.controller.state.features.replay(FeatureLevelRecord(name=METADATA_VERSION, feature_level=13))
    with refused(ErrorCode.UNSUPPORTED_VERSION):
        create(world)
    world.controller.state.features.replay(FeatureLevelRecord(name=METADATA_VERSION, feature_level=14))
    assert create(world).principal_name == "jan"


@pytest.mark.parametrize("fields", [{"max_lifetime_ms": HOUR}, {}], ids=["it may live no longer", "it is not renewed"])
def test_the_last_millisecond_of_a_token(world: World, fields: dict[str, int]) -> None:
    token = create(world, **fields)
    clock, state = world.clock, world.controller.state.tokens
    known = world.image.tokens[token.token_id]
    renewal = RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1)
    for late, lives in ((0, True), (1, False)):
        clock.now_ms = lambda late=late: known.expiry_ms + late  # type: ignore[method-assign]
        assert bool(state.sweep().records) is not lives
        if lives:
            assert state.renew(renewal, JAN).response.expiry_timestamp_ms >= known.expiry_ms
        else:
            with refused(ErrorCode.DELEGATION_TOKEN_EXPIRED):
                state.renew(renewal, JAN)


@pytest.mark.parametrize(("version", "told"), [(2, ""), (3, "jan")])
def test_who_asked_for_it_is_told_since_version_3(world: World, version: int, told: str) -> None:
    asked = CreateDelegationTokenRequest(renewers=[])
    answer = world.settle(world.controller.run(lambda: world.controller.state.tokens.create(asked, JAN, version)))
    assert answer.token_requester_principal_name == told
    assert bool(answer.token_requester_principal_type) is bool(told)


def test_only_users_own_and_renew_them(world: World) -> None:
    with refused(ErrorCode.INVALID_PRINCIPAL_TYPE):
        create(world, owner_principal_type="Group", owner_principal_name="g")
    with refused(ErrorCode.INVALID_REQUEST):
        create(world, JAN, "")
    with refused(ErrorCode.INVALID_REQUEST):
        create(world, JAN, *(f"renewer-{number}" for number in range(1001)))


def test_a_new_leader_knows_them(world: World) -> None:
    token = create(world)
    again = World(SECRET, log=world.quorum.log)
    expire(again, token.hmac)
    assert again.image.tokens == {}
