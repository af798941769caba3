"""Groups and transactions as the metrics count them: each by its protocol and its state."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "server_apis"))

from in_process_node import InProcessNode

from moldau.errors import ErrorCode
from moldau.metrics.exposition import Family
from moldau.node.monitoring import coordinators
from moldau.protocol.messages import add_partitions_to_txn as adding
from moldau.protocol.messages import consumer_group_heartbeat as consumer
from moldau.protocol.messages import find_coordinator as finding
from moldau.protocol.messages import init_producer_id as beginning
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages import streams_group_heartbeat as streams


class Node:
    def __init__(self, path: Path) -> None:
        self.inside = InProcessNode(
            path,
            compiled=True,
            settings={"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"},
        )
        self.inside.create_topic("t", 2)
        for kind, key in ((0, "g"), (1, "id")):
            self.until_done(
                finding.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]),
                6,
                finding.FindCoordinatorResponse,
                lambda answer: answer.coordinators[0].error_code,
            )

    def until_done(self, request: Any, version: int, response: Any, error: Any) -> Any:
        """A coordinator that has just been created loads first."""
        for _ in range(1000):
            answer = self.inside.ask(request, version, response)
            if error(answer) == ErrorCode.NONE:
                return answer
            self.inside.runtime.loop.call_later(0.005, self.inside.runtime.loop.stop)
            self.inside.runtime.loop.run()
        raise AssertionError(answer)

    def commit(self, group: str, partitions: int) -> None:
        rows = [commits.OffsetCommitRequestPartition(partition_index=n, committed_offset=1) for n in range(partitions)]
        topics = [commits.OffsetCommitRequestTopic(name="t", partitions=rows)]
        request = commits.OffsetCommitRequest(group_id=group, topics=topics)
        answered = self.until_done(
            request, 8, commits.OffsetCommitResponse, lambda answer: answer.topics[0].partitions[0].error_code
        )
        assert answered.topics

    def shown(self, families: Iterator[Family]) -> dict[str, dict[str, float]]:
        """By name and labels; without what is not."""
        return {
            family.name.removeprefix("kafka_"): {
                sample[1]: sample[2] for sample in family.samples if sample is not None and sample[2]
            }
            for family in families
        }


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    node.inside.close()


def test_groups_are_counted_by_protocol_and_state(node: Node) -> None:
    node.commit("first", 2)
    node.commit("second", 1)
    joining = consumer.ConsumerGroupHeartbeatRequest(
        group_id="third",
        member_id="m",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    node.until_done(joining, 1, consumer.ConsumerGroupHeartbeatResponse, lambda answer: answer.error_code)
    topology = streams.Topology(epoch=0, subtopologies=[streams.Subtopology(subtopology_id="0", source_topics=["t"])])
    starting = streams.StreamsGroupHeartbeatRequest(
        group_id="fourth",
        member_id="m",
        rebalance_timeout_ms=1000,
        topology=topology,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
    )
    node.until_done(starting, 0, streams.StreamsGroupHeartbeatResponse, lambda answer: answer.error_code)
    broker = node.inside.node.broker
    assert broker is not None
    shown = node.shown(coordinators.of_groups(broker.groups))
    assert shown["coordinator_group_groupmetadatamanager_numgroups"] == {"": 4}
    assert shown["coordinator_group_groupmetadatamanager_numgroupsempty"] == {"": 2}
    assert shown["coordinator_group_groupmetadatamanager_numgroupsstable"] == {}
    assert shown["coordinator_group_groupmetadatamanager_numoffsets"] == {"": 3}
    protocols = {'protocol="classic"': 2, 'protocol="consumer"': 1, 'protocol="streams"': 1}
    assert shown["server_group_coordinator_metrics_group_count"] == protocols
    (streaming,) = shown["server_group_coordinator_metrics_streams_group_count"].items()
    assert streaming[0] in ('state="NotReady"', 'state="Assigning"', 'state="Reconciling"', 'state="Stable"')
    assert streaming[1] == 1
    assert shown["server_group_coordinator_metrics_share_group_count"] == {}
    (state,) = shown["server_group_coordinator_metrics_consumer_group_count"].items()
    assert state[0] in ('state="Stable"', 'state="Assigning"', 'state="Reconciling"')
    assert state[1] == 1


def test_transactions_are_counted_by_state_with_the_longest_of_those_that_are_open(node: Node) -> None:
    def begin(name: str) -> Any:
        request = beginning.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        return node.until_done(request, 4, beginning.InitProducerIdResponse, lambda answer: answer.error_code)

    begin("idle")
    producer = begin("open")
    broker = node.inside.node.broker
    assert broker is not None
    now = node.inside.runtime.clock.now_ms()
    shown = node.shown(coordinators.of_transactions(broker.transactions, now))
    assert shown == {"moldau_transactions": {'state="Empty"': 2}, "moldau_transaction_longest_open_seconds": {}}
    request = adding.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="open",
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[adding.AddPartitionsToTxnTopic(name="t", partitions=[0])],
    )
    answer = node.inside.ask(request, 3, adding.AddPartitionsToTxnResponse)
    assert answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == ErrorCode.NONE
    shown = node.shown(coordinators.of_transactions(broker.transactions, now + 5_000_000))
    assert shown["moldau_transactions"] == {'state="Empty"': 1, 'state="Ongoing"': 1}
    assert 4_900 < shown["moldau_transaction_longest_open_seconds"][""] <= 5_000
