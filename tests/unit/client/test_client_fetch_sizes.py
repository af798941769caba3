"""How much a consumer asks for at once: what it was told, or what was found to be best."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_partition import WHERE, scripted_partition

from moldau import KafkaConsumer, TopicPartition

PATIENCE_MS = 60_000
ANOTHER = TopicPartition(WHERE.topic, WHERE.partition + 1)
MEGABYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("given", "assigned", "of_partition", "of_all"),
    [
        ({}, [WHERE], 2 * MEGABYTE, 2_200_000),
        ({}, [WHERE, ANOTHER], MEGABYTE, 2_200_000),
        ({"max_partition_fetch_bytes": 5000}, [WHERE], 5000, 2_200_000),
        ({"max_partition_fetch_bytes": 5000}, [WHERE, ANOTHER], 5000, 2_200_000),
        ({"max_partition_fetch_bytes": 3 * MEGABYTE, "fetch_max_bytes": 9000}, [WHERE], 3 * MEGABYTE, 9000),
    ],
)
def test_sizes(given: dict[str, Any], assigned: list[TopicPartition], of_partition: int, of_all: int) -> None:
    with (
        scripted_partition() as partition,
        KafkaConsumer(bootstrap_servers=partition.bootstrap, auto_offset_reset="earliest", **given) as consumer,
    ):
        plain = partition.fetch
        asked: list[tuple[int, int]] = []

        def remembering(node: int, request: Any) -> Any:
            asked.extend((row.partition_max_bytes, request.max_bytes) for row in request.topics[0].partitions)
            return plain(node, request)

        partition.fetch = remembering  # type: ignore[method-assign]
        partition.append(5)
        consumer.assign(assigned)
        assert len(consumer.poll(PATIENCE_MS)[WHERE]) == 5
    assert asked[0] == (of_partition, of_all)
