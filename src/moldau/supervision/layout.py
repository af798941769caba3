"""The nodes of a cluster on one machine: which of them vote, where each listens, and the settings that follow.

A layout is written down beside the data, so that a cluster comes back with the same id and at the same ports.
"""

from __future__ import annotations

import json
import os
import socket
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from moldau.errors import MoldauError

HOST: Final = "127.0.0.1"
FILE: Final = "cluster.json"
CONTROLLER: Final = "CONTROLLER"
CLIENTS: Final = "PLAINTEXT"
SECURED_CLIENTS: Final = "SASL_SSL"
_HIGHEST_PORT: Final = 65_535
_HELD: Final[list[socket.socket]] = []


class LayoutError(MoldauError):
    """What is asked for does not fit what is there."""


@dataclass(slots=True, frozen=True)
class Place:
    """Of one node; `controller_port` is None for one that does not vote."""

    id: int
    port: int
    controller_port: int | None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


@dataclass(slots=True, frozen=True)
class Layout:
    cluster_id: str
    places: tuple[Place, ...]
    # Whether nobody comes in without a login, nor a controller without a certificate (`secured`).
    secure: bool = False

    @property
    def voters(self) -> str:
        return ",".join(
            f"{place.id}@{HOST}:{place.controller_port}" for place in self.places if place.controller_port is not None
        )

    def settings(self, place: Place, voters: str | None = None) -> dict[str, str]:
        """What makes a node this one of the cluster; `voters` if they are reached elsewhere than where they listen."""
        clients, controllers = (SECURED_CLIENTS, "SSL") if self.secure else (CLIENTS, "PLAINTEXT")
        listeners = [f"{clients}://{place.address}"]
        if place.controller_port is not None:
            listeners.append(f"{CONTROLLER}://{HOST}:{place.controller_port}")
        return {
            "process.roles": "broker" if place.controller_port is None else "broker,controller",
            "node.id": str(place.id),
            "listeners": ",".join(listeners),
            "listener.security.protocol.map": f"{CONTROLLER}:{controllers},{clients}:{clients}",
            "inter.broker.listener.name": clients,
            "controller.listener.names": CONTROLLER,
            "controller.quorum.voters": self.voters if voters is None else voters,
            **replication(len(self.places)),
        }


def replication(nodes: int) -> dict[str, str]:
    """As many replicas as make sense for so many nodes: three if there are three, and a write waits for two of them."""
    factor = min(3, nodes)
    return {
        "default.replication.factor": str(factor),
        "min.insync.replicas": str(max(1, factor - 1)),
        "offsets.topic.replication.factor": str(factor),
        "transaction.state.log.replication.factor": str(factor),
        "transaction.state.log.min.isr": str(max(1, factor - 1)),
    }


def voters_among(nodes: int) -> int:
    """An odd number: an even one survives no more losses."""
    return 5 if nodes >= 5 else 3 if nodes >= 3 else 1


def plan(nodes: int, ports: Sequence[int], controller_ports: Sequence[int], cluster_id: str | None = None) -> Layout:
    """The first one, three or five of the nodes vote."""
    voting = voters_among(nodes)
    places = [
        Place(number + 1, ports[number], controller_ports[number] if number < voting else None)
        for number in range(nodes)
    ]
    return Layout(cluster_id or new_cluster_id(), tuple(places))


def new_cluster_id() -> str:
    while True:
        text = urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode()
        if not text.startswith("-"):  # it would look like an option
            return text


def hold_ports(number: int) -> list[int]:
    """Ports nobody uses, all different; nobody else is given them as long as this process lives."""
    places = [reserve() for _ in range(number)]
    _HELD.extend(places)
    return [place.getsockname()[1] for place in places]


def reserve(port: int = 0) -> socket.socket:
    """A port that stays ours while the node is down: bound, so that nobody else is given it, and not listened on, so
    that the node can. Without that a test that restarts a node would fail now and then, whenever many run at once."""
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((HOST, port))
    except OSError:
        place.close()
        raise
    return place


# ------------------------------------------------------------------------------------------------------ kept in a file


def read(directory: Path) -> Layout | None:
    path = directory / FILE
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text())
        places = tuple(Place(**place) for place in content["nodes"])
        return Layout(content["cluster_id"], places, bool(content.get("secure", False)))
    except (ValueError, KeyError, TypeError) as error:
        raise LayoutError(f"{path} cannot be understood ({error}); it says which nodes the cluster has.") from None


def write(directory: Path, layout: Layout) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    content: dict[str, object] = {"cluster_id": layout.cluster_id}
    if layout.secure:
        content["secure"] = True
    content["nodes"] = [asdict(place) for place in layout.places]
    draft = directory / f"{FILE}.new"
    draft.write_text(json.dumps(content, indent=2) + "\n")
    draft.replace(directory / FILE)


def remembered(directory: Path, nodes: int | None, port: int | None, *, secure: bool = False) -> Layout:
    """The layout of a directory: what is written there, with further nodes if more are asked for, or a new one.

    Ports are one after the other from `port` on, those of controllers 10,000 above them; 0 takes free ones. What is
    secured stays so, whether or not it is asked for again.
    """
    known = read(directory)
    if known is None:
        count = 3 if nodes is None else nodes
        layout = replace(plan(count, *_ports(count, 9092 if port is None else port)), secure=secure)
        _check_free(layout)
    elif secure and not known.secure:
        raise LayoutError(f"{directory} holds a cluster that is not secured; choose another directory with --data.")
    elif nodes is not None and nodes < len(known.places):
        raise LayoutError(
            f"{directory} holds a cluster of {len(known.places)} nodes; it can grow, but not shrink to {nodes}."
        )
    elif port not in (None, 0) and port != known.places[0].port:
        raise LayoutError(
            f"{directory} holds a cluster at port {known.places[0].port}; its nodes know each other by that."
        )
    else:
        layout = _grown(known, len(known.places) if nodes is None else nodes)
    if layout != known:
        write(directory, layout)
    return layout


def _grown(known: Layout, nodes: int) -> Layout:
    """Who joins later does not vote: the voters are fixed by a setting that every node has to share."""
    places = list(known.places)
    taken = {place.port for place in places}
    while len(places) < nodes:
        following = max(taken) + 1
        port = following if _is_free(following) else hold_ports(1)[0]
        taken.add(port)
        places.append(Place(len(places) + 1, port, None))
    return Layout(known.cluster_id, tuple(places), known.secure)


def _check_free(layout: Layout) -> None:
    """Before they are written down: a cluster's ports cannot be changed later."""
    for place in layout.places:
        for port in (place.port, place.controller_port):
            if port is not None and not _is_free(port):
                raise LayoutError(f"Something listens already at {HOST}:{port}, which node {place.id} needs.")


def _is_free(port: int) -> bool:
    try:
        reserve(port).close()
    except OSError:
        return False
    return True


def _ports(nodes: int, first: int) -> tuple[list[int], list[int]]:
    if first == 0:
        free = hold_ports(nodes + voters_among(nodes))
        return free[:nodes], free[nodes:]
    if first + nodes - 1 > _HIGHEST_PORT:
        raise LayoutError(f"There are no {nodes} ports from {first} on; the highest is {_HIGHEST_PORT}.")
    ports = list(range(first, first + nodes))
    above = 10_000 if first + nodes + 10_000 <= _HIGHEST_PORT else -10_000
    return ports, [port + above for port in ports]
