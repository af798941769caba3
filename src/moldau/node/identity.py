"""Which cluster a node belongs to, before it has met anybody of it."""

from __future__ import annotations

from moldau.config.broker import BrokerConfig
from moldau.errors import MoldauError
from moldau.runtime.ports import Disk, Random
from moldau.storage.log_dirs import known_cluster_id, random_id
from moldau.types import uuid_to_text


class NodeError(MoldauError):
    """The node cannot start or cannot go on; the sentence says why."""


def is_alone(config: BrokerConfig) -> bool:
    """Whether the quorum is this node: standalone, or its only voter."""
    if config.standalone:
        return True
    voters = [int(item.partition("@")[0]) for item in config.controller_quorum_voters]
    return voters == [config.node_id]


def cluster_id_of(config: BrokerConfig, disk: Disk, random: Random, given: str | None = None) -> str:
    """What the directories say, or what was given for new ones; a quorum of one may make up a name for itself.

    Nodes of a larger cluster must all be told the same one: each would otherwise found a cluster of its own.
    """
    directories = [*config.log_directories]
    if config.metadata_log_directory not in directories:
        directories.append(config.metadata_log_directory)
    known = known_cluster_id(disk, directories)
    if known is not None:
        if given is not None and given != known:
            raise NodeError(f"The directories belong to the cluster {known}, and the node was started for {given}.")
        return known
    if given is not None:
        return given
    if is_alone(config):
        return uuid_to_text(random_id(random))
    raise NodeError(
        f"{directories[0]} is not formatted, and a node of a larger cluster cannot choose its cluster id: run `moldau "
        "storage format --cluster-id ID --config FILE` first, or start with --cluster-id ID; `moldau storage "
        "random-uuid` makes an id, the same for all nodes."
    )
