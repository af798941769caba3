"""FetchSnapshot (key 59): a piece of a metadata snapshot, for one whose log ends before the leader's begins.

Version 1 names the directory of who fetches.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def fetch_snapshot(context: RequestContext, request: FetchSnapshotRequest) -> Message | Deferred[Message]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    return context.services.quorum.handle(request, context.version)


def error_response(request: FetchSnapshotRequest, version: int, error: KafkaError) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(error_code=error.code)


FETCH_SNAPSHOT: Final = Api(ApiKey.FETCH_SNAPSHOT, FetchSnapshotRequest, fetch_snapshot, error_response)
