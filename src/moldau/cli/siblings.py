"""`moldau start FILE --nodes N`: the nodes of one machine in a cluster of several machines.

The file is that of one node; the first of them is that node, with its number, its ports and its roles. The others are
brokers beside it: numbers and ports follow those of the file, whatever is taken there is passed over, and the same
file and number of nodes always come to the same. All of them say the same rack, so that the replicas of a partition go
to different machines. Each keeps its data in `node-NUMBER/data` below every directory of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from moldau.cli.failure import Failure
from moldau.supervision.layout import FILE, new_cluster_id

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.config.listeners import Endpoint

_HIGHEST_PORT: Final = 65_535


def siblings(properties: Mapping[str, str], nodes: int) -> dict[int, dict[str, str]]:
    """By number of the node, what stands above the settings of the file."""
    from moldau.config.broker import BrokerConfig

    config = BrokerConfig.parse(properties)
    if config.standalone or not config.is_broker:
        raise Failure(
            "--nodes makes brokers of a cluster with several machines of a file: it should have process.roles with "
            "broker, node.id, and say where the controllers are."
        )
    return {config.node_id + number: _settings(config, number, nodes) for number in range(nodes)}


def shared_directory(properties: Mapping[str, str]) -> Path:
    """Where the supervisor keeps what concerns all of them: the first directory for data."""
    from moldau.config.broker import BrokerConfig

    return Path(BrokerConfig.parse(properties).log_directories[0])


def cluster_id(properties: Mapping[str, str], directory: Path) -> str | None:
    """That of those who were started before, and a new one where the first node decides alone."""
    from moldau.config.broker import BrokerConfig
    from moldau.node.identity import is_alone
    from moldau.runtime.disk import RealDisk
    from moldau.storage.log_dirs import known_cluster_id

    places = [str(directory / f"node-{number}" / "data") for number in _kept(directory)]
    known = known_cluster_id(RealDisk(), places) if places else None
    return known or (new_cluster_id() if is_alone(BrokerConfig.parse(properties)) else None)


def check_kept(directory: Path, numbers: Iterable[int], *, makes_cluster: bool) -> None:
    """Failure if what lies there is of other nodes than are to be started: of a file (`numbers`), or of a cluster that
    makes itself and says in `cluster.json` which nodes it has."""
    kept = _kept(directory)
    left = sorted(set(kept).difference(numbers))
    if kept and makes_cluster != (directory / FILE).exists():
        how = "with the file that they were started with" if makes_cluster else "without a file, as they were"
        raise Failure(f"{directory} holds the data of node {_joined(kept)} of another cluster; start them {how}.")
    if left and not makes_cluster:
        raise Failure(
            f"{directory} holds the data of node {_joined(left)}, too, which would not be started; say more --nodes, "
            "or move what they hold to other brokers (`moldau brokers drain`) and remove their directories."
        )


def _kept(directory: Path) -> list[int]:
    found = (path.parent.parent.name.removeprefix("node-") for path in directory.glob("node-*/data/meta.properties"))
    return sorted(int(name) for name in found if name.isdecimal())


def _joined(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _settings(config: BrokerConfig, number: int, nodes: int) -> dict[str, str]:
    node_id = config.node_id + number
    ports = _ports(config, nodes)[number]
    settings = {
        "node.id": str(node_id),
        "broker.rack": config.broker_rack or os.uname().nodename,
        "log.dirs": ",".join(_below(path, node_id) for path in config.log_directories),
    }
    if "broker.id" in config.originals:
        settings["broker.id"] = str(node_id)
    if config.metadata_log_dir is not None:
        settings["metadata.log.dir"] = _below(config.metadata_log_dir, node_id)
    if number == 0:
        return settings
    settings["process.roles"] = "broker"
    settings["listeners"] = _listed(_moved(end, ports[end.name]) for end in config.broker_endpoints)
    if config.advertised_listeners is not None:
        listening = {end.name: end.port for end in config.broker_endpoints}
        # A port that a gateway maps is as far from that of the file as the one behind it.
        settings["advertised.listeners"] = _listed(
            _moved(end, end.port + ports[end.name] - listening[end.name]) for end in config.advertised_broker_endpoints
        )
    if config.metrics_listener:
        host, _, _ = config.metrics_listener.rpartition(":")
        settings["metrics.listener"] = f"{host}:{ports['']}"
    return settings


def _ports(config: BrokerConfig, nodes: int) -> list[dict[str, int]]:
    """Of each node the ports by the listeners' names, that of the metrics by none: the next that is not given away."""
    first = {end.name: end.port for end in config.broker_endpoints}
    if config.metrics_listener:
        first[""] = int(config.metrics_listener.rpartition(":")[2])
    taken = {*first.values(), *(end.port for end in config.controller_endpoints)}
    found = [first]
    for _ in range(1, nodes):
        ports = {}
        for name, before in found[-1].items():
            port = before
            # Port 0 is a free one for each.
            while port and port in taken:
                port += 1
            if port > _HIGHEST_PORT:
                raise Failure(f"There are not enough ports for {nodes} nodes above {first[name]}.")
            ports[name] = port
            taken.add(port)
        found.append(ports)
    return found


def _below(path: str, node_id: int) -> str:
    return f"{path}/node-{node_id}/data"


def _moved(end: Endpoint, port: int) -> Endpoint:
    return end._replace(port=port)


def _listed(ends: Iterable[Endpoint]) -> str:
    return ",".join(map(str, ends))


def differing(properties: Mapping[str, str], given: Mapping[str, str], left_out: Sequence[str]) -> dict[str, str]:
    """What was said beside the file, for the command lines of the nodes."""
    return {
        name: value
        for name, value in properties.items()
        if name not in left_out and (name not in given or given[name] != value)
    }
