"""DescribeAcls (key 29): the access rules that fit a filter, by the resources they are about.

Versions: 1 knows prefixed patterns, 2 is flexible, 3 users as resources.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from moldau.security.acl import AclFilter, Operation, check_filter
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work

# Rules that are looked at before others have their turn.
_IN_A_ROW: Final = 200


def describe_acls(context: RequestContext, request: DescribeAclsRequest) -> Work[DescribeAclsResponse]:
    require_cluster(context, Operation.DESCRIBE)
    check_enabled(context)
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    check_filter(wanted)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for number, acl in enumerate(context.services.metadata.image.acls.by_id.values()):
        if number % _IN_A_ROW == _IN_A_ROW - 1:
            yield
        if not wanted.matches(acl):
            continue
        pattern = acl.resource_type, acl.resource_name, acl.pattern_type
        if pattern not in resources:
            resources[pattern] = DescribeAclsResource(
                resource_type=acl.resource_type, resource_name=acl.resource_name, pattern_type=acl.pattern_type
            )
        resources[pattern].acls.append(
            AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
        )
    return DescribeAclsResponse(error_message=None, resources=list(resources.values()))


def check_enabled(context: RequestContext) -> None:
    """KafkaError SECURITY_DISABLED without an authorizer: rules that nobody enforces would deceive."""
    if context.services.authorization is None:
        raise KafkaError(
            ErrorCode.SECURITY_DISABLED, "This node has no authorizer (authorizer.class.name), so there are no rules."
        )


def error_response(request: DescribeAclsRequest, version: int, error: KafkaError) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error.code, error_message=error.message)


DESCRIBE_ACLS: Final = Api(ApiKey.DESCRIBE_ACLS, DescribeAclsRequest, describe_acls, error_response)
