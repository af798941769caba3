"""One member of a classic group, and the answers it is waiting for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from moldau.deferred import Deferred
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupResponse


class MemberProtocol(NamedTuple):
    """An assignor the member can work with, and its subscription in that assignor's own words."""

    name: str
    metadata: bytes


class ClassicMember:
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "join_answer",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_answer",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Sequence[MemberProtocol],
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = tuple(protocols)
        self.assignment = assignment
        # A JoinGroup or SyncGroup whose answer has to wait for the other members.
        self.join_answer: Deferred[JoinGroupResponse] | None = None
        self.sync_answer: Deferred[SyncGroupResponse] | None = None
        # It has not been given a generation yet, so it cannot send heartbeats.
        self.is_new = False

    @property
    def is_waiting(self) -> bool:
        """Silent for a good reason: its session does not run out while it waits for an answer. A new member's does,
        because whoever gives up and joins again leaves a member behind that will never answer."""
        return not self.is_new and (self.join_answer is not None or self.sync_answer is not None)

    def metadata(self, protocol_name: str | None, otherwise: bytes | None = None) -> bytes:
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        if otherwise is not None:
            return otherwise
        raise ValueError(f"{self.member_id} does not support the protocol {protocol_name}")

    def matches(self, protocols: Sequence[MemberProtocol]) -> bool:
        return self.protocols == tuple(protocols)

    def vote(self, candidates: Collection[str]) -> str:
        """The first of its own protocols that all members support."""
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise ValueError(f"{self.member_id} supports none of the protocols all others support")
