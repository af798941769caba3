"""InitProducerId and FindCoordinator."""

from __future__ import annotations

import pytest
from api_kit import ApiWorld, versions
from controller_kit import code

from moldau.errors import ErrorCode
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.server.apis.find_coordinator import FIND_COORDINATOR, java_hash
from moldau.server.apis.init_producer_id import INIT_PRODUCER_ID


@pytest.mark.parametrize("version", versions(INIT_PRODUCER_ID))
def test_every_producer_gets_its_own_id(version: int) -> None:
    world = ApiWorld()
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    answers = [world.call(INIT_PRODUCER_ID, request, version) for _ in range(3)]
    assert [(a.error_code, a.producer_id, a.producer_epoch) for a in answers] == [(0, 0, 0), (0, 1, 0), (0, 2, 0)]
    # Ids come in blocks: one record for a thousand of them.
    assert world.image.producer_ids.next == 1000


@pytest.mark.parametrize("version", versions(INIT_PRODUCER_ID))
def test_transactions_have_no_coordinator(version: int) -> None:
    world = ApiWorld()
    answer = world.call(INIT_PRODUCER_ID, InitProducerIdRequest(transactional_id="mine"), version)
    assert (code(answer), answer.producer_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    empty = world.call(INIT_PRODUCER_ID, InitProducerIdRequest(transactional_id=""), version)
    assert code(empty) is ErrorCode.INVALID_REQUEST


def test_an_id_and_an_epoch_come_together() -> None:
    world = ApiWorld()
    for fields in ({"producer_id": 5}, {"producer_epoch": 5}):
        request = InitProducerIdRequest(transactional_id=None, **fields)
        assert code(world.call(INIT_PRODUCER_ID, request, 4)) is ErrorCode.INVALID_REQUEST
    both = InitProducerIdRequest(transactional_id=None, producer_id=5, producer_epoch=5)
    assert code(world.call(INIT_PRODUCER_ID, both, 4)) is ErrorCode.NONE


def test_without_a_controller_the_producer_shall_try_again() -> None:
    world = ApiWorld()
    world.quorum.lose_leadership()
    answer = world.call(INIT_PRODUCER_ID, InitProducerIdRequest(transactional_id=None), 4)
    assert code(answer) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("version", versions(FIND_COORDINATOR))
def test_the_coordinator_of_a_group(version: int) -> None:
    world = ApiWorld(brokers=(1, 2))
    if version >= 4:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h", "g"])
        found = world.call(FIND_COORDINATOR, request, version).coordinators
        assert [coordinator.key for coordinator in found] == ["g", "h"]
        # Two neighbouring names live on two brokers, and always on the same ones.
        assert {coordinator.node_id for coordinator in found} == {1, 2}
        first = found[0]
    else:
        first = world.call(FIND_COORDINATOR, FindCoordinatorRequest(key="g"), version)
    assert (code(first), first.host, first.port) == (ErrorCode.NONE, f"host{first.node_id}", 9092)
    if version >= 1:
        assert first.error_message is None


@pytest.mark.parametrize("version", range(1, 7))
def test_other_coordinators(version: int) -> None:
    world = ApiWorld()
    for key_type, expected in ((1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (9, ErrorCode.INVALID_REQUEST)):
        if version >= 4:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["k"])
            found = world.call(FIND_COORDINATOR, request, version).coordinators[0]
        else:
            found = world.call(FIND_COORDINATOR, FindCoordinatorRequest(key="k", key_type=key_type), version)
        assert (code(found), found.node_id, found.host, found.port) == (expected, -1, "", -1)
        assert found.error_message


def test_nobody_is_alive() -> None:
    world = ApiWorld(brokers=())
    answer = world.call(FIND_COORDINATOR, FindCoordinatorRequest(key="g"), 2)
    assert code(answer) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_names_are_hashed_as_java_does() -> None:
    assert java_hash("") == 0
    assert java_hash("a") == 97
    assert java_hash("hello") == 99162322
    # A negative hash loses its sign bit, as in Kafka.
    assert java_hash("polygenelubricants") == 0
    assert java_hash("\U0001f600") == (0xD83D * 31 + 0xDE00) & 0x7FFFFFFF
