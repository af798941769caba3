"""A broker that goes away and comes back while it is read: nothing is lost, nothing is read twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from filled_topics import rows, write
from pyspark.sql.streaming.datasource import ReadAllAvailable

from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.cluster import Cluster as Client
from moldau.spark.connection import open_cluster
from moldau.spark.schema import SOURCE_SCHEMA
from moldau.spark.source.fetching import TaskFetcher
from moldau.spark.source.ranges import OffsetRange
from moldau.spark.source.settings import batch_settings
from moldau.spark.source.stream import stream_reader
from moldau.testing import Cluster

BATCHES, ROWS = 12, 20


@pytest.fixture(scope="module")
def fragile() -> Iterator[Cluster]:
    with Cluster(proxied=True) as cluster:
        with Client(cluster.bootstrap_servers) as client:
            client.run(create_topics([NewTopic("rivers", 1, 1)]))
        for number in range(BATCHES):
            write(cluster.bootstrap_servers, "rivers", 0, rows(ROWS, first=ROWS * number))
        yield cluster


@pytest.fixture
def fetcher(fragile: Cluster, request: pytest.FixtureRequest) -> Callable[..., TaskFetcher]:
    def fetcher(**options: str) -> TaskFetcher:
        given = {"kafka.bootstrap.servers": fragile.bootstrap_servers, "subscribe": "rivers"}
        given |= {"kafka.max.partition.fetch.bytes": "1"} | {
            key.replace("_", "."): text for key, text in options.items()
        }
        settings = batch_settings(given)
        cluster = open_cluster(settings.options)
        request.addfinalizer(cluster.close)
        return TaskFetcher(cluster, (OffsetRange("rivers", 0, 0, BATCHES * ROWS),), settings)

    return fetcher


@pytest.mark.parametrize("fault", ["disconnect", "kill", "restart"])
def test_a_broker_that_comes_back(fragile: Cluster, fetcher: Callable[..., TaskFetcher], fault: str) -> None:
    (node,) = fragile.nodes
    found: list[int] = []
    later = threading.Timer(0.3, node.start)
    for _, answer in fetcher():
        found += [header.base_offset for header in answer.headers]
        if len(found) == 5:
            getattr(node, fault)()
            later.start()
    later.join()
    assert found == list(range(0, BATCHES * ROWS, ROWS))


def test_whoever_takes_long_over_an_answer_is_not_late(fragile: Cluster, fetcher: Callable[..., TaskFetcher]) -> None:
    """The time a task has is for the broker; Spark may keep it waiting for longer than that."""
    found: list[int] = []
    for _, answer in fetcher(kafkaConsumer_pollTimeoutMs="3000", kafka_default_api_timeout_ms="60000"):
        found += [header.base_offset for header in answer.headers]
        if len(found) == 5:
            fragile.nodes[0].disconnect()
            time.sleep(3.5)
    assert found == list(range(0, BATCHES * ROWS, ROWS))


def test_a_broker_that_stays_away_ends_the_task(fragile: Cluster, fetcher: Callable[..., TaskFetcher]) -> None:
    (node,) = fragile.nodes
    reading = iter(fetcher(kafkaConsumer_pollTimeoutMs="5000", kafka_default_api_timeout_ms="5000"))
    next(reading)
    node.kill()
    try:
        with pytest.raises(Exception, match=r"answer|connection"):
            list(reading)
    finally:
        node.start()


def test_a_stream_outlives_its_broker(fragile: Cluster) -> None:
    given = {"kafka.bootstrap.servers": fragile.bootstrap_servers, "subscribe": "rivers", "startingOffsets": "earliest"}
    reader = stream_reader(given, SOURCE_SCHEMA)
    start = reader.initialOffset()
    fragile.nodes[0].restart()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end["rivers"] == {"0": BATCHES * ROWS}
    reader.commit(end)
    reader.stop()
