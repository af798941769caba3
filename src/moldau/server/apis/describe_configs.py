"""DescribeConfigs (key 32): settings with where they come from.

Versions: 1 adds the source and, if asked for, the chain of synonyms, 3 the type and, if asked for, the documentation, 4
is flexible. Secrets are never shown. A broker's settings are known to that broker only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moldau.config.definition import ConfigError
from moldau.config.description import (
    ConfigSource,
    Description,
    Dynamic,
    describe_broker,
    describe_broker_defaults,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from moldau.controller.configs import check_group_name, check_subscription_name, describe
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import topic_name
from moldau.metadata.image import ResourceType
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from moldau.security.acl import Operation
from moldau.server.apis.broker_loggers import logger_levels
from moldau.server.apis.config_changes import check_is_this_broker, of_config
from moldau.server.authorization import require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def describe_configs(context: RequestContext, request: DescribeConfigsRequest) -> Work[DescribeConfigsResponse]:
    """What is asked for again in the same words is answered once: the client looks for it by its name."""
    results: dict[tuple[int, str, tuple[str, ...] | None], DescribeConfigsResult] = {}
    for resource in request.resources:
        keys = None if resource.configuration_keys is None else tuple(resource.configuration_keys)
        asked = (resource.resource_type, resource.resource_name, keys)
        if asked not in results:
            results[asked] = _describe(context, request, resource)
        yield
    return DescribeConfigsResponse(results=list(results.values()))


def _describe(
    context: RequestContext, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    try:
        configs = _configs(context, request, resource)
    except KafkaError as error:
        return _failed(resource, error)
    except ConfigError as error:
        # A stored setting that this version no longer accepts.
        return _failed(resource, KafkaError(ErrorCode.INVALID_CONFIG, f"{error}."))
    return DescribeConfigsResult(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=configs,
    )


def _configs(
    context: RequestContext, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> list[DescribeConfigsResourceResult]:
    _check_allowed(context, resource)
    name, keys = resource.resource_name, resource.configuration_keys or None
    config, image = context.services.config, context.services.metadata.image
    if resource.resource_type == ResourceType.TOPIC:
        topic_name.validate(name)
        if image.topics.get(name) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name!r}.")
        return _entries(request, describe_topic(config, image.configs.topic(name), _dynamic(context), keys))
    if resource.resource_type == ResourceType.BROKER:
        if not name:
            return _entries(request, describe_broker_defaults(_dynamic(context), keys))
        check_is_this_broker(context, name)
        return _entries(request, describe_broker(config, _dynamic(context), keys))
    if resource.resource_type == ResourceType.GROUP:
        check_group_name(name)
        return _entries(request, describe_group(config, image.configs.group(name), _dynamic(context), keys))
    if resource.resource_type == ResourceType.CLIENT_METRICS:
        check_subscription_name(name)
        return _entries(request, describe_client_metrics(image.configs.client_metrics(name), keys))
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        check_is_this_broker(context, name)
        return [
            DescribeConfigsResourceResult(
                name=logger, value=level, config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG, documentation=None
            )
            for logger, level in logger_levels().items()
            if keys is None or logger in keys
        ]
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Settings of {describe(resource.resource_type)} are not supported.")


def _check_allowed(context: RequestContext, resource: DescribeConfigsResource) -> None:
    kind, name = of_config(resource.resource_type, resource.resource_name)
    if kind is not None:
        require(context, Operation.DESCRIBE_CONFIGS, kind, name)


def _dynamic(context: RequestContext) -> Dynamic:
    configs = context.services.metadata.image.configs
    return Dynamic(broker=configs.broker(context.services.node_id), cluster=configs.broker(None))


def _entries(
    request: DescribeConfigsRequest, descriptions: Iterable[Description]
) -> list[DescribeConfigsResourceResult]:
    return [
        DescribeConfigsResourceResult(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.sensitive,
            synonyms=[
                DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
                for synonym in (entry.synonyms if request.include_synonyms else ())
            ],
            config_type=entry.type,
            documentation=entry.documentation if request.include_documentation else None,
        )
        for entry in descriptions
    ]


def _failed(resource: DescribeConfigsResource, error: KafkaError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def error_response(request: DescribeConfigsRequest, version: int, error: KafkaError) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_failed(resource, error) for resource in request.resources])


DESCRIBE_CONFIGS: Final = Api(ApiKey.DESCRIBE_CONFIGS, DescribeConfigsRequest, describe_configs, error_response)
