"""Whether clients can be sent to this node, and if not, why: for whoever starts nodes or spreads load over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from moldau.node.node import Node

# Records of the metadata log a node may be behind: they come in bursts, and are applied within milliseconds.
_MOST_BEHIND: Final = 1000


def why_not_ready(node: Node) -> str | None:
    """In one sentence; None if it is ready."""
    if node.is_stopping:
        return "The node is stopping."
    if node.failure is not None:
        return str(node.failure)
    behind = node.quorum.told_high_watermark - (node.metadata.image.offset + 1)
    if node.quorum.told_high_watermark < 0 and not _leads(node):
        return node.quorum.correspondence.refusal or "No leader of the controllers is known."
    if behind > _MOST_BEHIND:
        return f"The node is {behind} records behind in the metadata log."
    return _why_broker_is_not(node) or (None if node.is_serving else "The node does not accept clients yet.")


def _why_broker_is_not(node: Node) -> str | None:
    broker = node.broker
    if broker is None:
        return None
    if not node.is_loaded:
        opened, found = node.logs.load_progress
        return f"Logs are being opened: {opened} of {found}."
    if broker.lifecycle.epoch < 0:
        return "The broker is not registered with a controller yet."
    if broker.lifecycle.is_fenced:
        return "The controller keeps the broker fenced: it is not caught up, or was not heard of."
    if broker.lifecycle.is_forsaken:
        return "No controller has answered the broker's heartbeats for a whole session."
    return None


def _leads(node: Node) -> bool:
    controller = node.services.controller
    return controller is not None and controller.is_active
