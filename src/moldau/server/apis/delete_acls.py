"""DeleteAcls (key 31): removes the access rules that fit filters, and tells which those were.

Versions: 1 knows prefixed patterns, 2 is flexible, 3 users as resources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from moldau.controller.acls import Removed
from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from moldau.security.acl import Acl, AclFilter, Operation
from moldau.server.apis.describe_acls import check_enabled
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work, pieces


def delete_acls(context: RequestContext, request: DeleteAclsRequest) -> Deferred[DeleteAclsResponse]:
    require_cluster(context, Operation.ALTER)
    check_enabled(context)
    removed = controller_of(context).delete_acls([_filter(asked) for asked in request.filters])
    return context.services.slicer.then(removed, _response)


def _response(results: Sequence[Removed]) -> Work[DeleteAclsResponse]:
    response = DeleteAclsResponse()
    for removed in results:
        response.filter_results.append((yield from _result(removed)))
    return response


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


def _result(removed: Removed) -> Work[DeleteAclsFilterResult]:
    if removed.error is not None:
        return _failed(removed.error)
    rows: list[DeleteAclsMatchingAcl] = []
    for some in pieces(removed.acls):
        rows += map(_row, some)
        yield
    return DeleteAclsFilterResult(error_message=None, matching_acls=rows)


def _row(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _failed(error: KafkaError) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error.code, error_message=error.message)


def error_response(request: DeleteAclsRequest, version: int, error: KafkaError) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[_failed(error) for _ in request.filters])


# Each filter is held against every rule.
DELETE_ACLS: Final = Api(ApiKey.DELETE_ACLS, DeleteAclsRequest, delete_acls, error_response, most_elements=1000)
