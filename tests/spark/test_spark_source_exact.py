"""Which records a range holds, to the record: gaps, markers, aborted transactions, every compression and timestamp.

Spark is not needed for this: its interface is called as Spark calls it, which takes milliseconds instead of seconds.
"""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from filled_topics import NOON, rows, until, write, write_transaction
from pyspark import TaskContext
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from moldau.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from moldau.client.admin.offsets import delete_records
from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster as Client
from moldau.protocol.records import Compression
from moldau.spark import connection
from moldau.spark.options import OptionError
from moldau.spark.schema import HEADERS, SOURCE_SCHEMA
from moldau.spark.source import decoding
from moldau.spark.source.batch import BatchReader, batch_reader
from moldau.spark.source.loss import DataLoss
from moldau.testing import Cluster
from moldau.types import TopicPartition


@pytest.fixture(scope="module")
def cleaning() -> Iterator[Cluster]:
    """A node that compacts at once."""
    with Cluster(settings={"log.cleaner.backoff.ms": "50", "log.index.size.max.bytes": "65536"}) as cluster:
        yield cluster


def reader(node: Cluster, topic: str, schema: StructType = SOURCE_SCHEMA, **options: str) -> BatchReader:
    given = {"kafka.bootstrap.servers": node.bootstrap_servers, "subscribe": topic}
    given |= {name.replace("__", "."): text for name, text in options.items()}
    made = batch_reader(given, schema)
    assert isinstance(made, BatchReader)
    return pickle.loads(pickle.dumps(made))  # type: ignore[no-any-return]  # as Spark does before it reads


def batches(made: BatchReader) -> list[Any]:
    return [batch for partition in made.partitions() for batch in made.read(partition)]


def read(node: Cluster, topic: str, schema: StructType = SOURCE_SCHEMA, **options: str) -> list[dict[str, Any]]:
    return [row for batch in batches(reader(node, topic, schema, **options)) for row in batch.to_pylist()]


def values(node: Cluster, topic: str, **options: str) -> list[bytes]:
    return [row["value"] for row in read(node, topic, **options)]


