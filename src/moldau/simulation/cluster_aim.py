"""Where a fault hurts most: who leads, who coordinates, who has just voted; and what an operator does meanwhile.

An operator's requests are made once and not repeated: that they fail while half of the cluster is away says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from moldau.client.admin.replicas import ElectionType, elect_leaders, reassign
from moldau.client.conversation import Conversation
from moldau.errors import KafkaError
from moldau.simulation.chance import SeededRandom
from moldau.simulation.client import SimulatedClient
from moldau.simulation.cluster_watch import Watch, durable_election
from moldau.simulation.world import Machine
from moldau.types import TopicPartition

_PATIENCE_SECONDS: Final = 20.0
_REPLICAS: Final = 3
_TRANSACTIONS: Final = "__transaction_state"
_INTERNAL: Final = ("__consumer_offsets", _TRANSACTIONS)


class Aim:
    def __init__(
        self,
        machines: Sequence[Machine],
        watch: Watch,
        operator: SimulatedClient,
        chance: SeededRandom,
        partitions: Sequence[TopicPartition],
    ) -> None:
        self._machines = machines
        self._watch = watch
        self._operator = operator
        self._chance = chance
        self._partitions = partitions

    def leader(self) -> Machine | None:
        """Of some partition that is written to."""
        return self._watch.leader(self._chance.choice(self._partitions))

    def controller(self) -> Machine | None:
        return self._watch.controller()

    def deciding(self) -> Machine | None:
        """Who has decided a transaction, and has all but heard that its followers have the decision: paused now, it
        will carry it out as soon as it goes on."""
        for machine in self._machines:
            if machine.is_serving and machine.node is not None and _undecided(machine.node.transactions):
                for partition in machine.node.replicas.partitions():
                    place, end = partition.topic_partition, partition.log.log_end_offset
                    if place.topic == _TRANSACTIONS and partition.is_leader and partition.log.high_watermark < end:
                        ends = self._watch.ends(place)
                        if len(ends) > 1 and all(other == end for other in ends):
                            return machine
        return None

    def completing(self, other: Machine) -> Machine | None:
        """Who carries out a transaction in the place of the other."""
        for machine in self._machines:
            node = machine.node if machine.is_serving and machine is not other else None
            if node is not None and len(node.transactions.completions):
                return machine
        return None

    def voted(self) -> Machine | None:
        """Who has voted for another and has not heard yet who was elected."""
        for machine in self._machines:
            election = None if machine.node is None else durable_election(machine.node)
            if election is None or election.voted is None or election.leader_id >= 0 or machine.node is None:
                continue
            if election.voted.id != machine.node.quorum.node_id:
                return machine
        return None

    # ---------------------------------------------------------------------------------------------- what is asked for

    def elect_preferred(self) -> None:
        self._operator.start(_once(elect_leaders(ElectionType.PREFERRED)), _PATIENCE_SECONDS)

    def reassign(self) -> None:
        """Other brokers, where there are others; else the same ones with another one preferred."""
        places = [*self._partitions, *(TopicPartition(topic, 0) for topic in _INTERNAL)]
        moved = {}
        for where in places:
            if self._chance.happens(0.5):
                numbers = list(range(1, len(self._machines) + 1))
                self._chance.shuffle(numbers)
                moved[where] = numbers[:_REPLICAS]
        if moved:
            self._operator.start(_once(reassign(moved)), _PATIENCE_SECONDS)


def _undecided(coordinator: Any) -> bool:
    """Whether a transaction is prepared, and its markers wait because that is not known to be committed."""
    return any(
        transaction.state.is_prepared and coordinator.completions.get(transaction.transactional_id) is None
        for _, shard, _ in coordinator.runtime.shards()
        for transaction in shard._transactions.values()
    )


def _once(conversation: Conversation[object]) -> Conversation[None]:
    try:
        yield from conversation
    except KafkaError:
        return
