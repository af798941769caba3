"""AlterConfigs (key 33): the older way, which replaces all settings of a resource. Version 2 is flexible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.config.alteration import Operation, changed, incremental_changes
from moldau.config.broker import BROKER_SETTINGS
from moldau.controller.configs import Change, Outcome, ResourceChange
from moldau.dataclass import replace
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import ConfigResource
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from moldau.server.apis.config_changes import (
    Results,
    alter,
    check_at_controller,
    check_may_alter,
    check_number,
    check_resource,
    pass_on_to_controller,
    repeated_resources,
    sealed,
)
from moldau.server.apis.forwarding import controller_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts

if TYPE_CHECKING:
    from moldau.controller.controller import Controller


def alter_configs(context: RequestContext, request: AlterConfigsRequest) -> Deferred[AlterConfigsResponse]:
    """At a broker: it checks its own settings."""
    return _alter(context, request, lambda resource, changes: _check(context, resource, changes))


def alter_configs_at_controller(
    context: RequestContext, request: AlterConfigsRequest
) -> Deferred[AlterConfigsResponse]:
    return _alter(context, request, None)


def _alter(
    context: RequestContext,
    request: AlterConfigsRequest,
    check_at_broker: Callable[[ConfigResource, list[Change]], Deferred[None] | None] | None,
) -> Deferred[AlterConfigsResponse]:
    resources = [ConfigResource(wanted.resource_type, wanted.resource_name) for wanted in request.resources]
    twice = repeated_resources(resources)
    settled: dict[int, KafkaError | None] = {}
    changes: dict[int, ResourceChange] = {}
    checks: dict[int, Deferred[None]] = {}
    for index, wanted in enumerate(request.resources):
        try:
            if resources[index] in twice:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The resource appears twice in the request.")
            check_number(wanted.configs)
            check_may_alter(context, resources[index])
            asked = [Change(config.name, Operation.SET, config.value) for config in wanted.configs]
            if check_at_broker is None:
                check_at_controller(context, resources[index], asked)
            elif (check := check_at_broker(resources[index], asked)) is not None:
                checks[index] = check
            kept = asked if check_at_broker is None else sealed(context, resources[index], asked)
            changes[index] = ResourceChange(resources[index], kept)
        except KafkaError as error:
            settled[index] = error

    def decide(controller: Controller) -> Deferred[list[Outcome]]:
        return controller.alter_configs(list(changes.values()), validate_only=request.validate_only)

    def decided() -> Deferred[list[Outcome]]:
        if check_at_broker is None:
            return decide(controller_of(context))
        return pass_on_to_controller(context, request, changes, decide)

    return alter(
        resources,
        settled,
        changes,
        decided,
        lambda results: _response(request, results),
        checks,
    )


def _check(context: RequestContext, resource: ConfigResource, changes: list[Change]) -> Deferred[None] | None:
    def after() -> dict[str, str]:
        return changed({}, incremental_changes(BROKER_SETTINGS, {}, changes))

    return check_resource(context, resource, after, changes)


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
    parts=(Parts(("resources",), ("responses",), unique=("resource_type", "resource_name"), size=20),),
    most_elements=50_000,
)

CONTROLLER_ALTER_CONFIGS: Final = replace(ALTER_CONFIGS, handler=alter_configs_at_controller)
