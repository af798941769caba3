"""`KafkaAdminClient`: kafka-python's class over the conversations of this room.

Answers are plain lists and dictionaries with the field names of Kafka's protocol, as there. Whoever wants typed ones
has the conversations themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from moldau.client.admin import brokers as broker_admin
from moldau.client.admin import configs, groups
from moldau.client.admin import offsets as offset_admin
from moldau.client.admin import topics as topic_admin
from moldau.client.admin.objects import ConfigResource, NewPartitions, NewTopic
from moldau.client.conversation import Conversation
from moldau.client.exceptions import IllegalStateError, named
from moldau.client.metadata import TopicView
from moldau.client.settings import COMMON, bootstrap, merged, open_network
from moldau.client.structs import OffsetAndMetadata
from moldau.errors import KafkaError, MoldauError
from moldau.types import TopicPartition, uuid_to_text

T = TypeVar("T")


class KafkaAdminClient:
    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = dict(COMMON)

    def __init__(self, **configs: Any) -> None:
        self._closed = True
        self.config = merged({}, configs)
        self._background, self._network = open_network(self.config, "admin")
        bootstrap(self._background, self._network, self.config["bootstrap_timeout_ms"] / 1000)
        self._closed = False

    # ------------------------------------------------------------------------------------------------------- topics

    def create_topics(
        self,
        new_topics: Sequence[NewTopic | str] | Mapping[str, Mapping[str, Any]],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Creates topics: objects, names, or names with options. The first one refused is raised."""
        outcomes = self._ask(
            topic_admin.create_topics(_new_topics(new_topics), validate_only=validate_only), timeout_ms
        )
        return {"topics": _outcomes(outcomes, raise_errors)}

    def delete_topics(
        self, topics: Sequence[str], timeout_ms: float | None = None, raise_errors: bool = True
    ) -> dict[str, Any]:
        return {"responses": _outcomes(self._ask(topic_admin.delete_topics(list(topics)), timeout_ms), raise_errors)}

    def list_topics(self) -> list[str]:
        return [topic.name for topic in self._ask(topic_admin.list_topics(internal=True))]

    def describe_topics(self, topics: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """All topics, or those named."""
        if topics is None:
            return [_described(topic) for topic in self._ask(topic_admin.list_topics(internal=True))]
        return [_described(topic) for topic in self._ask(topic_admin.describe_topics(list(topics)))]

    def create_partitions(
        self,
        topic_partitions: Mapping[str, NewPartitions | int],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> dict[str, Any]:
        """Grows topics to a total number of partitions."""
        counts, placed = {}, {}
        for name, wanted in topic_partitions.items():
            counts[name] = wanted if isinstance(wanted, int) else wanted.total_count
            if not isinstance(wanted, int) and wanted.new_assignments:
                placed[name] = wanted.new_assignments
        conversation = topic_admin.create_partitions(counts, assignments=placed, validate_only=validate_only)
        return {"results": _outcomes(self._ask(conversation, timeout_ms), raise_errors)}

    def delete_records(
        self, records_to_delete: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, dict[str, int]]:
        """Moves the beginning of partitions; -1 means up to the end."""
        before = {TopicPartition(*where): offset for where, offset in records_to_delete.items()}
        found = self._ask(offset_admin.delete_records(before), timeout_ms)
        return {where: {"low_watermark": _or_raise(low)} for where, low in found.items()}

    def list_partition_offsets(
        self, topic_partition_specs: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, offset_admin.FoundOffset]:
        """Offsets by time, or by `OffsetSpec` (-1 latest, -2 earliest, -3 of the youngest record)."""
        wanted = {TopicPartition(*where): int(time) for where, time in topic_partition_specs.items()}
        found = self._ask(offset_admin.list_offsets(wanted), timeout_ms)
        return {where: _or_raise(offset) for where, offset in found.items()}

    # ----------------------------------------------------------------------------------------------------- configs

    def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: str = "modified",
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """By type and name of the resource; `config_filter="all"` includes what is at its default."""
        described: dict[str, dict[str, dict[str, Any]]] = {}
        for resource in config_resources:
            names = None if resource.configs is None else list(resource.configs)
            where = configs.ConfigResource(resource.resource_type, resource.name)
            values = self._ask(configs.describe_configs(where, names))
            everything = str(getattr(config_filter, "name", config_filter)).lower() == "all" or names is not None
            described.setdefault(resource.resource_type.name.lower(), {})[resource.name] = {
                value.name: _config(value, include_synonyms)
                for value in values
                if everything or value.source is not configs.ConfigSource.DEFAULT
            }
        return described

    def alter_configs(self, config_resources: Iterable[ConfigResource], validate_only: bool = False) -> None:
        """Sets the given settings and leaves all others as they are."""
        changes = {}
        for resource in config_resources:
            where = configs.ConfigResource(resource.resource_type, resource.name)
            changes[where] = [_change(name, given) for name, given in dict(resource.configs or {}).items()]
        self._alter(changes, validate_only)

    def reset_configs(self, config_resources: Iterable[ConfigResource], validate_only: bool = False) -> None:
        """Puts the named settings back to their defaults."""
        changes = {}
        for resource in config_resources:
            where = configs.ConfigResource(resource.resource_type, resource.name)
            deletion = configs.ConfigOperation.DELETE
            changes[where] = [configs.ConfigChange(name, deletion) for name in resource.configs or ()]
        self._alter(changes, validate_only)

    def _alter(self, changes: Any, validate_only: bool) -> None:
        for error in self._ask(configs.alter_configs(changes, validate_only=validate_only)).values():
            if error is not None:
                raise named(error)

    # ------------------------------------------------------------------------------------------------------ groups

    def list_groups(
        self, states_filter: Sequence[str] | None = None, types_filter: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        found = self._ask(groups.list_groups(tuple(states_filter or ()), tuple(types_filter or ())))
        return [
            {
                "group_id": each.group_id,
                "protocol_type": each.protocol_type,
                "group_state": each.state,
                "group_type": each.type,
            }
            for each in found
        ]

    def list_consumer_groups(self) -> list[tuple[str, str]]:
        """Names and protocol types, as earlier versions of kafka-python gave them."""
        return [(each["group_id"], each["protocol_type"]) for each in self.list_groups()]

    def describe_groups(self, group_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {group_id: _group(self._ask(groups.describe_group(group_id))) for group_id in group_ids}

    describe_consumer_groups = describe_groups

    def list_group_offsets(
        self, group_specs: str | Sequence[str] | Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """What groups have committed: of all partitions, or of those named."""
        wanted = {group_specs: None} if isinstance(group_specs, str) else group_specs
        specs = wanted if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
        return {name: self._committed(name, partitions) for name, partitions in specs.items()}

    def list_consumer_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        return self._committed(group_id, partitions)

    def _committed(
        self, group_id: str, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        chosen = None if partitions is None else {TopicPartition(*where) for where in partitions}
        found = self._ask(groups.committed_positions(group_id))
        return {
            where: OffsetAndMetadata(each.offset, each.metadata, each.leader_epoch)
            for where, each in found.items()
            if chosen is None or where in chosen
        }

    def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int]
    ) -> dict[TopicPartition, None]:
        """Moves a group that has no members."""
        wanted = {
            TopicPartition(*where): each if isinstance(each, int) else each.offset for where, each in offsets.items()
        }
        found = self._ask(groups.commit_positions(group_id, wanted))
        return {where: _or_raise(outcome) for where, outcome in found.items()}

    def delete_groups(self, group_ids: Sequence[str]) -> dict[str, None]:
        for group_id in group_ids:
            self._ask(groups.delete_group(group_id))
        return dict.fromkeys(group_ids)

    delete_consumer_groups = delete_groups

    # ------------------------------------------------------------------------------------------------------ cluster

    def describe_cluster(self) -> dict[str, Any]:
        found = self._ask(broker_admin.describe_cluster())
        return {
            "cluster_id": found.cluster_id,
            "controller_id": found.controller_id,
            "brokers": [
                {"broker_id": each.id, "host": each.host, "port": each.port, "rack": each.rack}
                for each in found.brokers
            ],
        }

    def describe_log_dirs(self, brokers: Sequence[int] | None = None) -> list[dict[str, Any]]:
        return [
            {
                "broker_id": each.broker,
                "log_dir": each.path,
                "total_bytes": each.total_bytes,
                "usable_bytes": each.usable_bytes,
                "replicas": {str(replica.partition): replica.size for replica in each.replicas},
            }
            for each in self._ask(broker_admin.describe_log_dirs(brokers))
        ]

    # ----------------------------------------------------------------------------------------------------- the ends

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._background.close(self._network.close)

    def __enter__(self) -> KafkaAdminClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()

    def _ask(self, conversation: Conversation[T], timeout_ms: float | None = None) -> T:
        if self._closed:
            raise IllegalStateError("The admin client is closed.")
        timeout = (self.config["request_timeout_ms"] if timeout_ms is None else timeout_ms) / 1000
        try:
            return self._background.run(self._network, conversation, timeout)
        except MoldauError as error:
            raise named(error) from None


def _new_topics(given: Sequence[NewTopic | str] | Mapping[str, Mapping[str, Any]]) -> list[topic_admin.NewTopic]:
    wanted: list[topic_admin.NewTopic] = []
    options: Mapping[str, Any]
    for each in given:
        if isinstance(each, str):
            options = given[each] if isinstance(given, Mapping) else {}
            partitions, factor = options.get("num_partitions", -1), options.get("replication_factor", -1)
            settings, placed = options.get("configs") or {}, options.get("assignments") or {}
            wanted.append(topic_admin.NewTopic(each, partitions, factor, settings, placed))
        else:
            placed, settings = each.replica_assignments, each.topic_configs
            wanted.append(
                topic_admin.NewTopic(each.name, each.num_partitions, each.replication_factor, settings, placed)
            )
    return wanted


def _outcomes(found: Iterable[topic_admin.TopicOutcome], raise_errors: bool) -> list[dict[str, Any]]:
    outcomes = list(found)
    for outcome in outcomes:
        if outcome.error is not None and raise_errors:
            raise named(outcome.error)
    return [
        {
            "name": outcome.name,
            "error_code": 0 if outcome.error is None else int(outcome.error.code),
            "error_message": None if outcome.error is None else str(outcome.error),
            "num_partitions": outcome.partitions,
            "replication_factor": outcome.replication_factor,
        }
        for outcome in outcomes
    ]


def _described(topic: TopicView) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": uuid_to_text(topic.id),
        "is_internal": topic.internal,
        "error_code": int(topic.error),
        "partitions": [
            {
                "partition_index": each.index,
                "leader_id": each.leader,
                "leader_epoch": each.leader_epoch,
                "replica_nodes": list(each.replicas),
                "isr_nodes": list(each.isr),
                "offline_replicas": list(each.offline),
                "error_code": int(each.error),
            }
            for each in topic.partitions.values()
        ],
    }


def _config(value: configs.ConfigValue, synonyms: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "value": value.value,
        "read_only": value.read_only,
        "is_sensitive": value.sensitive,
        "config_source": value.source.name,
    }
    if synonyms:
        described["synonyms"] = [
            {"name": name, "value": content, "source": source.name} for name, content, source in value.synonyms
        ]
    return described


def _change(name: str, given: Any) -> configs.ConfigChange:
    operation, value = given if isinstance(given, tuple) else (configs.ConfigOperation.SET, given)
    if isinstance(operation, str):
        operation = configs.ConfigOperation[operation.upper()]
    return configs.ConfigChange(name, configs.ConfigOperation(operation), None if value is None else str(value))


def _group(found: groups.GroupDescription) -> dict[str, Any]:
    return {
        "group_id": found.group_id,
        "group_state": found.state,
        "group_type": found.type,
        "protocol_type": found.protocol_type,
        "protocol_data": found.assignor,
        "coordinator": found.coordinator,
        "members": [
            {
                "member_id": each.member_id,
                "group_instance_id": each.instance_id,
                "client_id": each.client_id,
                "client_host": each.host,
                "subscription": sorted(each.subscription),
                "member_assignment": sorted(each.assigned),
            }
            for each in found.members
        ],
    }


def _or_raise(outcome: T | KafkaError) -> T:
    if isinstance(outcome, KafkaError):
        raise named(outcome)
    return outcome
