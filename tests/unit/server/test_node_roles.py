"""Nodes by their roles: what each listens to, what it answers there, and what keeps one from starting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from server_harness import Client

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.errors import ErrorCode
from moldau.metadata.features import supported_features
from moldau.node import Node, NodeError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from moldau.runtime.disk import RealDisk
from moldau.runtime.real import RealRuntime
from moldau.storage.log_dirs import clean_shutdown_epoch

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "4",
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "4@127.0.0.1:9093",
}
CONTROLLER_ONLY = {**COMBINED, "process.roles": "controller", "listeners": "CONTROLLER://127.0.0.1:0"}
BROKER_ONLY = {
    **COMBINED,
    "process.roles": "broker",
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "controller.quorum.voters": "1@127.0.0.1:9093",
}


class Run:
    """A node in this thread; `during` runs beside it once it is ready and may ask it, on a thread of its own."""

    def __init__(self, data: Path, settings: dict[str, str], cluster_id: str | None = None) -> None:
        self.runtime = RealRuntime()
        config = BrokerConfig.parse({"log.dirs": str(data), **settings})
        self.node = Node(config, self.runtime, cluster_id=cluster_id)
        self.addresses: list[tuple[str, int]] = []

    def through(self, during: Callable[[Run], None] = lambda run: None) -> None:
        outcome: list[BaseException | None] = []

        def ask() -> None:
            during(self)

        def asked(_value: Any, error: BaseException | None) -> None:
            outcome.append(error)
            self.node.shutdown(self.runtime.loop.stop)

        def accept(addresses: Any) -> None:
            self.addresses = list(addresses)
            self.runtime.workers.submit(ask, asked)

        self.node.start(accept)
        try:
            self.runtime.loop.run()
        finally:
            self.runtime.close()
        assert self.node.failure is None
        if outcome[0] is not None:
            raise outcome[0]

    def client(self, listener: str) -> Client:
        return Client(self.node.server.address(listener))


def keys_at(run: Run, listener: str) -> set[int]:
    client = run.client(listener)
    answer = client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    client.close()
    return {api.api_key for api in answer.api_keys}


def test_a_combined_node_has_both_doors(tmp_path: Path) -> None:
    def look(run: Run) -> None:
        brokers, controllers = keys_at(run, "PLAINTEXT"), keys_at(run, "CONTROLLER")
        assert ApiKey.PRODUCE in brokers - controllers
        assert {ApiKey.BROKER_REGISTRATION, ApiKey.ALTER_PARTITION, ApiKey.ENVELOPE} <= controllers - brokers
        assert {ApiKey.CREATE_TOPICS, ApiKey.ELECT_LEADERS, ApiKey.UNREGISTER_BROKER} <= controllers & brokers
        assert run.addresses == [run.node.server.address("PLAINTEXT")]

    Run(tmp_path, COMBINED).through(look)


def test_a_node_that_is_only_a_controller_takes_a_broker_in(tmp_path: Path) -> None:
    def ask(run: Run) -> None:
        assert run.addresses == [run.node.server.address("CONTROLLER")]
        client = run.client("CONTROLLER")
        registration = BrokerRegistrationRequest(
            broker_id=9,
            cluster_id=run.node.cluster_id,
            incarnation_id=bytes(15) + b"\1",
            listeners=[Listener(name="PLAINTEXT", host="elsewhere", port=9092)],
            features=[
                Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
                for name, levels in supported_features().items()
            ],
            log_dirs=[bytes(14) + b"\1\1"],
        )
        registered = client.call(registration, 4, BrokerRegistrationResponse)
        assert registered.error_code == 0
        epoch = registered.broker_epoch
        offset = run.node.metadata.image.offset
        answer = client.call(
            BrokerHeartbeatRequest(broker_id=9, broker_epoch=epoch, current_metadata_offset=offset),
            2,
            BrokerHeartbeatResponse,
        )
        assert (answer.error_code, answer.is_caught_up, answer.is_fenced) == (0, True, False)
        ids = client.call(AllocateProducerIdsRequest(broker_id=9, broker_epoch=epoch), 0, AllocateProducerIdsResponse)
        assert (ids.error_code, ids.producer_id_len) == (0, 1000)
        stale = client.call(
            AllocateProducerIdsRequest(broker_id=9, broker_epoch=epoch + 1), 0, AllocateProducerIdsResponse
        )
        assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH
        topic = CreatableTopic(name="rivers", num_partitions=2, replication_factor=1)
        created = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7, CreateTopicsResponse)
        assert created.topics[0].error_code == 0
        cluster = client.call(DescribeClusterRequest(endpoint_type=2), 1, DescribeClusterResponse)
        assert (cluster.error_code, cluster.controller_id) == (0, 4)
        brokers = client.call(DescribeClusterRequest(endpoint_type=1), 1, DescribeClusterResponse)
        assert brokers.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
        client.close()

    Run(tmp_path, CONTROLLER_ONLY).through(ask)
    # It has no partitions, so it leaves no mark that they were closed in order.
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    Run(tmp_path, CONTROLLER_ONLY).through()


def test_a_broker_tells_the_epoch_it_stopped_with(tmp_path: Path) -> None:
    epochs = []
    for _ in range(2):
        run = Run(tmp_path, COMBINED)
        run.through()
        assert run.node.broker is not None
        epochs.append((run.node.broker._previous_epoch, run.node.lifecycle.epoch))
    assert epochs[0][0] == -1
    assert epochs[1][0] == epochs[0][1] > 0
    (tmp_path / ".kafka_cleanshutdown").unlink()
    run = Run(tmp_path, COMBINED)
    run.through()
    assert run.node.broker is not None
    assert run.node.broker._previous_epoch == -1


@pytest.mark.parametrize("hands_over", [True, False])
def test_a_broker_hands_over_unless_it_is_told_not_to(tmp_path: Path, hands_over: bool) -> None:
    run = Run(tmp_path, {**COMBINED, "controlled.shutdown.enable": str(hands_over).lower()})
    run.through()
    assert run.node.lifecycle.stopped.settled is hands_over


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        (['{"version":0,"brokerEpoch":7}', '{"version":0,"brokerEpoch":7}'], 7),
        (['{"version":0,"brokerEpoch":7}', '{"version":0,"brokerEpoch":8}'], -1),
        (['{"version":0,"brokerEpoch":7}', None], -1),
        (['{"version":0}'], -1),
        ([""], -1),
        (["[]"], -1),
    ],
)
def test_all_directories_must_have_been_closed_in_the_same_epoch(
    tmp_path: Path, marks: list[str | None], expected: int
) -> None:
    paths = []
    for number, mark in enumerate(marks):
        path = tmp_path / str(number)
        path.mkdir()
        paths.append(str(path))
        if mark is not None:
            (path / ".kafka_cleanshutdown").write_text(mark)
    assert clean_shutdown_epoch(RealDisk(), paths) == expected


def test_a_node_of_a_larger_cluster_must_be_told_which(tmp_path: Path) -> None:
    settings = {**COMBINED, "controller.quorum.voters": "4@127.0.0.1:9093,5@127.0.0.1:9094"}
    runtime = RealRuntime()
    try:
        with pytest.raises(NodeError, match="moldau storage format --cluster-id"):
            Node(BrokerConfig.parse({"log.dirs": str(tmp_path), **settings}), runtime)
    finally:
        runtime.close()


def test_directories_of_another_cluster_are_refused(tmp_path: Path) -> None:
    Run(tmp_path, COMBINED).through()
    runtime = RealRuntime()
    try:
        with pytest.raises(NodeError, match="belong to the cluster"):
            Node(BrokerConfig.parse({"log.dirs": str(tmp_path), **COMBINED}), runtime, cluster_id="another")
    finally:
        runtime.close()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({**BROKER_ONLY, "controller.quorum.voters": "4@127.0.0.1:9093"}, "cannot contain node.id 4"),
        ({**COMBINED, "controller.listener.names": "OTHER"}, "OTHER"),
        ({**CONTROLLER_ONLY, "listeners": "PLAINTEXT://:0,CONTROLLER://:0"}, "process.roles=controller"),
        ({**BROKER_ONLY, "listeners": "PLAINTEXT://:0,CONTROLLER://:0"}, "process.roles=broker"),
        ({**COMBINED, "process.roles": "broker,clerk"}, "process.roles"),
        ({**COMBINED, "node.id": "7"}, "must contain node.id 7"),
        ({**BROKER_ONLY, "inter.broker.listener.name": "INSIDE"}, "INSIDE"),
    ],
)
def test_settings_that_contradict_each_other(tmp_path: Path, settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        BrokerConfig.parse({"log.dirs": str(tmp_path), **settings})


def test_a_broker_without_controllers_says_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("moldau.node.node._LOOKS_UNTOLD", 2)
    run = Run(tmp_path, BROKER_ONLY, "UJGknZGyd0ra95Lz8JamMg")
    loop = run.runtime.loop

    def look() -> None:
        if "no leader of the controllers is known" in caplog.text:
            run.node.shutdown(loop.stop)
        else:
            loop.call_later(0.01, look)

    run.node.start(lambda addresses: None)
    loop.call_soon(look)
    try:
        loop.run()
    finally:
        run.runtime.close()
