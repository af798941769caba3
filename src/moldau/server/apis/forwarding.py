"""How a request that changes the cluster reaches the active controller.

The controller's listener offers these APIs as they stand in their files: answered here if this node leads,
NOT_CONTROLLER otherwise. A broker's listener offers the same rows with `forwarded` around them: a call if the active
controller is in this process, an Envelope to wherever it is if not. No handler has to know which of the two it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api

if TYPE_CHECKING:
    from moldau.controller.controller import Controller


def controller_of(context: RequestContext) -> Controller:
    """The controller in this process, active or not; KafkaError(NOT_CONTROLLER) if there is none."""
    controller = context.services.controller
    if controller is None:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    return controller


def forwarded(api: Api) -> Api:
    """What the active controller answers, as a broker offers it."""

    def handler(context: RequestContext, request: Any) -> Any:
        channel = context.services.controller_channel
        return api.handler(context, request) if channel.leads else channel.forward(context, request)

    return replace(api, handler=handler)
