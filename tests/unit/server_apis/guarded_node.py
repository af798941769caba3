"""A node with an authorizer in this process, asked by whomever a test says, as a broker or as a controller."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from in_process_node import InProcessNode, Wire, request_frame

from moldau.config.settings.security import STANDARD_AUTHORIZER
from moldau.protocol.api import RESPONSES, response_header_version
from moldau.protocol.message import Message
from moldau.security.acl import CLUSTER_NAME, Acl, AclFilter, Operation, PatternType, Permission, ResourceType
from moldau.security.principal import Principal, user

ADMIN, JAN = user("admin"), user("jan")


class GuardedNode(InProcessNode):
    def __init__(self, data: Path, settings: Mapping[str, str] | None = None) -> None:
        guarded = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": str(ADMIN), **(settings or {})}
        super().__init__(data, compiled=True, settings=guarded)

    def as_user(self, who: Principal, request: Message, version: int, *, at: str = "controller") -> Any:
        wire: Any = Wire()
        connection = self.connect(wire, at=at)
        connection.principal = who
        frame = request_frame(request, version)
        connection.frame(memoryview(frame), 0, len(frame))
        self.turn_until(lambda: bool(wire.sent) or wire.closed is not None)
        assert wire.closed is None, wire.closed
        start = 8 + (1 if response_header_version(request.API_KEY, version) else 0)
        return RESPONSES[request.API_KEY].decode(wire.sent[0][start:], version)

    def permit(self, *acls: Acl) -> None:
        """These, too."""
        made = self.node.controller.create_acls(list(acls))
        self.turn_until(lambda: bool(made.settled))

    def forbid(self, *filters: AclFilter) -> None:
        gone = self.node.controller.delete_acls(list(filters))
        self.turn_until(lambda: bool(gone.settled))


def acl(operation: Operation, kind: ResourceType = ResourceType.CLUSTER, name: str = CLUSTER_NAME) -> Acl:
    """Jan may."""
    return Acl(kind, name, PatternType.LITERAL, str(JAN), "*", operation, Permission.ALLOW)
