"""Settings that live in the cluster: of topics, of brokers, of the brokers' common default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from moldau.client.conversation import ANY_NODE, CONTROLLER, Ask, AskAll, Conversation, Learn, first_error, retrying
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.versions import ByVersion
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

# Every resource there is can be listed from this version on; before, only those that clients send metrics for.
_LISTED_SINCE = 1

# DescribeConfigs can send the documentation of settings from this version on.
_DOCUMENTED_SINCE = 3


class ResourceType(IntEnum):
    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from; the first that has one wins, in this order."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    SERVER_PROPERTIES = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8

    @property
    def text(self) -> str:
        return self.name.lower().replace("_", " ")


class ConfigType(IntEnum):
    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigOperation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_TYPES = frozenset(ConfigType)
_RESOURCES = frozenset(ResourceType)


class ConfigResource(NamedTuple):
    type: ResourceType
    name: str

    def __str__(self) -> str:
        if self.type is ResourceType.BROKER and not self.name:
            return "the default of all brokers"
        return f"{self.type.name.lower().replace('_', ' ')} {self.name!r}"


class ConfigChange(NamedTuple):
    name: str
    operation: ConfigOperation
    value: str | None = None


@dataclass(slots=True, frozen=True)
class ConfigValue:
    name: str
    value: str | None
    source: ConfigSource
    read_only: bool = False
    sensitive: bool = False
    documentation: str | None = None
    synonyms: tuple[tuple[str, str | None, ConfigSource], ...] = ()
    type: ConfigType = ConfigType.UNKNOWN

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT


def describe_configs(
    resource: ConfigResource, names: Sequence[str] | None = None, *, documentation: bool = False
) -> Conversation[list[ConfigValue]]:
    """The settings of one resource by name, all of them or those named."""

    def build(version: int) -> DescribeConfigsRequest:
        return DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(
                    resource_type=resource.type,
                    resource_name=resource.name,
                    configuration_keys=None if names is None else list(names),
                )
            ],
            include_synonyms=True,
            include_documentation=documentation and version >= _DOCUMENTED_SINCE,
        )

    def attempt() -> Conversation[list[ConfigValue]]:
        node = yield from _responsible_node(resource)
        response = yield Ask(ByVersion(DescribeConfigsRequest, build), to=node)
        result: DescribeConfigsResult = response.results[0]
        _check(resource, result.error_code, result.error_message)
        return sorted((_value(config) for config in result.configs), key=lambda config: config.name)

    return retrying(attempt)


def alter_configs(
    changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
) -> Conversation[dict[ConfigResource, KafkaError | None]]:
    """Changes the named settings and leaves all others alone; one outcome per resource."""

    def attempt() -> Conversation[dict[ConfigResource, KafkaError | None]]:
        destinations: dict[int, list[ConfigResource]] = {}
        for resource in changes:
            # A broker checks its own dynamic settings before the controller stores them, so they go through it.
            node = yield from _responsible_node(resource)
            destinations.setdefault(CONTROLLER if node == ANY_NODE else node, []).append(resource)
        asks = [Ask(_alteration(changes, group, validate_only), to=node) for node, group in destinations.items()]
        results = yield AskAll(asks)
        failure = first_error(results)
        if failure is not None:
            raise failure
        return {resource: error for response in results for resource, error in _alterations(response)}

    return retrying(attempt)


def list_config_resources(types: Sequence[ResourceType] = ()) -> Conversation[list[ConfigResource]]:
    """What has settings of its own, of these types or of all."""

    def build(version: int) -> ListConfigResourcesRequest:
        return ListConfigResourcesRequest(resource_types=list(types) if version >= _LISTED_SINCE else [])

    def attempt() -> Conversation[list[ConfigResource]]:
        response: ListConfigResourcesResponse = yield Ask(ByVersion(ListConfigResourcesRequest, build))
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code)
        known = [row for row in response.config_resources if row.resource_type in _RESOURCES]
        return [ConfigResource(ResourceType(row.resource_type), row.resource_name) for row in known]

    return retrying(attempt)


def _responsible_node(resource: ConfigResource) -> Conversation[int]:
    """Who answers for a resource: a broker for itself, anybody for all else."""
    if resource.type not in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) or not resource.name:
        return ANY_NODE
    yield Learn()
    try:
        return int(resource.name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.name!r} is not a broker id.") from None


def _alteration(
    changes: Mapping[ConfigResource, Sequence[ConfigChange]], group: Sequence[ConfigResource], validate_only: bool
) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=[
                    AlterableConfig(name=change.name, config_operation=change.operation, value=change.value)
                    for change in changes[resource]
                ],
            )
            for resource in group
        ],
        validate_only=validate_only,
    )


def _alterations(response: IncrementalAlterConfigsResponse) -> list[tuple[ConfigResource, KafkaError | None]]:
    outcomes: list[tuple[ConfigResource, KafkaError | None]] = []
    for result in response.responses:
        resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
        try:
            _check(resource, result.error_code, result.error_message)
        except KafkaError as error:
            if error.retriable and error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            outcomes.append((resource, error))
        else:
            outcomes.append((resource, None))
    return outcomes


def _check(resource: ConfigResource, number: int, message: str | None) -> None:
    code = error_code(number)
    if code is ErrorCode.NONE:
        return
    if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise KafkaError(code, f"There is no {resource}.")
    raise KafkaError(code, message or f"{str(resource).capitalize()}: {code.text}")


def _value(config: DescribeConfigsResourceResult) -> ConfigValue:
    return ConfigValue(
        name=config.name,
        value=None if config.is_sensitive else config.value,
        source=_source(config.config_source),
        read_only=config.read_only,
        sensitive=config.is_sensitive,
        documentation=config.documentation,
        synonyms=tuple((synonym.name, synonym.value, _source(synonym.source)) for synonym in config.synonyms),
        type=ConfigType(config.config_type) if config.config_type in _TYPES else ConfigType.UNKNOWN,
    )


def _source(number: int) -> ConfigSource:
    try:
        return ConfigSource(number)
    except ValueError:
        return ConfigSource.UNKNOWN