def test_every_column(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic(2)
    records = [
        (NOON, b"key", b"value", [("a", b"1"), ("a", None), ("", b"")]),
        (NOON + 1, None, b"", []),
        (NOON - 1, b"", None, [("b", b"2")]),
    ]
    write(node.bootstrap_servers, topic, 1, records)
    found = read(node, topic, StructType([*SOURCE_SCHEMA.fields, HEADERS]))
    for row, (timestamp, key, value, headers) in zip(found, records, strict=True):
        assert (row["key"], row["value"]) == (key, value)
        assert (row["topic"], row["partition"], row["timestampType"]) == (topic, 1, 0)
        assert row["timestamp"].timestamp() * 1000 == pytest.approx(timestamp, abs=0.01)
        assert row["headers"] == ([{"key": name, "value": text} for name, text in headers] or None)
    assert [row["offset"] for row in found] == [0, 1, 2]


def test_columns_nobody_asked_for_are_not_decoded(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(3))
    schema = StructType([StructField("value", StringType()), StructField("offset", LongType())])
    (batch,) = batches(reader(node, topic, schema))
    assert batch.to_pylist() == [{"value": f"v{n}", "offset": n} for n in range(3)]
    assert batch.schema.field("value").type == "string"
    only = StructType([StructField("key", BinaryType())])
    assert read(node, topic, only) == [{"key": b"k0"}, {"key": b"k1"}, {"key": b"k2"}]


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        (StructField("colour", StringType()), "no column colour; it has key, value"),
        (StructField("offset", StringType()), "offset is bigint, not string; read it as it is and CAST"),
    ],
)
def test_columns_that_are_not_there(node: Cluster, field: StructField, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        reader(node, "any", StructType([field]))


def test_every_compression(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    for number, codec in enumerate(Compression):
        write(node.bootstrap_servers, topic, 0, rows(50, first=50 * number), compression=codec)
    assert values(node, topic) == [b"v%d" % n for n in range(50 * len(Compression))]


def test_bounds_inside_batches(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    for number in range(4):
        write(node.bootstrap_servers, topic, 0, rows(10, first=10 * number), compression=Compression.LZ4)
    bounds = {"startingOffsets": f'{{"{topic}": {{"0": 7}}}}', "endingOffsets": f'{{"{topic}": {{"0": 33}}}}'}
    assert values(node, topic, **bounds) == [b"v%d" % n for n in range(7, 33)]
    tasks = reader(node, topic, **bounds, maxRecordsPerPartition="5").partitions()
    assert [(each.start, each.end) for task in tasks for each in task.value] == [
        (7, 11),
        (11, 15),
        (15, 20),
        (20, 24),
        (24, 28),
        (28, 33),
    ]
    assert values(node, topic, **bounds, maxRecordsPerPartition="5") == [b"v%d" % n for n in range(7, 33)]


def test_many_small_answers(node: Cluster, create_topic: Callable[..., str]) -> None:
    """A batch always comes whole, so the least that can be asked for is one batch at a time."""
    topic = create_topic()
    for number in range(30):
        write(node.bootstrap_servers, topic, 0, rows(3, first=3 * number, size=100))
    small = {"kafka__max__partition__fetch__bytes": "1"}
    assert len(batches(reader(node, topic, **small))) == 1  # and still one Arrow batch
    assert [value.rstrip(b".") for value in values(node, topic, **small)] == [b"v%d" % n for n in range(90)]


def test_arrow_batches_are_neither_too_large_nor_mixed(
    node: Cluster, create_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = create_topic()
    for number in range(8):
        write(node.bootstrap_servers, topic, 0, rows(10, first=10 * number))
    monkeypatch.setattr(decoding, "_MOST_ROWS", 25)
    assert [batch.num_rows for batch in batches(reader(node, topic))] == [20, 20, 20, 20]
    monkeypatch.setattr(decoding, "_MOST_ROWS", 1000)
    monkeypatch.setattr(decoding, "_MOST_BYTES", 250)
    assert sum(batch.num_rows for batch in batches(reader(node, topic))) == 80
    assert len(batches(reader(node, topic))) > 3


def test_the_kind_of_timestamp_may_change(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(3))
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        settings = {"message.timestamp.type": "LogAppendTime"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, settings)])
    before = time.time() - 60
    write(node.bootstrap_servers, topic, 0, rows(2))
    found = read(node, topic)
    assert [row["timestampType"] for row in found] == [0, 0, 0, 1, 1]
    assert all(row["timestamp"].timestamp() > before for row in found[3:])


def test_transactions(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    bootstrap = node.bootstrap_servers
    write(bootstrap, topic, 0, rows(2))
    write_transaction(bootstrap, topic, 0, rows(3, first=10), commit=True)
    write_transaction(bootstrap, topic, 0, rows(3, first=20), commit=False)
    write(bootstrap, topic, 0, rows(2, first=30))
    write_transaction(bootstrap, topic, 0, rows(3, first=40), commit=False)
    everything = [b"v%d" % n for n in (0, 1, 10, 11, 12, 20, 21, 22, 30, 31, 40, 41, 42)]
    assert values(node, topic) == everything
    committed = [b"v%d" % n for n in (0, 1, 10, 11, 12, 30, 31)]
    assert values(node, topic, kafka__isolation__level="read_committed") == committed
    # One batch per answer: the list of what was aborted comes anew with each.
    small = {"kafka__max__partition__fetch__bytes": "1", "kafka__isolation__level": "read_committed"}
    assert values(node, topic, **small) == committed
    # Every possible end, on records, markers and in what was aborted, and every way to cut it.
    found = read(node, topic, kafka__isolation__level="read_committed")
    assert [row["offset"] for row in found] == [0, 1, 2, 3, 4, 10, 11]
    for end in range(1, 17):
        bound = {"endingOffsets": f'{{"{topic}": {{"0": {end}}}}}', "kafka__isolation__level": "read_committed"}
        assert [row["offset"] for row in read(node, topic, **bound)] == [n for n in (0, 1, 2, 3, 4, 10, 11) if n < end]
        cut = read(node, topic, **bound, minPartitions="7")
        assert [row["offset"] for row in cut] == [n for n in (0, 1, 2, 3, 4, 10, 11) if n < end]


def test_an_open_transaction_is_the_end_of_what_is_committed(node: Cluster, create_topic: Callable[..., str]) -> None:
    from moldau import KafkaProducer

    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(2))
    producer = KafkaProducer(bootstrap_servers=node.bootstrap_servers, transactional_id=f"open-{topic}")
    try:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"v2", partition=0)
        producer.flush()
        write(node.bootstrap_servers, topic, 0, rows(1, first=3))
        assert values(node, topic, kafka__isolation__level="read_committed") == [b"v0", b"v1"]
        assert values(node, topic) == [b"v0", b"v1", b"v2", b"v3"]
        producer.commit_transaction()
    finally:
        producer.close()
    assert values(node, topic, kafka__isolation__level="read_committed") == [b"v0", b"v1", b"v2", b"v3"]


def test_a_compacted_topic(cleaning: Cluster) -> None:
    bootstrap, topic = cleaning.bootstrap_servers, "compacted"
    settings = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "internal.segment.bytes": "4000"}
    with Client(bootstrap) as client:
        client.run(create_topics([NewTopic(topic, 1, 1, configs=settings)]))
    for number in range(12):
        same = [(NOON + n, b"same%d" % (n % 3), b"%d" % (50 * number + n), []) for n in range(50)]
        write(bootstrap, topic, 0, [*same, (NOON, b"own%d" % number, b"x" * 800, [])])

    def compacted() -> bool:
        return len(read(cleaning, topic)) < 200

    until(compacted)
    offsets = [row["offset"] for row in read(cleaning, topic)]
    assert offsets == sorted(set(offsets))
    assert offsets[-1] == 12 * 51 - 1
    kept = {row["key"]: row["value"] for row in read(cleaning, topic)}
    assert len(kept) == 15
    # Ends and starts that fall into holes, each in a task of its own: no one waits for records that are gone.
    for edge in range(0, 612, 17):
        bound = f'{{"{topic}": {{"0": {edge}}}}}'
        assert [row["offset"] for row in read(cleaning, topic, startingOffsets=bound)] == [
            n for n in offsets if n >= edge
        ]
        if edge:
            assert [row["offset"] for row in read(cleaning, topic, endingOffsets=bound)] == [
                n for n in offsets if n < edge
            ]
    assert [row["offset"] for row in read(cleaning, topic, minPartitions="50")] == offsets


