"""Spark's source has what the clients have: the closest replica, and positions compared with the leader's log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scripted_partition import ScriptedPartition, scripted_partition

pytest.importorskip("pyspark", reason="needs the extra: pip install 'moldau[spark]'")

from moldau.spark.connection import open_cluster
from moldau.spark.source.fetching import TaskFetcher
from moldau.spark.source.loss import DataLoss
from moldau.spark.source.ranges import OffsetRange
from moldau.spark.source.settings import batch_settings


@pytest.fixture
def partition() -> Iterator[ScriptedPartition]:
    with scripted_partition(nodes=2) as partition:
        partition.append(5)
        yield partition


def offsets(partition: ScriptedPartition, end: int, **options: str) -> Iterator[list[int]]:
    """Of each answer."""
    given = {"kafka.bootstrap.servers": partition.bootstrap, "subscribe": "moldau", "kafka.fetch.max.wait.ms": "20"}
    given |= {"kafka.retry.backoff.ms": "10", **{name.replace("__", "."): text for name, text in options.items()}}
    settings = batch_settings(given)
    with open_cluster(settings.options) as cluster:
        for _, answer in TaskFetcher(cluster, (OffsetRange("moldau", 0, 0, end),), settings):
            yield [header.base_offset for header, _ in answer.shown()]


@pytest.mark.parametrize(("options", "asked"), [({"kafka__client__rack": "prague"}, {1, 2}), ({}, {1})])
def test_a_replica_that_is_closer_is_read_from(
    partition: ScriptedPartition, options: dict[str, Any], asked: set[int]
) -> None:
    partition.preferred = 2
    assert list(offsets(partition, 5, **options)) == [[0, 1, 2, 3, 4]]
    assert {fetch.node for fetch in partition.fetches} == asked
    assert partition.fetches[-1].node == max(asked)


def test_a_log_that_was_cut_back_below_what_was_read_is_a_loss(partition: ScriptedPartition) -> None:
    answers = offsets(partition, 7)
    assert next(answers) == [0, 1, 2, 3, 4]
    partition.lead_anew(2, keep=3, append=4)
    with pytest.raises(DataLoss, match="was cut back below offset 5, up to which it had been read"):
        next(answers)


def test_and_is_read_on_from_there_if_so_asked(partition: ScriptedPartition) -> None:
    answers = offsets(partition, 7, failOnDataLoss="false")
    assert next(answers) == [0, 1, 2, 3, 4]
    partition.lead_anew(2, keep=3, append=4)
    assert list(answers) == [[5, 6]]


def test_what_never_comes_is_a_loss_only_if_the_broker_says_so(partition: ScriptedPartition) -> None:
    answers = offsets(partition, 7, kafkaConsumer__pollTimeoutMs="300")
    assert next(answers) == [0, 1, 2, 3, 4]
    with pytest.raises(DataLoss, match=r"gave nothing for offset 5 within 0.3 s .*; it ends at 5, and was to be read"):
        next(answers)
