"""Feature levels and blocks of producer ids."""

from __future__ import annotations

import pytest
from controller_kit import World, refused

from moldau.errors import ErrorCode
from moldau.metadata.features import FEATURES, bootstrap_records, downgrade_loses_metadata, supported_features
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

NEW_CLUSTER = {
    "metadata.version": 30,
    "transaction.version": 2,
    "group.version": 1,
    "eligible.leader.replicas.version": 1,
    "share.version": 1,
    "streams.version": 1,
}


def _update(world: World, name: str, level: int, upgrade_type: int = 1, *, version: int = 2) -> ErrorCode:
    request = UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)]
    )
    response = world.settle(world.controller.update_features(request, version))
    if response.error_code:
        # One for the whole request in every version, as from Kafka: none of it is done.
        assert not response.results
    return ErrorCode(response.error_code)


@pytest.mark.parametrize("version", [1, 2])
def test_levels_that_cannot_be_finalized(version: int) -> None:
    world = World()
    for name, level, upgrade_type in [
        ("metadata.version", 31, 1),
        ("metadata.version", 29, 1),  # a downgrade must say so
        ("metadata.version", 29, 2),  # and this one would lose records
        ("metadata.version", -1, 1),
        ("transaction.version", 3, 1),
        ("share.version", 2, 1),
        ("no.such.feature", 1, 1),
        ("metadata.version", 30, 9),
    ]:
        assert _update(world, name, level, upgrade_type, version=version) is ErrorCode.INVALID_UPDATE_VERSION
    assert dict(world.image.features) == NEW_CLUSTER


def test_a_level_that_is_reached_already() -> None:
    assert _update(World(), "metadata.version", 30) is ErrorCode.NONE


def test_the_table_is_consistent() -> None:
    for feature in FEATURES.values():
        assert feature.new_clusters in feature.supported
    assert bootstrap_records()[0].name == "metadata.version"
    assert all(span.maximum > 0 for span in supported_features().values())


def test_which_downgrades_lose_metadata() -> None:
    assert downgrade_loses_metadata(30, 29)
    assert not downgrade_loses_metadata(29, 28)
    assert downgrade_loses_metadata(29, 20)


def test_blocks_of_producer_ids_follow_each_other_and_survive_a_restart() -> None:
    world = World()
    epoch = world.image.cluster.brokers[1].epoch
    blocks = [world.settle(world.controller.allocate_producer_ids(1, epoch)) for _ in range(3)]
    assert blocks == [(0, 1000), (1000, 1000), (2000, 1000)]
    assert world.image.producer_ids.next == 3000
    again = World(log=world.quorum.log)
    epoch = again.image.cluster.brokers[1].epoch
    assert again.settle(again.controller.allocate_producer_ids(1, epoch)).first == 3000


def test_a_block_is_for_a_registered_broker() -> None:
    world = World()
    assert refused(world.controller.allocate_producer_ids(1, 99)).code is ErrorCode.STALE_BROKER_EPOCH
    assert refused(world.controller.allocate_producer_ids(7, 0)).code is ErrorCode.STALE_BROKER_EPOCH