def shorten(node: Cluster, topic: str, offset: int) -> None:
    with Client(node.bootstrap_servers) as client:
        client.run(delete_records({TopicPartition(topic, 0): offset}))


def test_records_deleted_between_planning_and_reading(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    for number in range(4):
        write(node.bootstrap_servers, topic, 0, rows(10, first=10 * number))
    strict, lenient = reader(node, topic), reader(node, topic, failOnDataLoss="false", maxRecordsPerPartition="10")
    (whole,), parts = strict.partitions(), lenient.partitions()
    shorten(node, topic, 25)
    with pytest.raises(DataLoss, match=f"Partition {topic}-0 begins at 25, and was to be read from 0.*failOnDataLoss"):
        list(strict.read(whole))
    found = [row["offset"] for part in parts for batch in lenient.read(part) for row in batch.to_pylist()]
    assert found == list(range(25, 40))


def test_offsets_that_never_were(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(10))
    beyond = {"endingOffsets": f'{{"{topic}": {{"0": 15}}}}'}
    with pytest.raises(DataLoss, match=f"Partition {topic}-0 ends at 10, and was to be read up to 15"):
        read(node, topic, **beyond)
    assert len(read(node, topic, **beyond, failOnDataLoss="false")) == 10
    late = {"startingOffsets": f'{{"{topic}": {{"0": 12}}}}'}
    with pytest.raises(DataLoss, match="was to be read up to 12"):
        read(node, topic, **late)
    assert read(node, topic, **late, failOnDataLoss="false") == []


def test_a_topic_deleted_while_it_is_read(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(10))
    quick = {"fetchOffset__numRetries": "1", "fetchOffset__retryIntervalMs": "10"}
    strict, lenient = reader(node, topic, **quick), reader(node, topic, **quick, failOnDataLoss="false")
    (task,) = strict.partitions()
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.delete_topics([topic])
    with pytest.raises(DataLoss, match="is no longer there"):
        list(strict.read(task))
    assert list(lenient.read(task)) == []


def test_a_range_beyond_the_end_is_not_waited_for_without_limit(
    node: Cluster, create_topic: Callable[..., str]
) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(10))
    quick = {"kafkaConsumer__pollTimeoutMs": "300", "kafka__fetch__max__wait__ms": "50"}
    strict, lenient = reader(node, topic, **quick), reader(node, topic, **quick, failOnDataLoss="false")
    (task,) = strict.partitions()
    task.value = (task.value[0]._replace(end=20),)
    with pytest.raises(DataLoss, match=r"gave nothing for offset 10 within 0\.3 s .* ends at 10"):
        list(strict.read(task))
    assert sum(batch.num_rows for batch in lenient.read(task)) == 10


