"""What AlterConfigs and IncrementalAlterConfigs have in common: what the broker itself checks and does.

The controller checks topics. A broker's own settings can only be judged by that broker, which has the file, so they are
checked here before anything is passed on; loggers belong to this process and go no further. At the controller's own
listener a broker's settings have been checked already, by the broker that passes them on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from moldau.config.alteration import Operation as Alteration
from moldau.config.alteration import changed, check_node, incremental_changes, is_secret
from moldau.config.broker import BROKER_SETTINGS
from moldau.config.definition import ConfigError
from moldau.config.listeners import SecurityProtocol
from moldau.config.sealing import RANDOM_BYTES, is_sealed, seal
from moldau.controller.configs import (
    Change,
    Outcome,
    ResourceChange,
    check_group_name,
    check_subscription_name,
    describe,
)
from moldau.deferred import Deferred, chained, gather, mapped, recovered
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.metadata.image import ConfigResource, ResourceType
from moldau.security.acl import CLUSTER_NAME, Operation
from moldau.security.acl import ResourceType as AclResourceType
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import CLUSTER, GROUP, TOPIC, require
from moldau.server.context import RequestContext, Services
from moldau.server.envelopes import ForwardedConnection

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.controller.controller import Controller

R = TypeVar("R")

# Settings of one resource, of which there are a few hundred at most: they are looked at in one go.
_MOST_SETTINGS: Final = 1000

Results = Mapping[int, KafkaError | None]


def repeated_resources(resources: Sequence[ConfigResource]) -> set[ConfigResource]:
    seen: set[ConfigResource] = set()
    twice: set[ConfigResource] = set()
    for resource in resources:
        (twice if resource in seen else seen).add(resource)
    return twice


def check_resource(
    context: RequestContext,
    resource: ConfigResource,
    settings_after: Callable[[], Mapping[str, str]],
    changes: Sequence[Change],
) -> Deferred[None] | None:
    """Whether this broker may take the change at all; `settings_after` is what a broker's settings would become. What
    takes longer to find out (certificates have to be read) is told later."""
    if resource.type == ResourceType.BROKER:
        if resource.name:
            check_is_this_broker(context, resource.name)
        configs, services = context.services.metadata.image.configs, context.services
        try:
            after = settings_after()
            if resource.name:
                config = check_node(services.config, configs.broker(None), after)
            else:
                config = check_node(services.config, after, configs.broker(services.node_id))
            if any("sasl." in change.name for change in changes):
                _check_logins(config, services)
        except ConfigError as error:
            raise _refused(error) from None
        if services.tls is not None:
            return services.tls.check(config, [change.name for change in changes])
    elif resource.type == ResourceType.GROUP:
        check_group_name(resource.name)
    elif resource.type == ResourceType.CLIENT_METRICS:
        check_subscription_name(resource.name)
    elif resource.type != ResourceType.TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Settings of {describe(resource.type)} cannot be changed.")
    return None


def _check_logins(config: BrokerConfig, services: Services) -> None:
    """ConfigError for a listener that nobody could log in at any more."""
    for endpoint in (*config.broker_endpoints, *config.controller_endpoints):
        if endpoint.security_protocol in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL):
            from moldau.server.sasl_mechanisms import mechanism_makers  # what it needs is slow to load

            mechanism_makers(endpoint.name, config, services)


def _refused(error: ConfigError) -> KafkaError:
    """Kafka's code for a broker's setting that cannot be; INVALID_CONFIG is for topics."""
    return KafkaError(ErrorCode.INVALID_REQUEST, f"{error}.")


def of_config(resource_type: int, name: str) -> tuple[AclResourceType | None, str]:
    """The resource that access rules know by which it is decided whether its settings may be seen or changed."""
    if resource_type == ResourceType.TOPIC:
        return TOPIC, name
    if resource_type == ResourceType.GROUP:
        return GROUP, name
    if resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.CLIENT_METRICS):
        return CLUSTER, CLUSTER_NAME
    return None, name


def check_number(settings: Sequence[object]) -> None:
    if len(settings) > _MOST_SETTINGS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"The request names {len(settings)} settings of one resource; at most {_MOST_SETTINGS} are taken.",
        )


def check_may_alter(
    context: RequestContext, resource: ConfigResource, operation: Operation = Operation.ALTER_CONFIGS
) -> None:
    kind, name = of_config(resource.type, resource.name)
    if kind is not None:
        require(context, operation, kind, name)


def sealed(context: RequestContext, resource: ConfigResource, changes: list[Change]) -> list[Change]:
    """The same as they may be written down: with the secrets of this broker encrypted. KafkaError if they cannot be."""
    if resource.type != ResourceType.BROKER:
        return changes
    services = context.services
    secret, references = services.config.password_encoder_secret, services.config.references
    broker = f"{services.cluster_id} {services.node_id}"

    def kept(change: Change) -> Change:
        if change.value is None or change.operation != Alteration.SET or not is_secret(change.name):
            return change
        if references is not None and references.is_one(change.value):
            return change
        random = services.runtime.random.bytes(RANDOM_BYTES)
        return change._replace(value=seal(change.name, change.value, secret, broker, random))

    try:
        return [kept(change) for change in changes]
    except ConfigError as error:
        raise _refused(error) from None


def check_at_controller(context: RequestContext, resource: ConfigResource, changes: Sequence[Change]) -> None:
    """As far as one who does not have the broker's file can."""
    # What a broker passes on is its own business, be it one of Kafka's that encrypts nothing.
    connection: object = context.connection
    if resource.type == ResourceType.BROKER and not isinstance(connection, ForwardedConnection):
        for change in changes:
            if change.value is not None and is_secret(change.name) and not is_sealed(change.value):
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"{change.name} is a secret that only the broker it is for can encrypt: ask that broker.",
                )
    if resource.type == ResourceType.BROKER:
        if resource.name and not (resource.name.isascii() and resource.name.isdigit()):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.name!r} is no id of a broker.")
    elif resource.type not in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Settings of {describe(resource.type)} cannot be changed.")


