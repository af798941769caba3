"""The brokers of a cluster, and what lies in their log directories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from moldau.client.conversation import CONTROLLER, Ask, AskAll, Conversation, Learn, retrying
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.errors import UnsupportedRequest
from moldau.links.versions import ByVersion
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from moldau.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from moldau.types import TopicPartition

# DescribeCluster tells of fenced brokers from this version on.
_FENCED_SINCE = 2


@dataclass(slots=True, frozen=True)
class BrokerDescription:
    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False


@dataclass(slots=True, frozen=True)
class ClusterDescription:
    cluster_id: str | None
    controller_id: int
    brokers: tuple[BrokerDescription, ...]
    # What we may do with the cluster, as bits; the lowest number if the broker does not tell.
    authorized_operations: int = -(1 << 31)


@dataclass(slots=True, frozen=True)
class ReplicaOnDisk:
    partition: TopicPartition
    size: int
    offset_lag: int
    future: bool


@dataclass(slots=True, frozen=True)
class LogDirectory:
    """One log directory of one broker. The two sizes of its disk are -1 where the broker is too old to say."""

    broker: int
    path: str
    error: KafkaError | None
    total_bytes: int
    usable_bytes: int
    replicas: tuple[ReplicaOnDisk, ...]
    # Takes no new replicas (KIP-1066).
    cordoned: bool = False


def describe_cluster() -> Conversation[ClusterDescription]:
    def attempt() -> Conversation[ClusterDescription]:
        try:
            response: DescribeClusterResponse = yield Ask(ByVersion(DescribeClusterRequest, _cluster_request))
        except UnsupportedRequest:
            # Brokers before 2.8 (and test brokers) tell the same, less the fenced ones, in their metadata.
            view: ClusterView = yield Learn((), anew=True)
            return _from_view(view)
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code, response.error_message)
        brokers = [
            BrokerDescription(broker.broker_id, broker.host, broker.port, broker.rack, broker.is_fenced)
            for broker in sorted(response.brokers, key=lambda broker: broker.broker_id)
        ]
        return ClusterDescription(
            response.cluster_id, response.controller_id, tuple(brokers), response.cluster_authorized_operations
        )

    return retrying(attempt)


def describe_log_dirs(brokers: Sequence[int] | None = None) -> Conversation[list[LogDirectory]]:
    """The log directories of the given brokers, or of all."""

    def attempt() -> Conversation[list[LogDirectory]]:
        view: ClusterView = yield Learn((), anew=True)
        nodes = sorted(view.brokers) if brokers is None else list(brokers)
        responses = yield AskAll([Ask(DescribeLogDirsRequest(topics=None), to=node) for node in nodes])
        directories: list[LogDirectory] = []
        for node, response in zip(nodes, responses, strict=True):
            if isinstance(response, KafkaError):
                raise response
            directories.extend(_directories(node, response))
        return directories

    return retrying(attempt)


def unregister_broker(broker: int) -> Conversation[None]:
    """Has the cluster forget a broker that is gone for good."""

    def attempt() -> Conversation[None]:
        response: UnregisterBrokerResponse = yield Ask(UnregisterBrokerRequest(broker_id=broker), to=CONTROLLER)
        code = error_code(response.error_code)
        if code is ErrorCode.BROKER_ID_NOT_REGISTERED:
            raise KafkaError(code, f"There is no broker with id {broker}.")
        if code is not ErrorCode.NONE:
            raise KafkaError(code, response.error_message)

    return retrying(attempt)


def _cluster_request(version: int) -> DescribeClusterRequest:
    return DescribeClusterRequest(
        include_cluster_authorized_operations=True, include_fenced_brokers=version >= _FENCED_SINCE
    )


def _from_view(view: ClusterView) -> ClusterDescription:
    brokers = [
        BrokerDescription(broker.id, broker.host, broker.port, broker.rack)
        for _, broker in sorted(view.brokers.items())
    ]
    return ClusterDescription(view.cluster_id, view.controller_id, tuple(brokers))


def _directories(node: int, response: DescribeLogDirsResponse) -> list[LogDirectory]:
    code = error_code(response.error_code)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, f"Broker {node}: {code.text}")
    return [_directory(node, result) for result in response.results]


def _directory(node: int, result: DescribeLogDirsResult) -> LogDirectory:
    code = error_code(result.error_code)
    return LogDirectory(
        broker=node,
        path=result.log_dir,
        error=None if code is ErrorCode.NONE else KafkaError(code),
        total_bytes=result.total_bytes,
        usable_bytes=result.usable_bytes,
        replicas=tuple(
            ReplicaOnDisk(
                TopicPartition(topic.name, entry.partition_index),
                entry.partition_size,
                entry.offset_lag,
                entry.is_future_key,
            )
            for topic in result.topics
            for entry in topic.partitions
        ),
        cordoned=result.is_cordoned,
    )