def test_records_that_come_in_time_are_waited_for(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(10))
    made = reader(node, topic)
    (task,) = made.partitions()
    task.value = (task.value[0]._replace(end=20),)
    later = threading.Timer(0.3, write, (node.bootstrap_servers, topic, 0, rows(10, first=10)))
    later.start()
    assert sum(batch.num_rows for batch in made.read(task)) == 20
    later.join()


def test_a_reader_that_stops_in_the_middle_spoils_nothing(node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    for number in range(6):
        write(node.bootstrap_servers, topic, 0, rows(10, first=10 * number))
    made = reader(node, topic, kafka__max__partition__fetch__bytes="1")
    (task,) = made.partitions()
    reading = made.read(task)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert values(node, topic) == [b"v%d" % n for n in range(60)]


def test_what_a_first_task_leaves_in_its_process_is_no_garbage(
    node: Cluster, create_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has it looked for after every task."""
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(3))
    monkeypatch.setattr(TaskContext, "get", lambda: object())
    monkeypatch.setattr(connection, "_imported", 0)
    options = {"kafka__client__id": "first task"}
    gc.unfreeze()
    try:
        assert len(values(node, topic, **options)) == 3
        (kept,) = [cluster for key, cluster in connection._kept.items() if "first task" in repr(key)]
        frozen = gc.get_freeze_count()
        assert not any(each is kept.__dict__ or each is kept for each in gc.get_objects())
        assert len(values(node, topic, **options)) == 3
        assert gc.get_freeze_count() <= frozen, "nothing came that has to be kept"
        monkeypatch.setitem(sys.modules, "brought by another", ModuleType("brought by another"))
        cycle: list[Any] = []
        cycle.append(cycle)
        values(node, topic, **options)
        assert not any(each is cycle for each in gc.get_objects())
    finally:
        gc.unfreeze()


def test_what_is_not_there(node: Cluster, create_topic: Callable[..., str]) -> None:
    quick = {"fetchOffset__numRetries": "0"}
    with pytest.raises(Exception, match="There is no topic 'nowhere'"):
        read(node, "nowhere", **quick)
    assert read(node, create_topic()) == []
    topic = create_topic()
    given = {"kafka.bootstrap.servers": node.bootstrap_servers, "assign": f'{{"{topic}": [0, 4]}}'}
    made = batch_reader({**given, "fetchOffset.numRetries": "0"}, SOURCE_SCHEMA)
    with pytest.raises(Exception, match=f"Topic '{topic}' has no partition 4"):
        made.partitions()


def test_no_broker() -> None:
    given = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "rivers"}
    with pytest.raises(Exception, match=r"No broker answers at 127\.0\.0\.1:1"):
        batch_reader(given, SOURCE_SCHEMA).partitions()
