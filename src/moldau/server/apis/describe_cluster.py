"""DescribeCluster (key 60): the brokers of the cluster, or at a controller the controllers. Version 1 says which kind
of node is asked for, 2 can include fenced brokers.
"""

from __future__ import annotations

from typing import Final

from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from moldau.security.acl import Operation
from moldau.server.apis.authorized_operations import NOT_REQUESTED, cluster_operations
from moldau.server.apis.cluster_view import alive_brokers, any_broker
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api

_BROKERS, _CONTROLLERS = 1, 2


def describe_cluster(context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type == _CONTROLLERS:
        raise KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE, "Controllers are asked for at a controller, and this is a broker."
        )
    if request.endpoint_type != _BROKERS:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"The endpoint type {request.endpoint_type} is not known."
        )
    image = context.services.metadata.image
    listener, fenced = context.listener_name, request.include_fenced_brokers
    return DescribeClusterResponse(
        cluster_id=context.services.cluster_id,
        controller_id=any_broker(context, image),
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.id,
                host=endpoint.host,
                port=endpoint.port,
                rack=broker.rack,
                is_fenced=broker.fenced if context.version >= 2 else False,
            )
            for broker, endpoint in alive_brokers(image, listener, include_fenced=fenced)
        ],
        cluster_authorized_operations=(
            cluster_operations(context) if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )


def describe_controllers(context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """At a controller, for who administers a cluster through its controllers (`bootstrap.controllers`)."""
    require_cluster(context, Operation.ALTER)
    if request.endpoint_type == _BROKERS:
        raise KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE, "Brokers are asked for at a broker, and this is a controller."
        )
    if request.endpoint_type != _CONTROLLERS:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"The endpoint type {request.endpoint_type} is not known."
        )
    services = context.services
    registered = services.metadata.image.cluster.controllers.values()
    return DescribeClusterResponse(
        cluster_id=services.cluster_id,
        controller_id=services.quorum.leader_id,
        endpoint_type=_CONTROLLERS,
        brokers=[
            DescribeClusterBroker(broker_id=controller.id, host=endpoint.host, port=endpoint.port)
            for controller in registered
            if (endpoint := controller.listeners.get(context.listener_name)) is not None
        ],
        cluster_authorized_operations=(
            cluster_operations(context) if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )


def error_response(request: DescribeClusterRequest, version: int, error: KafkaError) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=error.code, error_message=error.message)


DESCRIBE_CLUSTER: Final = Api(ApiKey.DESCRIBE_CLUSTER, DescribeClusterRequest, describe_cluster, error_response)

CONTROLLER_DESCRIBE_CLUSTER: Final = replace(DESCRIBE_CLUSTER, handler=describe_controllers)
