"""Access control lists: who may do what, for brokers that keep them. Objects as kafka-python has them; what can be done
to what is said in one place for clients and brokers (`security.acl`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moldau.client.conversation import CONTROLLER, Ask, Conversation, retrying
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.errors.named import IllegalArgumentError
from moldau.protocol.messages import create_acls as creating
from moldau.protocol.messages import delete_acls as deleting
from moldau.protocol.messages import describe_acls as describing
from moldau.security.acl import Operation, PatternType, Permission, ResourceType


class _Value:
    """Equal if all of it is equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class ResourcePatternFilter(_Value):
    """Resources by type and name; ANY and None stand for all."""

    def __init__(self, resource_type: Any, resource_name: str | None, pattern_type: Any) -> None:
        self.resource_type = ResourceType(resource_type)
        self.resource_name = resource_name
        self.pattern_type = PatternType(pattern_type)


class ResourcePattern(ResourcePatternFilter):
    def __init__(
        self,
        resource_type: Any,
        resource_name: str | None,
        pattern_type: Any = PatternType.LITERAL,
    ) -> None:
        super().__init__(resource_type, resource_name, pattern_type)
        if self.resource_type is ResourceType.ANY:
            raise IllegalArgumentError("An entry is about one type of resource, not about any.")
        if self.pattern_type in (PatternType.ANY, PatternType.MATCH):
            raise IllegalArgumentError("An entry is about names as they are or by their begin, not about any.")


class ACLFilter(_Value):
    """Entries by what they say; ANY and None stand for all."""

    def __init__(
        self,
        principal: str | None,
        host: str | None,
        operation: Any,
        permission_type: Any,
        resource_pattern: ResourcePatternFilter,
    ) -> None:
        if not isinstance(resource_pattern, ResourcePatternFilter):
            raise IllegalArgumentError("resource_pattern must be a ResourcePatternFilter or a ResourcePattern.")
        self.principal = principal
        self.host = host
        self.operation = Operation(operation)
        self.permission_type = Permission(permission_type)
        self.resource_pattern = resource_pattern


class ACL(ACLFilter):
    """One entry: this principal, from this host, may (or may not) do this to what the pattern names."""

    def __init__(
        self,
        principal: str,
        host: str,
        operation: Any,
        permission_type: Any,
        resource_pattern: ResourcePattern,
    ) -> None:
        super().__init__(principal, host, operation, permission_type, resource_pattern)
        if self.operation is Operation.ANY or self.permission_type is Permission.ANY:
            raise IllegalArgumentError("An entry names an operation and whether it is allowed.")
        if not isinstance(resource_pattern, ResourcePattern):
            raise IllegalArgumentError("resource_pattern must be a ResourcePattern.")


def describe_acls(wanted: ACLFilter) -> Conversation[list[ACL]]:
    """The entries that fit."""
    pattern = wanted.resource_pattern
    request = describing.DescribeAclsRequest(
        resource_type_filter=pattern.resource_type,
        resource_name_filter=pattern.resource_name,
        pattern_type_filter=pattern.pattern_type,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission_type,
    )

    def attempt() -> Conversation[list[ACL]]:
        response: describing.DescribeAclsResponse = yield Ask(request)
        problem = _problem(response.error_code, response.error_message)
        if problem is not None:
            raise problem
        return [
            _entry(resource.resource_type, resource.resource_name, resource.pattern_type, row)
            for resource in response.resources
            for row in resource.acls
        ]

    return retrying(attempt)


def create_acls(entries: Sequence[ACL]) -> Conversation[list[KafkaError | None]]:
    """One outcome for each, in order."""
    request = creating.CreateAclsRequest(
        creations=[
            creating.AclCreation(
                resource_type=each.resource_pattern.resource_type,
                resource_name=each.resource_pattern.resource_name or "",
                resource_pattern_type=each.resource_pattern.pattern_type,
                principal=each.principal or "",
                host=each.host or "",
                operation=each.operation,
                permission_type=each.permission_type,
            )
            for each in entries
        ]
    )

    def attempt() -> Conversation[list[KafkaError | None]]:
        response: creating.CreateAclsResponse = yield Ask(request, to=CONTROLLER)
        return [_problem(result.error_code, result.error_message) for result in response.results]

    return retrying(attempt)


def delete_acls(
    filters: Sequence[ACLFilter],
) -> Conversation[list[tuple[list[tuple[ACL, KafkaError | None]], KafkaError | None]]]:
    """For each filter what fitted it, with the outcome of each, and what was wrong with the filter itself."""
    request = deleting.DeleteAclsRequest(
        filters=[
            deleting.DeleteAclsFilter(
                resource_type_filter=each.resource_pattern.resource_type,
                resource_name_filter=each.resource_pattern.resource_name,
                pattern_type_filter=each.resource_pattern.pattern_type,
                principal_filter=each.principal,
                host_filter=each.host,
                operation=each.operation,
                permission_type=each.permission_type,
            )
            for each in filters
        ]
    )

    def attempt() -> Conversation[list[tuple[list[tuple[ACL, KafkaError | None]], KafkaError | None]]]:
        response: deleting.DeleteAclsResponse = yield Ask(request, to=CONTROLLER)
        return [
            (
                [
                    (
                        _entry(row.resource_type, row.resource_name, row.pattern_type, row),
                        _problem(row.error_code, row.error_message),
                    )
                    for row in result.matching_acls
                ],
                _problem(result.error_code, result.error_message),
            )
            for result in response.filter_results
        ]

    return retrying(attempt)


def _entry(resource_type: int, name: str, pattern_type: int, row: Any) -> ACL:
    pattern = ResourcePattern(resource_type, name, pattern_type)
    return ACL(row.principal, row.host, row.operation, row.permission_type, pattern)


def _problem(number: int, message: str | None) -> KafkaError | None:
    code = error_code(number)
    return None if code is ErrorCode.NONE else KafkaError(code, message or code.text)
