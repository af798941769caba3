"""What a client may do with a resource, as the bit set that Metadata and the Describe requests return.

There is no authorizer yet, so everyone may do everything that the resource knows, as in Kafka without one.
"""

from __future__ import annotations

from typing import Final

from moldau.server.context import RequestContext

# The numbers of Kafka's operations.
_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 3, 4, 5, 6, 7, 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 9, 10, 11, 12

# In a response: nobody asked.
NOT_REQUESTED: Final = -(2**31)

_TOPIC: Final = (_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
_GROUP: Final = (_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
_CLUSTER: Final = (_CREATE, _ALTER, _DESCRIBE, _CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE)


def topic_operations(context: RequestContext, topic: str) -> int:
    return _bits(_TOPIC)


def group_operations(context: RequestContext, group: str) -> int:
    return _bits(_GROUP)


def cluster_operations(context: RequestContext) -> int:
    return _bits(_CLUSTER)


def _bits(operations: tuple[int, ...]) -> int:
    return sum(1 << operation for operation in operations)
