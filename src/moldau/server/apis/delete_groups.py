"""DeleteGroups (key 42): deletes groups without members, and their offsets. Version 2 is flexible."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def delete_groups(context: RequestContext, request: DeleteGroupsRequest) -> Deferred[DeleteGroupsResponse]:
    denied = Denied(context, Operation.DELETE, GROUP)
    refused = denied.among(request.groups_names)
    names = [name for name in request.groups_names if name not in refused]
    rows = [DeletableGroupResult(group_id=name, error_code=refusal(GROUP).code) for name in sorted(refused)]
    deleted = context.services.groups.delete_groups(names)
    return mapped(deleted, lambda results: DeleteGroupsResponse(results=[*results, *rows]))


def error_response(request: DeleteGroupsRequest, version: int, error: KafkaError) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=group_id, error_code=error.code) for group_id in request.groups_names]
    )


DELETE_GROUPS: Final = Api(
    ApiKey.DELETE_GROUPS,
    DeleteGroupsRequest,
    delete_groups,
    error_response,
    parts=(Parts(("groups_names",), ("results",)),),
)
