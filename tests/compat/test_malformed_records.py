"""Records that are none, in batches whose header and checksum are right: refused, and the partition stays readable.

Where Apache Kafka answers otherwise, its answer stands in a table here: it takes offsets and lengths that its own
consumers then read as something else, and does not look at the length of a record inside a compressed batch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from transactional_clients import create_topic

from malformed_batches import KINDS, TIME, batch_of, record, sized, varint
from moldau import KafkaAdminClient, KafkaConsumer, TopicPartition
from moldau.admin import NewTopic
from moldau.client.cluster import Cluster
from moldau.client.conversation import Ask, Conversation
from moldau.errors import ErrorCode
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.records import Compression

IS_KAFKA = os.environ.get("MOLDAU_COMPAT_BROKER") == "kafka" or "MOLDAU_COMPAT_BOOTSTRAP" in os.environ

OFFSETS = (
    "an offset twice",
    "an offset left out",
    "an offset below the first",
    "offsets backwards",
    "offsets that begin at one",
)
LENGTHS_BELOW_NULL = (
    "a key of less than no length",
    "a value of less than no length",
    "a header's value of less than no length",
)
LENGTHS_NOT_LOOKED_AT = (
    "length beyond the batch",
    "length beyond the record",
    "length short of the record",
    "length negative",
)
# What Apache Kafka 4.3 answers instead of INVALID_RECORD.
KAFKA_PLAIN = {
    **dict.fromkeys(OFFSETS + LENGTHS_BELOW_NULL, ErrorCode.NONE),
    "length of six bytes": ErrorCode.UNKNOWN_SERVER_ERROR,
}
KAFKA_COMPRESSED = {
    **dict.fromkeys(OFFSETS, ErrorCode.UNKNOWN_SERVER_ERROR),
    **dict.fromkeys(LENGTHS_BELOW_NULL + LENGTHS_NOT_LOOKED_AT, ErrorCode.NONE),
}


@pytest.fixture(scope="module")
def cluster(bootstrap: str) -> Iterator[Cluster]:
    with Cluster(bootstrap) as connected:
        yield connected


@pytest.fixture(scope="module")
def shared(bootstrap: str) -> str:
    """One topic for all kinds: nothing they do may hurt those that come after."""
    name = f"malformed-{os.getpid()}"
    create_topic(bootstrap, name, 1)
    return name


def produce(cluster: Cluster, topic: str, batch: bytes, version: int = 12) -> Any:
    """What the partition is told."""
    rows = [PartitionProduceData(index=0, records=batch)]
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[TopicProduceData(name=topic, partition_data=rows)])

    def conversation() -> Conversation[Any]:
        return (yield Ask(request, at_most=version))

    return cluster.run(conversation()).responses[0].partition_responses[0]


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_that_is_none(cluster: Cluster, shared: str, kind: str, codec: Compression) -> None:
    answer = produce(cluster, shared, batch_of(*KINDS[kind], codec=codec))
    expected = ErrorCode.INVALID_RECORD
    if IS_KAFKA:
        expected = (KAFKA_COMPRESSED if codec else KAFKA_PLAIN).get(kind, expected)
    assert answer.error_code == expected


def test_after_all_that_the_partition_can_be_read(bootstrap: str, cluster: Cluster, topic: str) -> None:
    create_topic(bootstrap, topic, 1)
    for kind in KINDS:
        if kind not in KAFKA_PLAIN:
            assert produce(cluster, topic, batch_of(*KINDS[kind])).error_code == ErrorCode.INVALID_RECORD
    assert produce(cluster, topic, batch_of(record(0) + record(1), 2)).error_code == 0
    with KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        deadline = time.monotonic() + 30
        read: list[int] = []
        while len(read) < 2 and time.monotonic() < deadline:
            for records in consumer.poll(1000).values():
                read += [one.offset for one in records]
    assert read == [0, 1]


def make(bootstrap: str, name: str, **configs: str) -> str:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1, topic_configs=configs)])
    return name


def now_ms() -> int:
    return int(time.time() * 1000)


def indexes(answer: Any) -> list[int]:
    return [one.batch_index for one in answer.record_errors]


def test_a_record_from_the_future_is_named(cluster: Cluster, shared: str) -> None:
    later = varint(now_ms() - TIME + 2 * 86_400_000)
    for codec in (Compression.NONE, Compression.LZ4):
        body = record(0) + record(1, timestamp_delta=later) + record(2) + record(3, timestamp_delta=later)
        answer = produce(cluster, shared, batch_of(body, 4, codec=codec))
        assert (answer.error_code, indexes(answer)) == (ErrorCode.INVALID_TIMESTAMP, [1, 3])


def test_records_too_old_and_records_without_key(bootstrap: str, cluster: Cluster, topic: str) -> None:
    settings = {"cleanup.policy": "compact", "message.timestamp.before.max.ms": "1000"}
    make(bootstrap, topic, **settings)
    now = varint(now_ms() - TIME)
    keyless = record(0, timestamp_delta=now) + record(1, timestamp_delta=now, key=sized(None))
    answer = produce(cluster, topic, batch_of(keyless, 2))
    assert (answer.error_code, indexes(answer)) == (ErrorCode.INVALID_RECORD, [1])
    both = record(0) + record(1, key=sized(None)) + record(2, timestamp_delta=now)
    answer = produce(cluster, topic, batch_of(both, 3))
    assert (answer.error_code, indexes(answer)) == (ErrorCode.INVALID_TIMESTAMP, [0, 1])


def test_a_claim_to_the_brokers_time(bootstrap: str, cluster: Cluster, topic: str) -> None:
    make(bootstrap, topic, **{"message.timestamp.type": "LogAppendTime"})
    good = record(0) + record(1)
    answer = produce(cluster, topic, batch_of(good, 2, attributes=8))
    assert (answer.error_code, indexes(answer)) == (ErrorCode.INVALID_TIMESTAMP, [0, 1])
    assert produce(cluster, topic, batch_of(good, 2)).error_code == 0


def test_a_lie_about_the_latest_timestamp_is_put_right(bootstrap: str, cluster: Cluster, topic: str) -> None:
    """Where the lie stood, one would find it: the offset for a time goes by what the batches say."""
    create_topic(bootstrap, topic, 1)
    for lie in (5, 1 << 62):
        assert produce(cluster, topic, batch_of(record(0), 1, max_timestamp=lie)).error_code == 0
    with KafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        place = TopicPartition(topic, 0)
        assert consumer.offsets_for_times({place: TIME})[place].offset == 0
        assert consumer.offsets_for_times({place: TIME + 1})[place] is None


def test_a_batch_that_unpacks_to_more_than_128_megabytes(bootstrap: str, cluster: Cluster, topic: str) -> None:
    create_topic(bootstrap, topic, 1)
    for codec in (Compression.ZSTD, Compression.GZIP):
        body = record(0, value=sized(bytes(150_000_000)))
        answer = produce(cluster, topic, batch_of(body, 1, codec=codec))
        assert answer.error_code == 0
