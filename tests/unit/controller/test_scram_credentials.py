"""What the controller says to changes of SCRAM credentials, by KIP-554."""

from __future__ import annotations

from typing import Any

import pytest
from controller_kit import World

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.credentials import ScramKey
from moldau.metadata.features import METADATA_VERSION
from moldau.metadata.records import FeatureLevelRecord
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from moldau.security.scram import credential_of, make_credential, salted_password

SALTED = salted_password("sha256", b"secret", b"salt", 4096)


def upsertion(name: str = "jan", mechanism: int = 1, **fields: object) -> ScramCredentialUpsertion:
    given = {"iterations": 4096, "salt": b"salt", "salted_password": SALTED, **fields}
    return ScramCredentialUpsertion(name=name, mechanism=mechanism, **given)


def deletion(name: str = "jan", mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter(world: World, *changes: ScramCredentialDeletion | ScramCredentialUpsertion) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(
        deletions=[one for one in changes if isinstance(one, ScramCredentialDeletion)],
        upsertions=[one for one in changes if isinstance(one, ScramCredentialUpsertion)],
    )
    response = world.settle(world.controller.run(lambda: world.controller.state.scram.alter(request)))
    return {row.user: row.error_code for row in response.results}


@pytest.fixture
def world() -> World:
    return World()


def test_a_credential_is_set_replaced_and_removed(world: World) -> None:
    assert alter(world, upsertion()) == {"jan": 0}
    assert world.image.scram == {ScramKey(1, "jan"): make_credential("SCRAM-SHA-256", "secret", b"salt", 4096)}
    salted = salted_password("sha512", b"secret", b"more", 8192)
    alter(world, upsertion(mechanism=2, iterations=8192, salt=b"more", salted_password=salted))
    assert world.image.scram[ScramKey(2, "jan")] == credential_of("SCRAM-SHA-512", salted, b"more", 8192)
    again = salted_password("sha256", b"other", b"salt", 4096)
    assert alter(world, upsertion(salted_password=again), deletion(mechanism=2)) == {"jan": 0}
    assert world.image.scram == {ScramKey(1, "jan"): make_credential("SCRAM-SHA-256", "other", b"salt", 4096)}
    assert alter(world, deletion()) == {"jan": 0}
    assert world.image.scram == {}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([upsertion("")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion("j" * 1025)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([deletion("")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(mechanism=0)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([upsertion(mechanism=3)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([deletion(mechanism=3)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([upsertion(iterations=4095)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(iterations=16385)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(salt=b"")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(salt=b"s" * 1025)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(salted_password=b"")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion(mechanism=2)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([deletion()], ErrorCode.RESOURCE_NOT_FOUND),
        ([upsertion(), upsertion()], ErrorCode.DUPLICATE_RESOURCE),
        ([deletion(), deletion()], ErrorCode.RESOURCE_NOT_FOUND),
        ([deletion(), upsertion()], ErrorCode.RESOURCE_NOT_FOUND),
        ([upsertion(iterations=1), upsertion()], ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_what_is_refused(world: World, changes: list[ScramCredentialUpsertion], code: ErrorCode) -> None:
    assert set(alter(world, *changes).values()) == {code}
    assert world.image.scram == {}


def test_one_credential_is_not_altered_twice(world: World) -> None:
    """What is there; of one that is not, Kafka says that first (above)."""
    alter(world, upsertion())
    for changes in ([deletion(), upsertion()], [deletion(), deletion()]):
        assert alter(world, *changes) == {"jan": ErrorCode.DUPLICATE_RESOURCE}
        assert set(world.image.scram) == {ScramKey(1, "jan")}


def test_each_user_is_all_or_nothing(world: World) -> None:
    assert alter(world, upsertion("jan"), upsertion("jan", mechanism=3), upsertion("eva")) == {
        "jan": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "eva": 0,
    }
    assert set(world.image.scram) == {ScramKey(1, "eva")}


@pytest.mark.parametrize(
    "most",
    [{"iterations": 16384}, {"iterations": 4096}, {"salt": b"s" * 1024}, {"salt": b"s"}, {"name": "j" * 1024}],
    ids=str,
)
def test_the_most_that_is_allowed(world: World, most: dict[str, Any]) -> None:
    assert list(alter(world, upsertion(**most)).values()) == [0]


def test_an_older_cluster_has_none(world: World) -> None:
    world.controller.state.features.replay(FeatureLevelRecord(name=METADATA_VERSION, feature_level=10))
    with pytest.raises(KafkaError, match=r"3\.5-IV2"):
        alter(world, upsertion())
    world.controller.state.features.replay(FeatureLevelRecord(name=METADATA_VERSION, feature_level=11))
    assert alter(world, upsertion()) == {"jan": 0}


def test_a_new_leader_knows_them(world: World) -> None:
    alter(world, upsertion())
    assert alter(World(log=world.quorum.log), deletion()) == {"jan": 0}
