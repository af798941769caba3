"""CreateAcls (key 30): adds access rules; one that is there already counts as added.

Versions: 1 knows prefixed patterns, 2 is flexible, 3 users as resources.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from moldau.security.acl import Acl, Operation
from moldau.server.apis.describe_acls import check_enabled
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def create_acls(context: RequestContext, request: CreateAclsRequest) -> Deferred[CreateAclsResponse]:
    require_cluster(context, Operation.ALTER)
    check_enabled(context)
    created = controller_of(context).create_acls([_acl(creation) for creation in request.creations])
    return mapped(created, lambda errors: CreateAclsResponse(results=[_result(error) for error in errors]))


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _result(error: KafkaError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult(error_message=None)
    return AclCreationResult(error_code=error.code, error_message=error.message)


def error_response(request: CreateAclsRequest, version: int, error: KafkaError) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_result(error) for _ in request.creations])


CREATE_ACLS: Final = Api(
    ApiKey.CREATE_ACLS,
    CreateAclsRequest,
    create_acls,
    error_response,
    parts=(Parts(("creations",), ("results",), size=500),),
    most_elements=20_000,
)
