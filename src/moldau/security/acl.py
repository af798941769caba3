"""Access rules as Kafka has them: who, from where, may or may not do what to which resources.

The numbers are those of the wire and of the metadata records. A rule keeps them as plain integers: a newer controller
may write kinds that this version does not know, and they have to be kept all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from moldau.errors import ErrorCode, KafkaError

# In a rule: every name, every principal, every host.
WILDCARD: Final = "*"
EVERYBODY: Final = "User:*"
# The one name of the one resource of type CLUSTER.
CLUSTER_NAME: Final = "kafka-cluster"


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """MATCH, in a filter: every pattern that applies to a resource of this name."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


# What can be done to a resource of each type at all.
OPERATIONS: Final[Mapping[int, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}

# Who may do one of these may also do that; only where something is allowed, never where it is denied.
_IMPLIED: Final[Mapping[int, Operation]] = {
    Operation.READ: Operation.DESCRIBE,
    Operation.WRITE: Operation.DESCRIBE,
    Operation.DELETE: Operation.DESCRIBE,
    Operation.ALTER: Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
}

EVERYTHING: Final = (1 << 32) - 1


def bit(operation: int) -> int:
    return 1 << operation if operation >= 0 else 0


def denied_bits(operation: int) -> int:
    """What a rule that denies the operation says no to."""
    return EVERYTHING if operation == Operation.ALL else bit(operation)


def allowed_bits(operation: int) -> int:
    """What a rule that allows the operation says yes to."""
    implied = _IMPLIED.get(operation)
    return denied_bits(operation) | (0 if implied is None else bit(implied))


class Acl(NamedTuple):
    """One rule."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def applies_to(self, resource_type: int, name: str) -> bool:
        """Whether it is about the resource of this type and name."""
        if self.resource_type != resource_type:
            return False
        if self.pattern_type == PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.pattern_type == PatternType.LITERAL and self.resource_name in (name, WILDCARD)

    def __str__(self) -> str:
        allows = self.permission == Permission.ALLOW
        verb = ("may " if allows else "may not ") + word_of(Operation, self.operation)
        if self.operation == Operation.ALL:
            verb = "may do everything to" if allows else "may do nothing to"
        where = "" if self.host == WILDCARD else f" from {self.host}"
        name = self.resource_name + (WILDCARD if self.pattern_type == PatternType.PREFIXED else "")
        kind = word_of(ResourceType, self.resource_type)
        what = f"{kind} {name!r}"
        if self.pattern_type == PatternType.LITERAL and self.resource_name == WILDCARD:
            what = f"any {kind}"
        return f"{self.principal}{where} {verb} {what}"


def name_of(kind: type[IntEnum], number: int) -> str:
    try:
        return kind(number).name
    except ValueError:
        return f"{kind.__name__} {number}"


def word_of(kind: type[IntEnum], number: int) -> str:
    """As people write it: describe-configs."""
    return name_of(kind, number).lower().replace("_", "-")


class AclFilter(NamedTuple):
    """Rules by what they say; ANY and None stand for all."""

    resource_type: int = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission: int = Permission.ANY

    @property
    def rule(self) -> Acl | None:
        """The one rule this can stand for, if it says all of it."""
        if self.resource_name is None or self.principal is None or self.host is None:
            return None
        if self.resource_type == ResourceType.ANY or self.pattern_type not in (
            PatternType.LITERAL,
            PatternType.PREFIXED,
        ):
            return None
        if self.operation == Operation.ANY or self.permission == Permission.ANY:
            return None
        return Acl(
            self.resource_type,
            self.resource_name,
            self.pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission,
        )

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self._matches_pattern(acl)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if self.resource_name is None or self.resource_name == acl.resource_name:
            return self.resource_name is None or self.pattern_type != PatternType.MATCH or _is_known_pattern(acl)
        return self.pattern_type == PatternType.MATCH and acl.applies_to(acl.resource_type, self.resource_name)


def _is_known_pattern(acl: Acl) -> bool:
    return acl.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)


def check_acl(acl: Acl) -> None:
    """KafkaError INVALID_REQUEST if there can be no such rule."""
    if acl.resource_type not in OPERATIONS:
        raise _invalid("A rule is about topics, groups, the cluster, transactional ids, delegation tokens or users.")
    if not _is_known_pattern(acl):
        raise _invalid("A rule names its resources as they are (LITERAL) or by how they begin (PREFIXED).")
    if not Operation.ALL <= acl.operation <= max(Operation):
        raise _invalid("A rule is about one operation, or about ALL of them.")
    if acl.permission not in (Permission.ALLOW, Permission.DENY):
        raise _invalid("A rule allows or denies something.")
    if not acl.resource_name:
        raise _invalid("A rule names its resource.")
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise _invalid(f"The resource of type CLUSTER is called {CLUSTER_NAME}.")
    kind, colon, name = acl.principal.partition(":")
    if not (kind and colon and name):
        raise _invalid("A principal is written as its type, a colon and its name, such as User:alice.")
    if not acl.host:
        raise _invalid("A rule names a host, or all of them by *.")


def check_filter(wanted: AclFilter) -> None:
    """KafkaError INVALID_REQUEST if it asks for something that is not known."""
    if wanted.resource_type not in OPERATIONS and wanted.resource_type != ResourceType.ANY:
        raise _invalid("The filter's type of resource is not known.")
    if not PatternType.ANY <= wanted.pattern_type <= max(PatternType):
        raise _invalid("The filter's type of pattern is not known.")
    if not Operation.ANY <= wanted.operation <= max(Operation):
        raise _invalid("The filter's operation is not known.")
    if not Permission.ANY <= wanted.permission <= max(Permission):
        raise _invalid("The filter's permission is not known.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
