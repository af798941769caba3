"""How a node takes part in the quorum of controllers, and where it finds the one that leads."""

from __future__ import annotations

from collections.abc import Callable, Collection

from moldau.config.broker import BrokerConfig
from moldau.links.addresses import Address, parse_address
from moldau.links.peers import Peers
from moldau.metadata.loader import MetadataLoader
from moldau.raft.raft_quorum import RaftQuorum
from moldau.runtime.ports import Runtime


def make_quorum(
    config: BrokerConfig, runtime: Runtime, peers: Peers, on_fault: Callable[[BaseException], None]
) -> RaftQuorum:
    """Its voters, and whether this node is one, stand in the settings or in the log."""
    return RaftQuorum(
        config, runtime.disk, runtime.clock, runtime.loop, runtime.random, runtime.workers, peers, on_fault
    )


class VotersOfQuorum:
    """What the controller asks and wants of the quorum it belongs to."""

    def __init__(self, quorum: RaftQuorum) -> None:
        self._quorum = quorum

    @property
    def kraft_version(self) -> int:
        return self._quorum.voters.kraft_version

    def voter_ids(self) -> Collection[int]:
        return self._quorum.voters.last.ids

    def upgrade_kraft_version(self, level: int, *, validate_only: bool) -> None:
        self._quorum.upgrade_kraft_version(level, validate_only=validate_only)


def controller_endpoints(
    config: BrokerConfig, metadata: MetadataLoader, quorum: RaftQuorum
) -> Callable[[int], Address | None]:
    """Where the controller with an id is reached: as the quorum knows its leader, as it registered itself, or as the
    settings name it."""
    voters = {
        int(node_id): parse_address(place)
        for node_id, _, place in (item.partition("@") for item in config.controller_quorum_voters)
    }
    names = [name.upper() for name in config.controller_listener_names]

    def endpoint_of(node_id: int) -> Address | None:
        if node_id == quorum.leader_id:
            known = quorum.leader_address
            if known is not None:
                return known
        registered = metadata.image.cluster.controllers.get(node_id)
        for name in names if registered is not None else ():
            assert registered is not None
            endpoint = registered.listeners.get(name)
            if endpoint is not None:
                return Address(endpoint.host, endpoint.port)
        return voters.get(node_id)

    return endpoint_of
