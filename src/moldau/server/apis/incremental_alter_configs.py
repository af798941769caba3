"""IncrementalAlterConfigs (key 44): sets, removes, appends to or subtracts from single settings. Version 1 is flexible.

Resources are topics, brokers (one, or all with an empty name), the loggers of this broker, groups and client metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.config.alteration import Operation
from moldau.controller.configs import Change, Outcome, ResourceChange
from moldau.dataclass import replace
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import ConfigResource, ResourceType
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.security.acl import Operation as Access
from moldau.server.apis.broker_loggers import check_logger, set_logger
from moldau.server.apis.config_changes import (
    Results,
    alter,
    broker_settings_after,
    check_at_controller,
    check_is_this_broker,
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


def incremental_alter_configs(
    context: RequestContext, request: IncrementalAlterConfigsRequest
) -> Deferred[IncrementalAlterConfigsResponse]:
    """At a broker: it checks its own settings."""

    def check(resource: ConfigResource, changes: list[Change]) -> Deferred[None] | None:
        return check_resource(context, resource, lambda: broker_settings_after(context, resource, changes), changes)

    return _alter(context, request, check)


def incremental_alter_configs_at_controller(
    context: RequestContext, request: IncrementalAlterConfigsRequest
) -> Deferred[IncrementalAlterConfigsResponse]:
    return _alter(context, request, None)


def _alter(
    context: RequestContext,
    request: IncrementalAlterConfigsRequest,
    check_at_broker: Callable[[ConfigResource, list[Change]], Deferred[None] | None] | None,
) -> Deferred[IncrementalAlterConfigsResponse]:
    resources = [ConfigResource(wanted.resource_type, wanted.resource_name) for wanted in request.resources]
    twice = repeated_resources(resources)
    settled: dict[int, KafkaError | None] = {}
    changes: dict[int, ResourceChange] = {}
    checks: dict[int, Deferred[None]] = {}
    for index, wanted in enumerate(request.resources):
        resource = resources[index]
        try:
            if resource in twice:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The resource appears twice in the request.")
            check_number(wanted.configs)
            if resource.type == ResourceType.BROKER_LOGGER:
                # At a controller as in Kafka: its loggers are the business of those who run the nodes.
                at_controller = check_at_broker is None
                check_may_alter(context, resource, Access.CLUSTER_ACTION if at_controller else Access.ALTER_CONFIGS)
                _set_loggers(context, wanted, validate_only=request.validate_only)
                settled[index] = None
                continue
            check_may_alter(context, resource)
            asked = [Change(config.name, config.config_operation, config.value) for config in wanted.configs]
            if check_at_broker is None:
                check_at_controller(context, resource, asked)
            elif (check := check_at_broker(resource, asked)) is not None:
                checks[index] = check
            kept = asked if check_at_broker is None else sealed(context, resource, asked)
            changes[index] = ResourceChange(resource, kept)
        except KafkaError as error:
            settled[index] = error

    def decide(controller: Controller) -> Deferred[list[Outcome]]:
        return controller.incremental_alter_configs(list(changes.values()), validate_only=request.validate_only)

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


def _set_loggers(context: RequestContext, wanted: AlterConfigsResource, *, validate_only: bool) -> None:
    check_is_this_broker(context, wanted.resource_name)
    levels = []
    for config in wanted.configs:
        if config.config_operation not in (Operation.SET, Operation.DELETE) or (
            config.config_operation == Operation.SET and config.value is None
        ):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"The level of {config.name} can be set or removed, nothing else."
            )
        level = config.value if config.config_operation == Operation.SET else None
        check_logger(config.name, level)
        levels.append((config.name, level))
    if not validate_only:
        for name, level in levels:
            set_logger(name, level)


def _response(request: IncrementalAlterConfigsRequest, results: Results) -> IncrementalAlterConfigsResponse:
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
    return IncrementalAlterConfigsResponse(responses=responses)


def error_response(
    request: IncrementalAlterConfigsRequest, version: int, error: KafkaError
) -> IncrementalAlterConfigsResponse:
    return _response(request, dict.fromkeys(range(len(request.resources)), error))


INCREMENTAL_ALTER_CONFIGS: Final = Api(
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    IncrementalAlterConfigsRequest,
    incremental_alter_configs,
    error_response,
    parts=(Parts(("resources",), ("responses",), unique=("resource_type", "resource_name"), size=20),),
    most_elements=50_000,
)

CONTROLLER_INCREMENTAL_ALTER_CONFIGS: Final = replace(
    INCREMENTAL_ALTER_CONFIGS, handler=incremental_alter_configs_at_controller
)
