"""What the handlers of all group requests share: who asks, in the words of the coordinator."""

from __future__ import annotations

from moldau.coordinator.group.request_info import RequestInfo
from moldau.server.context import RequestContext


def request_info(context: RequestContext) -> RequestInfo:
    # Kafka writes an address with a slash before it, and so do the tools that print it.
    return context.services.groups.info(context.client_id, f"/{context.peer[0]}", context.version)
