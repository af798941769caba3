"""Who may do what at this node: what handlers ask before they do something, and what they answer if it may not be.

Without an authorizer everybody may do everything, and a check is one look at an attribute. With one, it is decided by
the rules of the current image: a change of them holds for the next request. What a node asks itself is not checked.

Every decision can be seen in the logger `kafka.authorizer.logger`, a line each, which is off until somebody sets its
level: INFO for what was denied, DEBUG also for what was allowed. What only filters an answer is below that (TRACE).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from moldau.config.definition import ConfigError
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.api import REQUESTS
from moldau.security.acl import CLUSTER_NAME, OPERATIONS, Operation, PatternType, ResourceType, name_of
from moldau.security.authorizer import Authorizer, normal_host, super_users_of
from moldau.security.principal import THIS_NODE, Principal
from moldau.types import Uuid

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.server.connection import Connection
    from moldau.server.context import MetadataView, RequestContext, Services

logger = logging.getLogger("moldau.server")
audit = logging.getLogger("kafka.authorizer.logger")
# Not even what is denied is told unless somebody asks for it: the level of all others does not count here.
audit.setLevel(logging.WARNING)

_TRACE: Final = 5
# Names come from requests: characters of one that a line shows.
_LONGEST_NAME: Final = 300
_NONE: Final[frozenset[str]] = frozenset()

TOPIC: Final = ResourceType.TOPIC
GROUP: Final = ResourceType.GROUP
CLUSTER: Final = ResourceType.CLUSTER
TRANSACTIONAL_ID: Final = ResourceType.TRANSACTIONAL_ID

_CODES: Final[Mapping[int, ErrorCode]] = {
    TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


class Authorization:
    """The authorizer of a node, by the rules of its current image. Until `is_ready` only super users are let in: the
    image may be old or empty."""

    def __init__(self, metadata: MetadataView, super_users: frozenset[str], *, allow_everyone: bool) -> None:
        self._metadata = metadata
        self._acls = metadata.image.acls
        self._authorizer = Authorizer(self._acls.rules, super_users, allow_everyone=allow_everyone)
        self.is_ready = False

    @property
    def authorizer(self) -> Authorizer:
        acls = self._metadata.image.acls
        if acls is not self._acls:
            self._acls = acls
            self._authorizer = self._authorizer.with_rules(acls.rules)
        return self._authorizer

    def allows(
        self,
        context: RequestContext,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        count: int = 1,
        *,
        quiet: bool = False,
    ) -> bool:
        """`quiet` if a refusal is no answer but only leaves something out."""
        principal = context.principal
        if principal is THIS_NODE:
            return True
        who, host = str_of(principal), normal_host(context.peer[0])
        authorizer = self._for(who)
        allowed = authorizer.allows(who, host, operation, resource_type, name)
        level = logging.DEBUG if allowed else _TRACE if quiet else logging.INFO
        if audit.isEnabledFor(level):
            self._tell(context, level, allowed, who, host, operation, resource_type, name, count)
        return allowed

    @property
    def is_silent(self) -> bool:
        """Whether it can decide, and nobody wants to be told of what is allowed."""
        return self.is_ready and not audit.isEnabledFor(logging.DEBUG)

    def allows_plain(
        self, connection: Connection, operation: Operation, resource_type: ResourceType, names: Iterable[str]
    ) -> bool:
        """For the compiled ways, which tell nobody: whether all of it is allowed, and need not be told."""
        if not self.is_silent:
            return False
        authorizer, who = self.authorizer, str_of(connection.principal)
        if who in authorizer.super_users:
            return True
        host = normal_host(connection.peer[0])
        return all(authorizer.allows(who, host, operation, resource_type, name) for name in names)

    def allows_somewhere(self, context: RequestContext, operation: Operation, resource_type: ResourceType) -> bool:
        if context.principal is THIS_NODE:
            return True
        who = str_of(context.principal)
        return self._for(who).allows_somewhere(who, normal_host(context.peer[0]), operation, resource_type)

    def operations(self, context: RequestContext, resource_type: ResourceType, name: str) -> list[Operation]:
        among = OPERATIONS[resource_type]
        if context.principal is THIS_NODE:
            return list(among)
        who = str_of(context.principal)
        return self._for(who).operations(who, normal_host(context.peer[0]), resource_type, name, among)

    def _for(self, who: str) -> Authorizer:
        authorizer = self.authorizer
        if not self.is_ready and who not in authorizer.super_users:
            # As from Kafka: whoever asks tries again.
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The access rules are not known here yet.")
        return authorizer

    def _tell(
        self,
        context: RequestContext,
        level: int,
        allowed: bool,
        who: str,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        count: int,
    ) -> None:
        decision = self.authorizer.explain(who, host, operation, resource_type, name)
        request = REQUESTS[context.api_key].__name__.removesuffix("Request")
        audit.log(
            level,
            "Principal = %s is %s Operation = %s from host = %s on resource = %s:%s:%s for request = %s with "
            "resourceRefCount = %d based on rule %s",
            _shown(who),
            "Allowed" if allowed else "Denied",
            operation.name,
            host,
            name_of(ResourceType, resource_type),
            PatternType.LITERAL.name,
            _shown(name),
            request,
            count,
            _shown(str(decision)),
        )


def authorization_of(config: BrokerConfig, metadata: MetadataView) -> Authorization | None:
    """What the node's settings ask for; None without an authorizer. ConfigError if they cannot be."""
    if not config.authorizer_class_name:
        return None
    try:
        super_users = super_users_of(config.super_users)
    except ValueError as error:
        raise ConfigError(f"super.users: {error}") from None
    return Authorization(metadata, super_users, allow_everyone=config.allow_everyone_if_no_acl_found)


