"""Everything that is in a topic: read until its end is reached, not until nothing has come for a while."""

from __future__ import annotations

import time
from typing import Any, Final

from moldau import KafkaConsumer

PATIENCE: Final = 60.0


def read_to_the_end(consumer: KafkaConsumer) -> list[Any]:
    """The records from where the consumer stands up to where its partitions end now."""
    deadline = time.monotonic() + PATIENCE
    records: list[Any] = []
    ends: dict[Any, int] = {}
    while not ends or any(consumer.position(where) < end for where, end in ends.items()):
        assert time.monotonic() < deadline, f"{len(records)} records came, and the end was not reached"
        for share in consumer.poll(200).values():
            records += share
        ends = ends or consumer.end_offsets(consumer.assignment())
    return records
