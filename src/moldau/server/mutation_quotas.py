"""Requests that create and delete partitions, held to the quotas of whoever asks (KIP-599).

At the controller, for the client that asked and not for the broker that passed it on. What is refused stands in the
answer like any other refusal; of the rest the handler hears as if nothing else had been asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moldau.dataclass import replace
from moldau.deferred import Deferred, mapped, ready
from moldau.protocol.message import Message
from moldau.server.client_quotas import EXCEEDED, Mutations
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def metered(api: Api, strict_since: int, count: Callable[[RequestContext, Any], int]) -> Api:
    """`count` tells how many partitions an element of the request is about; `strict_since` is the first version whose
    clients know THROTTLING_QUOTA_EXCEEDED."""

    def handler(context: RequestContext, request: Any) -> Any:
        quota = context.services.client_quotas.mutations(context, strict=context.version >= strict_since)
        if quota is None:
            return api.handler(context, request)
        admitted, refused = _cut(api, context, request, quota, count)
        answer: Any = api.handler(context, admitted)
        return mapped(
            answer if isinstance(answer, Deferred) else ready(answer),
            lambda response: _together(api, context, response, refused).changed(throttle_time_ms=quota.throttle_ms),
        )

    return replace(api, handler=handler)


def _cut(
    api: Api, context: RequestContext, request: Any, quota: Mutations, count: Callable[[RequestContext, Any], int]
) -> tuple[Any, Any]:
    admitted: dict[str, list[Any]] = {}
    refused: dict[str, list[Any]] = {}
    for parts in api.parts:
        field = parts.asked[0]
        admitted[field], refused[field] = [], []
        for element in getattr(request, field):
            taken = quota.admit(count(context, element))
            (admitted if taken else refused)[field].append(element)
    return request.changed(**admitted), request.changed(**refused) if any(refused.values()) else None


def _together(api: Api, context: RequestContext, response: Message, refused: Any) -> Message:
    if refused is None or api.error_response is None:
        return response
    rows: Any = api.error_response(refused, context.version, EXCEEDED)
    field = api.parts[0].answered[0]
    return response.changed(**{field: [*getattr(response, field), *getattr(rows, field)]})
