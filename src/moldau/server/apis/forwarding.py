"""How a request that changes the cluster reaches the controller.

On a combined node the controller is in this process and an operation is a call. A node that is only a broker will send
the request to the active controller from here, inside an Envelope that names the client it speaks for; no handler has
to know which of the two it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from moldau.controller.controller import Controller
from moldau.deferred import Deferred, failed
from moldau.errors import ErrorCode, KafkaError
from moldau.server.context import RequestContext

R = TypeVar("R")


def forward(context: RequestContext, operation: Callable[[Controller], Deferred[R]]) -> Deferred[R]:
    controller: Controller | None = context.services.controller
    if controller is None:
        return failed(KafkaError(ErrorCode.NOT_CONTROLLER))
    return operation(controller)
