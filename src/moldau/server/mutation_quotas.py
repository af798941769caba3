"""Requests that create and delete partitions, held to the quotas of whoever asks (KIP-599).

At the controller, for the client that asked and not for the broker that passed it on. What is charged is what would be
done: who is refused for another reason, because he may not or because it cannot be, has used up nothing, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from moldau.controller.decision import Charge, free
from moldau.deferred import Deferred, mapped
from moldau.protocol.message import Message
from moldau.server.context import RequestContext

Answer = TypeVar("Answer", bound=Message)


def charged(
    context: RequestContext, strict_since: int, ask: Callable[[Charge], Deferred[Answer]], *, in_earnest: bool = True
) -> Deferred[Answer]:
    """`strict_since` is the first version whose clients know THROTTLING_QUOTA_EXCEEDED. What is only tried is free."""
    if not in_earnest:
        return ask(free)
    quota = context.services.client_quotas.mutations(context, strict=context.version >= strict_since)
    if quota is None:
        return ask(free)
    return mapped(ask(quota.charge), lambda response: response.changed(throttle_time_ms=quota.throttle_ms))