class UnusedRules:
    """At a node without an authorizer: says once that there are rules, which hold for other nodes and not for it."""

    def __init__(self) -> None:
        self._told = False

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        if image.acls.by_id and not self._told:
            self._told = True
            logger.warning(
                "the cluster has access rules, and this node no authorizer (authorizer.class.name): here everybody "
                "may do everything"
            )


def str_of(principal: Principal) -> str:
    return f"{principal.kind}:{principal.name}"


def _shown(text: str) -> str:
    """One line, and not a long one, whatever somebody calls a resource."""
    if len(text) > _LONGEST_NAME:
        text = text[:_LONGEST_NAME] + "..."
    return text if text.isprintable() else ascii(text)[1:-1]


# ---------------------------------------------------------------------------------------------------- for handlers


def allowed(
    context: RequestContext, operation: Operation, resource_type: ResourceType, name: str, *, quiet: bool = False
) -> bool:
    authorization = context.services.authorization
    return authorization is None or authorization.allows(context, operation, resource_type, name, quiet=quiet)


def require(context: RequestContext, operation: Operation, resource_type: ResourceType, name: str) -> None:
    """KafkaError with the code for this type of resource."""
    authorization = context.services.authorization
    if authorization is not None and not authorization.allows(context, operation, resource_type, name):
        raise refusal(resource_type)


def require_cluster(context: RequestContext, operation: Operation) -> None:
    authorization = context.services.authorization
    if authorization is not None and not authorization.allows(context, operation, CLUSTER, CLUSTER_NAME):
        raise refusal(CLUSTER)


def cluster_allowed(context: RequestContext, operation: Operation, *, quiet: bool = False) -> bool:
    return allowed(context, operation, CLUSTER, CLUSTER_NAME, quiet=quiet)


def refusal(resource_type: ResourceType) -> KafkaError:
    return KafkaError(_CODES[resource_type])


def named_once(names: Iterable[str]) -> set[str]:
    counts = Counter(names)
    return {name for name, count in counts.items() if count == 1}


class Denied:
    """The names of one type of resource that this request may not do something to; each is decided, and told, once."""

    __slots__ = ("_authorization", "_context", "_decided", "_operation", "_quiet", "_resource_type")

    def __init__(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType, *, quiet: bool = False
    ) -> None:
        self._context = context
        self._authorization = context.services.authorization
        self._operation = operation
        self._resource_type = resource_type
        self._quiet = quiet
        self._decided: dict[str, bool] = {}

    def __bool__(self) -> bool:
        """Whether there can be any at all."""
        return self._authorization is not None

    def __contains__(self, name: object) -> bool:
        if self._authorization is None:
            return False
        assert isinstance(name, str)
        denied = self._decided.get(name)
        if denied is None:
            denied = self._decided[name] = not self._authorization.allows(
                self._context, self._operation, self._resource_type, name, quiet=self._quiet
            )
        return denied

    def among(self, names: Iterable[str]) -> set[str]:
        return {name for name in names if name in self} if self else set()


def denied_names(
    context: RequestContext, operation: Operation, resource_type: ResourceType, *, quiet: bool = False
) -> Container[str]:
    """The same where there may be very many names: without an authorizer none of them costs anything."""
    if context.services.authorization is None:
        return _NONE
    return Denied(context, operation, resource_type, quiet=quiet)


def visible_topics(context: RequestContext) -> Callable[[frozenset[str]], frozenset[str]] | None:
    """Leaves those of some topics that this client may describe; None if that is all of them."""
    if context.services.authorization is None:
        return None

    def visible(topics: frozenset[str]) -> frozenset[str]:
        return topics.difference(Denied(context, Operation.DESCRIBE, TOPIC, quiet=True).among(topics))

    return visible


class DeniedTopics:
    """The same for topics by name or id. What no topic is called by is not denied: it is not there."""

    __slots__ = ("_ids", "_names")

    def __init__(self, context: RequestContext, operation: Operation) -> None:
        self._names = Denied(context, operation, TOPIC)
        self._ids = context.services.metadata.image.topics.ids if self._names else {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def __contains__(self, topic: object) -> bool:
        if not self._names:
            return False
        if isinstance(topic, str):
            return topic in self._names
        known = self._ids.get(topic)  # type: ignore[call-overload]
        return known is not None and known.name in self._names


class EveryTopic:
    """What is denied to those who only say that they are a broker."""

    __slots__ = ()

    def __contains__(self, topic: object) -> bool:
        return True


def names_of(services: Services, topics: Iterable[str | Uuid | bytes]) -> Iterator[str]:
    """What they are called; nothing of ids that no topic has."""
    ids = services.metadata.image.topics.ids
    for topic in topics:
        if isinstance(topic, str):
            yield topic
        elif (known := ids.get(topic)) is not None:
            yield known.name
