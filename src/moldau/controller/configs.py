"""Dynamic settings of topics, brokers, groups and client metrics.

A request changes several settings of several resources; each resource is all or nothing. Values are checked against
the table of the resource's type before a record is written, so the log never holds a setting that cannot be applied.
Settings of brokers were checked by the broker that took the request, which alone knows its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from moldau.config.alteration import Operation, changed, incremental_changes, replacing_changes
from moldau.config.broker import BROKER_SETTINGS, BrokerConfig
from moldau.config.client_metrics import CLIENT_METRICS_SETTINGS, client_metrics_config
from moldau.config.definition import ConfigError, Setting
from moldau.config.description import Description, Dynamic, describe_topic
from moldau.config.group import GROUP_SETTINGS, group_config
from moldau.config.topic import TOPIC_SETTINGS, topic_config
from moldau.controller.decision import Decision, check_size
from moldau.controller.features import FeatureControl
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import topic_name
from moldau.metadata.image import ConfigResource, ResourceType
from moldau.metadata.records import ConfigRecord
from moldau.timeline import SnapshotRegistry, TimelineMap

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"


class Change(NamedTuple):
    name: str
    operation: int
    value: str | None


class ResourceChange(NamedTuple):
    resource: ConfigResource
    changes: Sequence[Change]


# What became of one resource: None for success.
Outcome = tuple[ConfigResource, KafkaError | None]


class ConfigControl:
    """`exists` raises KafkaError for a resource that is not there to be configured."""

    def __init__(
        self,
        registry: SnapshotRegistry,
        static: BrokerConfig,
        exists: Callable[[ConfigResource], None],
        features: FeatureControl,
    ) -> None:
        self._static = static
        self._features = features
        self._exists = exists
        # Values are replaced, never changed in place: an undo must find the old dictionary as it was.
        self._settings: TimelineMap[ConfigResource, Mapping[str, str]] = TimelineMap(registry)
        # What the file says under the brokers' dynamic settings, and what follows from it for a topic without settings.
        self._current: tuple[Dynamic, BrokerConfig, list[Description]] | None = None

    def of(self, resource: ConfigResource) -> Mapping[str, str]:
        return self._settings.get(resource, {})

    @property
    def broker(self) -> BrokerConfig:
        """This node's settings with everything dynamic applied: what a topic falls back to."""
        return self._effective()[1]

    def describe_topic(self, settings: Mapping[str, str]) -> list[Description]:
        """All settings of a topic that has these of its own."""
        dynamic, config, without_settings = self._effective()
        return describe_topic(config, settings, dynamic) if settings else without_settings

    def unclean_election_enabled(self, topic: str) -> bool:
        text = self.of(ConfigResource(ResourceType.TOPIC, topic)).get(UNCLEAN_ELECTION)
        return self.broker.unclean_leader_election_enable if text is None else text.strip().lower() == "true"

    def min_insync_replicas(self, topic: str) -> int:
        text = self.of(ConfigResource(ResourceType.TOPIC, topic)).get(MIN_INSYNC_REPLICAS)
        return self.broker.min_insync_replicas if text is None else int(text)

    def _effective(self) -> tuple[Dynamic, BrokerConfig, list[Description]]:
        dynamic = Dynamic(
            broker=self.of(ConfigResource(ResourceType.BROKER, str(self._static.node_id))),
            cluster=self.of(ConfigResource(ResourceType.BROKER, "")),
        )
        if self._current is None or self._current[0] != dynamic:
            # Each change was checked when it was made, but the file may have changed since.
            config, _ = self._static.with_stored(dynamic.cluster, dynamic.broker)
            self._current = dynamic, config, describe_topic(config, {}, dynamic)
        return self._current

    # --------------------------------------------------------------------------------------------------- decisions

    def check_new_topic(self, name: str, settings: Mapping[str, str | None]) -> list[ConfigRecord]:
        """The records for a topic that is being created; KafkaError(INVALID_CONFIG) if a setting is not allowed."""
        for key, value in settings.items():
            if value is None:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"The setting {key!r} has no value.")
        resource = ConfigResource(ResourceType.TOPIC, name)
        changes = [Change(key, Operation.SET, value) for key, value in settings.items()]
        return self._change(ResourceChange(resource, changes), is_new=True)

    def incremental(self, resources: Iterable[ResourceChange], *, validate_only: bool) -> Decision[list[Outcome]]:
        """SET, DELETE, APPEND and SUBTRACT; what is not named stays as it is."""
        return self._decide(resources, self._change, validate_only)

    def replace(self, resources: Iterable[ResourceChange], *, validate_only: bool) -> Decision[list[Outcome]]:
        """The older way: the settings given are the settings, and all others go back to their defaults."""
        return self._decide(resources, self._replace, validate_only)

    def _decide(
        self,
        resources: Iterable[ResourceChange],
        decide: Callable[[ResourceChange], list[ConfigRecord]],
        validate_only: bool,
    ) -> Decision[list[Outcome]]:
        records: list[ConfigRecord] = []
        outcomes: list[Outcome] = []
        for wanted in resources:
            try:
                records += decide(wanted)
                outcomes.append((wanted.resource, None))
            except KafkaError as error:
                outcomes.append((wanted.resource, error))
        check_size(len(records), "settings")
        return Decision([] if validate_only else records, outcomes)

    def _change(self, wanted: ResourceChange, *, is_new: bool = False) -> list[ConfigRecord]:
        current = self.of(wanted.resource)
        try:
            changes = incremental_changes(_table(wanted.resource), current, wanted.changes)
        except ConfigError as error:
            raise _invalid(error) from None
        return self._records(wanted.resource, current, changes, is_new=is_new)

    def _replace(self, wanted: ResourceChange) -> list[ConfigRecord]:
        current = self.of(wanted.resource)
        changes = replacing_changes(current, ((change.name, change.value) for change in wanted.changes))
        return self._records(wanted.resource, current, changes, is_new=False)

    def _records(
        self,
        resource: ConfigResource,
        current: Mapping[str, str],
        changes: Mapping[str, str | None],
        *,
        is_new: bool,
    ) -> list[ConfigRecord]:
        self._check(resource, changed(current, changes), is_new=is_new)
        # A broker takes over its settings when a record comes, even one that repeats the value (new key files).
        always = resource.type == ResourceType.BROKER
        return [
            ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
            for name, value in changes.items()
            if always or value != current.get(name)
        ]

    def _check(self, resource: ConfigResource, settings: Mapping[str, str], *, is_new: bool) -> None:
        if resource.type == ResourceType.TOPIC:
            if not resource.name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "There are no settings for all topics: name one.")
            topic_name.validate(resource.name)
            try:
                topic_config(self.broker.log_defaults(), settings)
            except ConfigError as error:
                raise _invalid(error) from None
        elif resource.type == ResourceType.BROKER:
            _check_broker_name(resource.name)
            if self._features.eligible_leaders:
                self._check_minimum(resource, settings)
        elif resource.type == ResourceType.GROUP:
            check_group_name(resource.name)
            try:
                group_config(self.broker, settings)
            except ConfigError as error:
                raise _invalid(error) from None
        elif resource.type == ResourceType.CLIENT_METRICS:
            check_subscription_name(resource.name)
            client_metrics_config(settings)
        else:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Settings of {describe(resource.type)} are not supported.")
        if not is_new:
            self._exists(resource)

    def _check_minimum(self, resource: ConfigResource, settings: Mapping[str, str]) -> None:
        """With eligible leaders, controller and brokers must agree on the least number of replicas in sync, so it is
        written in the log and the same for all brokers."""
        if resource.name and settings.get(MIN_INSYNC_REPLICAS) != self.of(resource).get(MIN_INSYNC_REPLICAS):
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"One broker cannot have a {MIN_INSYNC_REPLICAS} of its own while leaders are elected among eligible "
                "replicas.",
            )
        if not resource.name and MIN_INSYNC_REPLICAS not in settings:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"The cluster's {MIN_INSYNC_REPLICAS} cannot be removed while leaders are elected among eligible "
                "replicas.",
            )

    def records_for_eligible_leaders(self) -> list[ConfigRecord]:
        """What has to be written before the feature is switched on, so that `_check_minimum` holds."""
        records = []
        if MIN_INSYNC_REPLICAS not in self.of(ConfigResource(ResourceType.BROKER, "")):
            records.append(_minimum("", str(self._static.min_insync_replicas)))
        for resource, settings in self._settings.items():
            if resource.type == ResourceType.BROKER and resource.name and MIN_INSYNC_REPLICAS in settings:
                records.append(_minimum(resource.name, None))
        return records

    # ------------------------------------------------------------------------------------------------------ replay

    def replay(self, record: ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        settings = dict(self.of(resource))
        if record.value is None:
            settings.pop(record.name, None)
        else:
            settings[record.name] = record.value
        if settings:
            self._settings[resource] = settings
        else:
            self._settings.pop(resource)

    def forget_topic(self, name: str) -> None:
        """A topic's settings leave with it; there are no records for that."""
        self._settings.pop(ConfigResource(ResourceType.TOPIC, name))


def describe(resource_type: int) -> str:
    names: Mapping[int, str] = {
        ResourceType.TOPIC: "topics",
        ResourceType.BROKER: "brokers",
        ResourceType.BROKER_LOGGER: "broker loggers",
        ResourceType.CLIENT_METRICS: "client metrics",
        ResourceType.GROUP: "groups",
    }
    return names.get(resource_type, f"resources of type {resource_type}")


def _minimum(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=ResourceType.BROKER, resource_name=broker, name=MIN_INSYNC_REPLICAS, value=value)


def check_group_name(name: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "There are no settings for all groups: name one.")


def check_subscription_name(name: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A subscription to client metrics has a name.")


_TABLES: Final[Mapping[int, Mapping[str, Setting[Any]]]] = {
    ResourceType.TOPIC: TOPIC_SETTINGS,
    ResourceType.GROUP: GROUP_SETTINGS,
    ResourceType.CLIENT_METRICS: CLIENT_METRICS_SETTINGS,
}


def _table(resource: ConfigResource) -> Mapping[str, Setting[Any]]:
    return _TABLES.get(resource.type, BROKER_SETTINGS)


def _check_broker_name(name: str) -> None:
    if name and not (name.isascii() and name.isdigit()):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"A broker is named by its number, not {name!r}.")


def _invalid(error: ConfigError) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"{error}.")
