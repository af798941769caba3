"""ListGroups (key 16): the groups this broker coordinates. Version 4 filters by state, 5 by type."""

from __future__ import annotations

from typing import Final

from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, Denied, cluster_allowed
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def list_groups(context: RequestContext, request: ListGroupsRequest) -> Work[ListGroupsResponse]:
    response = yield from context.services.groups.list_groups(request)
    if not cluster_allowed(context, Operation.DESCRIBE, quiet=True):
        denied = Denied(context, Operation.DESCRIBE, GROUP, quiet=True)
        response.groups = [group for group in response.groups if group.group_id not in denied]
    return response


def error_response(request: ListGroupsRequest, version: int, error: KafkaError) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error.code)


LIST_GROUPS: Final = Api(ApiKey.LIST_GROUPS, ListGroupsRequest, list_groups, error_response, most_elements=10_000)
