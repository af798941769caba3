"""DeleteAcls (key 31): removes the access rules that fit filters, and tells which those were.

Versions: 1 knows prefixed patterns, 2 is flexible, 3 users as resources.
"""

from __future__ import annotations

from typing import Final

from moldau.controller.acls import Removed
from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from moldau.security.acl import AclFilter, Operation
from moldau.server.apis.describe_acls import check_enabled
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def delete_acls(context: RequestContext, request: DeleteAclsRequest) -> Deferred[DeleteAclsResponse]:
    require_cluster(context, Operation.ALTER)
    check_enabled(context)
    removed = controller_of(context).delete_acls([_filter(asked) for asked in request.filters])
    return mapped(removed, lambda results: DeleteAclsResponse(filter_results=[_result(one) for one in results]))


def _filter(asked: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        asked.resource_type_filter,
        asked.resource_name_filter,
        asked.pattern_type_filter,
        asked.principal_filter,
        asked.host_filter,
        asked.operation,
        asked.permission_type,
    )


def _result(removed: Removed) -> DeleteAclsFilterResult:
    acls, error = removed
    if error is not None:
        return DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
    return DeleteAclsFilterResult(
        error_message=None,
        matching_acls=[
            DeleteAclsMatchingAcl(
                error_message=None,
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
            for acl in acls
        ],
    )


def error_response(request: DeleteAclsRequest, version: int, error: KafkaError) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[_result(Removed(error=error)) for _ in request.filters])


# Each filter is held against every rule.
DELETE_ACLS: Final = Api(ApiKey.DELETE_ACLS, DeleteAclsRequest, delete_acls, error_response, most_elements=1000)
