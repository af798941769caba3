"""ListConfigResources (key 74): what can be configured. Version 0 lists client metrics only, version 1 the types
asked for, or all.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage, ResourceType
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api

_ALL: Final = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP,
)


def list_config_resources(context: RequestContext, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    require_cluster(context, Operation.DESCRIBE_CONFIGS)
    wanted = request.resource_types or _ALL if context.version >= 1 else (ResourceType.CLIENT_METRICS,)
    if not set(wanted) <= set(_ALL):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    image = context.services.metadata.image
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=resource_type)
            for resource_type in dict.fromkeys(wanted)
            for name in _names(image, resource_type)
        ]
    )


def _names(image: MetadataImage, resource_type: int) -> list[str]:
    if resource_type == ResourceType.TOPIC:
        return list(image.topics.by_name)
    if resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return [str(broker.id) for broker in image.cluster.alive()]
    return [resource.name for resource in image.configs.resources if resource.type == resource_type]


def error_response(request: ListConfigResourcesRequest, version: int, error: KafkaError) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(error_code=error.code)


LIST_CONFIG_RESOURCES: Final = Api(
    ApiKey.LIST_CONFIG_RESOURCES, ListConfigResourcesRequest, list_config_resources, error_response
)