def check_is_this_broker(context: RequestContext, name: str) -> None:
    node_id = context.services.node_id
    if name != str(node_id):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"This is broker {node_id}; the settings of {name!r} are elsewhere."
        )


def broker_settings_after(
    context: RequestContext, resource: ConfigResource, changes: Sequence[Change]
) -> dict[str, str]:
    """A broker's dynamic settings after the changes."""
    current = context.services.metadata.image.configs.broker(int(resource.name) if resource.name else None)
    return changed(current, incremental_changes(BROKER_SETTINGS, current, changes))


def pass_on_to_controller(
    context: RequestContext,
    request: Any,
    changes: Mapping[int, ResourceChange],
    decide: Callable[[Controller], Deferred[list[Outcome]]],
) -> Deferred[list[Outcome]]:
    """The decision of the active controller about those resources of the request that are its business."""
    channel = context.services.controller_channel
    if channel.leads:
        return decide(controller_of(context))
    rest = request.changed(resources=[_as_kept(request.resources[index], each) for index, each in changes.items()])
    return mapped(channel.forward(context, rest), _outcomes)


def _as_kept(wanted: Any, change: ResourceChange) -> Any:
    """What was asked for one resource, with the values that are to be written down."""
    if all(config.value == each.value for config, each in zip(wanted.configs, change.changes, strict=True)):
        return wanted
    pairs = zip(wanted.configs, change.changes, strict=True)
    return wanted.changed(configs=[config.changed(value=each.value) for config, each in pairs])


def _outcomes(response: Any) -> list[Outcome]:
    return [
        (
            ConfigResource(one.resource_type, one.resource_name),
            KafkaError(error_code(one.error_code), one.error_message) if one.error_code else None,
        )
        for one in response.responses
    ]


def alter(
    resources: Sequence[ConfigResource],
    settled: dict[int, KafkaError | None],
    changes: dict[int, ResourceChange],
    decide: Callable[[], Deferred[list[Outcome]]],
    respond: Callable[[Results], R],
    checks: Mapping[int, Deferred[None]],
) -> Deferred[R]:
    """Sends what is not settled yet to the controller and puts both parts together, in the order of the request; what
    `checks` refuse stays here."""
    if checks:
        return chained(
            gather([_checked(index, check, settled, changes) for index, check in checks.items()]),
            lambda: alter(resources, settled, changes, decide, respond, {}),
        )
    answer: Deferred[R] = Deferred()
    if not changes:
        answer.resolve(respond(settled))
        return answer

    def decided(outcomes: list[Outcome] | None, error: BaseException | None) -> None:
        if outcomes is None:
            if not isinstance(error, KafkaError):
                assert error is not None
                answer.fail(error)
                return
            for index in changes:
                settled[index] = error
        else:
            by_resource = dict(outcomes)
            for index in changes:
                settled[index] = by_resource[resources[index]]
        answer.resolve(respond(settled))

    decide().then(decided)
    return answer


def _checked(
    index: int, check: Deferred[None], settled: dict[int, KafkaError | None], changes: dict[int, ResourceChange]
) -> Deferred[None]:
    """Settles with the check, which takes from `changes` what it refuses."""

    def refuse(error: KafkaError) -> None:
        settled[index] = _refused(error) if isinstance(error, ConfigError) else error
        del changes[index]

    return recovered(check, refuse)
