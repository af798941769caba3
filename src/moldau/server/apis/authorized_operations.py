"""What a client may do with a resource, as the bit set that Metadata and the Describe requests return."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moldau.security.acl import CLUSTER_NAME, OPERATIONS, Operation, ResourceType, bit
from moldau.server.authorization import CLUSTER, GROUP, TOPIC, cluster_allowed
from moldau.server.context import RequestContext

# In a response: nobody asked.
NOT_REQUESTED: Final = -(2**31)


def topic_operations(context: RequestContext, topic: str) -> int:
    return _operations(context, TOPIC, topic)


def group_operations(context: RequestContext, group: str) -> int:
    return _operations(context, GROUP, group)


def cluster_operations(context: RequestContext) -> int:
    """None of them for who may not describe the cluster."""
    return _operations(context, CLUSTER, CLUSTER_NAME) if cluster_allowed(context, Operation.DESCRIBE) else 0


def _operations(context: RequestContext, resource_type: ResourceType, name: str) -> int:
    authorization = context.services.authorization
    if authorization is None:
        return _bits(OPERATIONS[resource_type])
    return _bits(authorization.operations(context, resource_type, name))


def _bits(operations: Iterable[Operation]) -> int:
    return sum(map(bit, operations))
