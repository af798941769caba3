"""Records written into topics as tests want them: whole batches, straight to the leader."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from moldau import KafkaProducer
from moldau.client.cluster import Cluster
from moldau.client.conversation import retrying
from moldau.client.producing import deliver
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import encode_batch
from moldau.types import TopicPartition

# (timestamp, key, value, headers)
Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]

# The beginning of yesterday, and not a date in the past: retention would delete it while it is being read.
NOON = (int(time.time()) // 86_400 - 1) * 86_400_000


def rows(count: int, *, first: int = 0, size: int = 0) -> list[Row]:
    """Numbered records, a second apart; `size` pads their values."""
    return [(NOON + 1000 * n, b"k%d" % n, (b"v%d" % n).ljust(size, b"."), []) for n in range(first, first + count)]


def write(bootstrap: str, topic: str, partition: int, records: Sequence[Row], **fields: Any) -> int:
    """One batch; gives the offset of its first record. A topic just made may need a moment until it has a leader."""
    where = TopicPartition(topic, partition)
    batch = encode_batch(records, **fields)
    with Cluster(bootstrap) as cluster:

        def attempt() -> Any:
            (answer,) = (yield from deliver({where: batch})).values()
            if isinstance(answer, KafkaError):
                raise answer
            return answer

        return int(cluster.run(retrying(attempt, final=())))


def write_transaction(bootstrap: str, topic: str, partition: int, records: Sequence[Row], *, commit: bool) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"{topic}-{partition}")
    try:
        producer.init_transactions()
        producer.begin_transaction()
        for timestamp, key, value, headers in records:
            producer.send(topic, value, key, headers, partition, timestamp)
        producer.flush()
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    finally:
        producer.close()


def until(condition: Any, seconds: float = 60.0) -> None:
    """Waits for something that takes a moment on another thread or process."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


GONE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
