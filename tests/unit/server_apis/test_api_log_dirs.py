"""DescribeLogDirs, over a real log manager."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_kit import ApiWorld, versions
from controller_kit import code

from moldau.errors import ErrorCode
from moldau.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from moldau.protocol.records import encode_batch
from moldau.runtime.disk import RealDisk
from moldau.server.apis.describe_log_dirs import DESCRIBE_LOG_DIRS
from moldau.storage.log_manager import LogManager
from moldau.types import TopicPartition


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ApiWorld]:
    world = ApiWorld({"log.dirs": f"{tmp_path}/one,{tmp_path}/two", "cordoned.log.dirs": f"{tmp_path}/two"})
    logs = LogManager(world.config, RealDisk(), world.clock, world.services.runtime.random, cluster_id="c")
    logs.start()
    for index in range(2):
        log = logs.get_or_create(TopicPartition("orders", index), b"o" * 16, world.config.log_defaults())
        batch = bytearray(encode_batch([(world.clock.now_ms(), None, b"value", ())]))
        log.append_as_leader(memoryview(batch), 0, len(batch), 0)
    world.services.logs = logs
    yield world
    logs.close()


def _describe(world: ApiWorld, topics: dict[str, list[int]] | None, version: int) -> Any:
    asked = None
    if topics is not None:
        asked = [DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in topics.items()]
    return world.call(DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(topics=asked), version)


@pytest.mark.parametrize("version", versions(DESCRIBE_LOG_DIRS))
def test_everything(world: ApiWorld, version: int, tmp_path: Path) -> None:
    response = _describe(world, None, version)
    assert response.error_code == 0
    assert [result.log_dir for result in response.results] == [f"{tmp_path}/one", f"{tmp_path}/two"]
    found = {}
    for result in response.results:
        assert code(result) is ErrorCode.NONE
        if version >= 4:
            assert 0 < result.usable_bytes <= result.total_bytes
        if version >= 5:
            assert result.is_cordoned == result.log_dir.endswith("two")
        for topic in result.topics:
            found.update({(topic.name, part.partition_index): part for part in topic.partitions})
    assert set(found) == {("orders", 0), ("orders", 1)}
    assert all(part.partition_size > 60 and part.offset_lag == 0 and not part.is_future_key for part in found.values())


def test_a_follower_says_how_far_it_is_behind_and_a_leader_nothing(world: ApiWorld) -> None:
    log = world.services.logs.get(TopicPartition("orders", 1))
    assert log is not None
    log.local.leaders_high_watermark = 100

    def lags() -> list[int]:
        response = _describe(world, {"orders": [1]}, 4)
        return [part.offset_lag for result in response.results for topic in result.topics for part in topic.partitions]

    assert lags() == [99]
    log.begin_epoch(7)
    assert lags() == [0]


def test_some_partitions(world: ApiWorld) -> None:
    response = _describe(world, {"orders": [1, 9], "missing": [0]}, 4)
    assert len(response.results) == 2
    parts = [
        part.partition_index for result in response.results for topic in result.topics for part in topic.partitions
    ]
    assert parts == [1]
    assert all(result.topics == [] for result in _describe(world, {}, 4).results)


def test_a_failed_directory(world: ApiWorld, tmp_path: Path) -> None:
    world.services.logs.directory_failed(f"{tmp_path}/one", "gone")
    first, second = _describe(world, None, 4).results
    assert (code(first), first.topics, first.total_bytes) == (ErrorCode.KAFKA_STORAGE_ERROR, [], -1)
    assert code(second) is ErrorCode.NONE
