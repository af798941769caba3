"""Fetch (key 1) on a controller's listener: the metadata log, for other controllers and for brokers.

Nothing but that log is here. The follower says how far its log is on disk; it waits here for something new.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.links.exchange import OUR_NAME
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def fetch_metadata(context: RequestContext, request: FetchRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    controller, software = context.services.controller, context.connection.software
    if controller is not None and software is not None and software.name == OUR_NAME:
        # How often others ask is theirs to choose.
        controller.metadata_fetched(max(request.replica_id, request.replica_state.replica_id))
    return context.services.quorum.handle(request, context.version)


def error_response(request: FetchRequest, version: int, error: KafkaError) -> FetchResponse:
    return FetchResponse(error_code=error.code)


FETCH_METADATA: Final = Api(ApiKey.FETCH, FetchRequest, fetch_metadata, error_response)
