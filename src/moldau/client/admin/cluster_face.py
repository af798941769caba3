"""The part of `KafkaAdminClient` for brokers, replicas and what the cluster as a whole can do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moldau.client.admin import brokers as broker_admin
from moldau.client.admin import features, quorum, replicas
from moldau.client.admin import topics as topic_admin
from moldau.client.admin.answer import kind_of, operations
from moldau.client.admin.features import UpgradeType
from moldau.client.admin.quorum import QuorumReplica
from moldau.client.conversation import ANY_NODE, Ask, Conversation, Learn, retrying
from moldau.client.exceptions import named
from moldau.client.leaders import by_topic
from moldau.client.session import Session
from moldau.client.structs import TopicPartitionReplica
from moldau.errors import ErrorCode
from moldau.errors.named import NamedError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.types import ZERO_UUID, TopicPartition, uuid_to_text

# Some partitions: of topics by name, all of a list of topics, or named one by one.
Partitions = Mapping[str, Iterable[int]] | Iterable[Any]


class ClusterAdmin:
    def __init__(self, session: Session) -> None:
        self._session = session

    def describe_cluster(self) -> dict[str, Any]:
        found = self._session.ask(broker_admin.describe_cluster())
        return {
            "cluster_id": found.cluster_id,
            "controller_id": found.controller_id,
            "authorized_operations": operations(found.authorized_operations),
            "brokers": [
                {
                    "broker_id": each.id,
                    "host": each.host,
                    "port": each.port,
                    "rack": each.rack,
                    "is_fenced": each.fenced,
                }
                for each in found.brokers
            ],
        }

    def describe_log_dirs(
        self, topic_partitions: Partitions | None = None, brokers: Sequence[int] | None = None
    ) -> list[dict[str, Any]]:
        """What lies in the log directories of brokers: everything, or of these topics."""
        wanted = None if topic_partitions is None else self._named(topic_partitions)
        found: dict[int, list[dict[str, Any]]] = {}
        for each in self._session.ask(broker_admin.describe_log_dirs(brokers)):
            here = [part for part in each.replicas if wanted is None or part.partition in wanted]
            sizes = {part.partition: part for part in here}
            found.setdefault(each.broker, []).append(
                {
                    "error_code": 0 if each.error is None else int(each.error.code),
                    "log_dir": each.path,
                    "topics": [
                        {
                            "name": topic,
                            "partitions": [
                                {
                                    "partition_index": where.partition,
                                    "partition_size": sizes[where].size,
                                    "offset_lag": sizes[where].offset_lag,
                                    "is_future_key": sizes[where].future,
                                }
                                for where in group
                            ],
                        }
                        for topic, group in by_topic(sizes).items()
                    ],
                    "total_bytes": each.total_bytes,
                    "usable_bytes": each.usable_bytes,
                    "is_cordoned": each.cordoned,
                }
            )
        return [{"broker": broker, "log_dirs": directories} for broker, directories in found.items()]

    def alter_replica_log_dirs(
        self, replica_assignments: Mapping[TopicPartitionReplica, str]
    ) -> dict[TopicPartitionReplica, type[NamedError]]:
        """Moves replicas into other directories of their brokers; the class of the outcome for each."""
        places = {TopicPartitionReplica(*replica): path for replica, path in replica_assignments.items()}
        return {replica: kind_of(error) for replica, error in self._session.ask(replicas.move_replicas(places)).items()}

    # ---------------------------------------------------------------------------------------------------- versions

    def api_versions(self) -> dict[ApiKey, tuple[int, int]]:
        """Which requests a broker takes, and in which versions."""
        return self._versions(ANY_NODE)

    def get_broker_version_data(self, broker_id: int) -> dict[ApiKey, tuple[int, int]]:
        """The same of one broker."""
        return self._versions(broker_id)

    def _versions(self, node: int) -> dict[ApiKey, tuple[int, int]]:
        known = frozenset(ApiKey)
        found = self._session.ask(_api_versions(node))
        rows = [row for row in found.api_keys if row.api_key in known]
        return {ApiKey(row.api_key): (row.min_version, row.max_version) for row in rows}

    def describe_features(self, send_request_to_controller: bool = False) -> dict[str, dict[str, Any]]:
        """Levels that brokers support and that the cluster has agreed on, by name."""
        described: dict[str, dict[str, Any]] = {}
        for feature in self._session.ask(features.describe_features(controller=send_request_to_controller)):
            entry = described.setdefault(feature.name, {})
            if feature.supported is not None:
                entry["supported"] = feature.supported
            if feature.finalized is not None:
                entry["finalized"], entry["finalized_epoch"] = feature.finalized, feature.epoch
        return described

    def update_features(
        self,
        feature_updates: Mapping[str, int | tuple[Any, int]],
        validate_only: bool = False,
        timeout_ms: int = 60_000,
    ) -> dict[str, str]:
        """Agrees on other levels: a number, or a pair of `UpdateFeatureType` and number."""
        levels = {name: _level(spec) for name, spec in feature_updates.items()}
        found = self._session.ask(features.update_features(levels, validate_only=validate_only, timeout_ms=timeout_ms))
        return {name: "OK" if error is None else str(error) for name, error in found.items()}

    def describe_metadata_quorum(self) -> dict[str, Any]:
        found = self._session.ask(quorum.describe_quorum())
        partition = {
            "partition_index": 0,
            "error": None,
            "leader_id": found.leader_id,
            "leader_epoch": found.leader_epoch,
            "high_watermark": found.high_watermark,
            "current_voters": [_quorum_replica(each) for each in found.voters],
            "observers": [_quorum_replica(each) for each in found.observers],
        }
        nodes = [
            {
                "node_id": node,
                "listeners": [{"name": each.listener, "host": each.host, "port": each.port} for each in listeners],
            }
            for node, listeners in found.endpoints.items()
        ]
        return {"topics": [{"topic_name": "__cluster_metadata", "partitions": [partition]}], "nodes": nodes}

    # --------------------------------------------------------------------------------------- leaders and reassignment

    def elect_leaders(
        self,
        election_type: int,
        topic_partitions: Partitions | None = None,
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> dict[TopicPartition, type[NamedError]]:
        """Has leaders elected (0 the preferred, 1 any that is there); where the right one leads already, nothing is
        done. The class of the outcome for each."""
        wanted = None if topic_partitions is None else self._named(topic_partitions)
        found = self._session.ask(replicas.elect_leaders(replicas.ElectionType(election_type), wanted), timeout_ms)
        for error in found.values():
            if raise_errors and error is not None and error.code is not ErrorCode.ELECTION_NOT_NEEDED:
                raise named(error)
        return {where: kind_of(error) for where, error in found.items()}

    def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: float | None = None
    ) -> dict[TopicPartition, type[NamedError] | None]:
        """Moves partitions to other brokers; None gives up a move. The class of the error, or None, for each."""
        wanted = {TopicPartition(*where): brokers for where, brokers in reassignments.items()}
        if any(brokers is not None and not list(brokers) for brokers in wanted.values()):
            raise ValueError("a partition needs a replica; None gives up a move")
        found = self._session.ask(replicas.reassign(wanted), timeout_ms)
        return {where: None if error is None else kind_of(error) for where, error in found.items()}

    def list_partition_reassignments(
        self, topic_partitions: Partitions | None = None, timeout_ms: float | None = None
    ) -> dict[TopicPartition, dict[str, list[int]]]:
        """The moves under way."""
        wanted = None if topic_partitions is None else self._named(topic_partitions)
        return {
            where: {
                "replicas": list(move.replicas),
                "adding_replicas": list(move.adding),
                "removing_replicas": list(move.removing),
            }
            for where, move in self._session.ask(replicas.list_reassignments(wanted), timeout_ms).items()
        }

    def _named(self, given: Partitions) -> list[TopicPartition]:
        if isinstance(given, Mapping):
            return [TopicPartition(topic, number) for topic, numbers in given.items() for number in numbers]
        chosen = list(given)
        topics = [each for each in chosen if isinstance(each, str)]
        whole = self._session.ask(topic_admin.describe_topics(topics)) if topics else []
        return [
            *(TopicPartition(*each) for each in chosen if not isinstance(each, str)),
            *(TopicPartition(topic.name, number) for topic in whole for number in topic.partitions),
        ]


def _api_versions(node: int) -> Conversation[ApiVersionsResponse]:
    def attempt() -> Conversation[ApiVersionsResponse]:
        yield Learn((), anew=True)
        request = ApiVersionsRequest(client_software_name="moldau", client_software_version="1")
        response: ApiVersionsResponse = yield Ask(request, to=node)
        return response

    return retrying(attempt)


def _level(spec: int | tuple[Any, int]) -> tuple[UpgradeType, int]:
    if isinstance(spec, int):
        return UpgradeType.UPGRADE, spec
    kind, level = spec
    if isinstance(kind, str):
        return UpgradeType[kind.upper().replace("-", "_")], level
    return UpgradeType(int(kind)), level


def _quorum_replica(each: QuorumReplica) -> dict[str, Any]:
    return {
        "replica_id": each.id,
        "replica_directory_id": None if each.directory == ZERO_UUID else uuid_to_text(each.directory),
        "log_end_offset": each.log_end_offset,
        "last_fetch_timestamp": each.last_fetch_timestamp,
        "last_caught_up_timestamp": each.last_caught_up_timestamp,
    }
