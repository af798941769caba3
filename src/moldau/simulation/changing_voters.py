"""A quorum whose voters change while everything else goes wrong.

All nodes are formatted as the first voters. A node that gets another disk is another voter: it asks for its vote by
itself, and the one it was is taken out. An operator takes a vote away now and then, and the node asks for it again.
Voters are never fewer than can be lost: nobody's disk goes while a vote is missing, and nobody's vote while the cluster
has not got over an earlier loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from moldau.client.admin.quorum import remove_voter
from moldau.client.conversation import Conversation
from moldau.config.broker import BrokerConfig
from moldau.errors import KafkaError
from moldau.node.formatting import InitialController, Wanted, format_storage
from moldau.simulation.chance import SeededRandom
from moldau.simulation.client import SimulatedClient
from moldau.simulation.disk import SimulatedDisk
from moldau.simulation.loop import SimulatedLoop
from moldau.simulation.world import Format, Machine
from moldau.types import Uuid

FAULT: Final = "take a vote away"
_CONTROLLER_PORT: Final = 9093
_PATIENCE_SECONDS: Final = 10.0
# A request for it may still be under way somewhere, or be carried out when nobody waits any more.
_SETTLED_US: Final = 60_000_000


def changing(settings: Mapping[str, str], nodes: int) -> dict[str, str]:
    """The settings of a node, with voters that stand in the log."""
    changed = {name: value for name, value in settings.items() if name != "controller.quorum.voters"}
    return {
        **changed,
        "controller.quorum.bootstrap.servers": ",".join(
            f"node-{number}:{_CONTROLLER_PORT}" for number in range(1, nodes + 1)
        ),
        "controller.quorum.auto.join.enable": "true",
    }


def formatting(settings: Mapping[str, str], nodes: int, cluster_id: str) -> Format:
    """How the disks of a node are made ready: the first one is a voter's."""
    config = BrokerConfig.parse(settings)
    first = [InitialController(n, f"node-{n}", _CONTROLLER_PORT, _first_directory(n)) for n in range(1, nodes + 1)]

    def format(disk: SimulatedDisk, random: SeededRandom, is_first: bool) -> None:
        if is_first:
            wanted = Wanted(cluster_id, initial_controllers=first)
        else:
            wanted = Wanted(cluster_id, no_initial_controllers=True)
        format_storage(config, wanted, disk, random, 0)

    return format


def _first_directory(number: int) -> Uuid:
    return bytes([0xA0 + number]) * 16


class VoterChanges:
    def __init__(
        self, machines: Sequence[Machine], operator: SimulatedClient, loop: SimulatedLoop, chance: SeededRandom
    ) -> None:
        self._machines = machines
        self._operator = operator
        self._loop = loop
        self._chance = chance
        self._asked_us = -_SETTLED_US

    @property
    def all_vote(self) -> bool:
        """As every node knows it: each of them, from the disk it has now."""
        members = [_member(machine) for machine in self._machines]
        if any(member is None for member in members):
            return False
        keys = [member.key for member in members]
        return all(all(map(member.voters.has, keys)) and len(member.voters.ids) == len(keys) for member in members)

    @property
    def bear_a_loss(self) -> bool:
        """A disk may go for good."""
        return self.all_vote and self._loop.now_us - self._asked_us >= _SETTLED_US

    def take_one_away(self) -> None:
        machine = self._chance.choice(self._machines)
        member = _member(machine)
        if member is not None and self.all_vote:
            self._asked_us = self._loop.now_us
            asked = _once(remove_voter(member.key.id, member.key.directory))
            self._operator.start(asked, _PATIENCE_SECONDS)


def _member(machine: Machine) -> Any:
    node = machine.node if machine.is_serving else None
    return None if node is None else node.quorum.member


def _once(conversation: Conversation[object]) -> Conversation[None]:
    """An operator's request: that it fails while half of the cluster is away says nothing."""
    try:
        yield from conversation
    except KafkaError:
        return
