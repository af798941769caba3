"""AlterConfigs (key 33): the older way, which replaces all settings of a resource. Version 2 is flexible."""

from __future__ import annotations

from typing import Final

from moldau.config.alteration import Operation, changed, incremental_changes
from moldau.config.broker import BROKER_SETTINGS
from moldau.controller.configs import Change, ResourceChange
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import ConfigResource
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from moldau.server.apis.config_changes import Results, alter, check_resource, repeated_resources
from moldau.server.apis.forwarding import forward
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def alter_configs(context: RequestContext, request: AlterConfigsRequest) -> Deferred[AlterConfigsResponse]:
    resources = [ConfigResource(wanted.resource_type, wanted.resource_name) for wanted in request.resources]
    twice = repeated_resources(resources)
    settled: dict[int, KafkaError | None] = {}
    changes: dict[int, ResourceChange] = {}
    for index, wanted in enumerate(request.resources):
        try:
            if resources[index] in twice:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The resource appears twice in the request.")
            changes[index] = _checked(context, resources[index], wanted)
        except KafkaError as error:
            settled[index] = error
    return alter(
        context,
        resources,
        settled,
        changes,
        lambda all_changes: forward(
            context, lambda controller: controller.alter_configs(all_changes, validate_only=request.validate_only)
        ),
        lambda results: _response(request, results),
    )


def _checked(context: RequestContext, resource: ConfigResource, wanted: AlterConfigsResource) -> ResourceChange:
    changes = [Change(config.name, Operation.SET, config.value) for config in wanted.configs]
    check_resource(context, resource, lambda: changed({}, incremental_changes(BROKER_SETTINGS, {}, changes)))
    return ResourceChange(resource, changes)


def _response(request: AlterConfigsRequest, results: Results) -> AlterConfigsResponse:
    responses = []
    for index, wanted in enumerate(request.resources):
        error = results[index]
        responses.append(
            AlterConfigsResourceResponse(
                error_code=ErrorCode.NONE if error is None else error.code,
                error_message=None if error is None else error.message,
                resource_type=wanted.resource_type,
                resource_name=wanted.resource_name,
            )
        )
    return AlterConfigsResponse(responses=responses)


def error_response(request: AlterConfigsRequest, version: int, error: KafkaError) -> AlterConfigsResponse:
    return _response(request, dict.fromkeys(range(len(request.resources)), error))


ALTER_CONFIGS: Final = Api(
    ApiKey.ALTER_CONFIGS,
    AlterConfigsRequest,
    alter_configs,
    error_response,
    parts=(Parts(("resources",), ("responses",), unique=("resource_type", "resource_name"), size=50),),
    most_elements=50_000,
)
