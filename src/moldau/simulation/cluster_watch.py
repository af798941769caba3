"""What must hold at every moment of a cluster's life, seen from inside all of its nodes.

- one leader per epoch: of the quorum, and of every partition.
- acknowledged by enough: whatever a producer was told is written, as many replicas have as were promised.
- committed metadata: whatever two nodes take for committed at an offset is the same.
- acknowledged view: the high watermark a leader shows to readers never lies behind one shown in an earlier epoch.

And at the end, when the faults are over:

- convergence: every replica is in sync, and holds the same bytes as its leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.node import Node
from moldau.protocol.message import Message
from moldau.protocol.records import scan_batches
from moldau.replica.partition import Partition
from moldau.simulation.ledger import Broken
from moldau.simulation.world import Machine
from moldau.types import NO_LEADER, TopicPartition, Uuid

# Of each partition, and how many of them have what was acknowledged.
_REPLICAS: Final = 3
MIN_IN_SYNC: Final = 2


class Watch:
    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = machines
        self._quorum_leaders: dict[int, int] = {}
        self._partition_leaders: dict[tuple[Uuid, int, int], int] = {}
        self._committed: dict[int, tuple[int, int, list[Message]]] = {}
        # How far each machine's replica went when it was last seen.
        self._ends: dict[tuple[str, TopicPartition], int] = {}
        self.failovers = 0
        for machine in machines:
            machine.prepare = self._observe

    def _observe(self, node: Node) -> None:
        node.quorum.register(_Listener(self, node))

    # ---------------------------------------------------------------------------------------------- while it happens

    def quorum_led(self, epoch: int, leader: int) -> None:
        known = self._quorum_leaders.setdefault(epoch, leader)
        if known != leader:
            raise Broken(f"one leader per epoch: the quorum has {known} and {leader} in epoch {epoch}")

    def committed(self, node: int, batch: CommittedBatch) -> None:
        said = (batch.epoch, batch.last_offset, list(batch.records))
        known = self._committed.setdefault(batch.base_offset, said)
        if known != said:
            raise Broken(f"committed metadata: node {node} has something else at offset {batch.base_offset}")

    def look(self) -> None:
        """At those who hold themselves to be leaders."""
        for machine in self._machines:
            node = machine.node
            if node is None or not machine.is_serving:
                continue
            for partition in node.replicas.partitions():
                self._ends[machine.host, partition.topic_partition] = partition.log.log_end_offset
                if partition.is_leader:
                    self._partition_led(partition, node.quorum.node_id)

    def _partition_led(self, partition: Partition, leader: int) -> None:
        # By id: a topic that is created again begins with its first epoch.
        place, epoch = partition.topic_partition, partition.leader_epoch
        key = partition.topic_id, place.partition, epoch
        known = self._partition_leaders.get(key)
        if known is None:
            self._partition_leaders[key] = leader
            self.failovers += 1
        elif known != leader:
            raise Broken(f"one leader per epoch: {place} has {known} and {leader} in epoch {epoch}")

    def acknowledged(self, where: TopicPartition, last: int) -> None:
        """A producer was told that records up to `last` are written: by those that run, or had them when they died."""
        self.look()
        known = [end for (_, place), end in self._ends.items() if place == where]
        missing = sum(end <= last for end in known)
        if missing > _REPLICAS - MIN_IN_SYNC:
            raise Broken(f"acknowledged by enough: {missing} replicas of {where} do not have offset {last}")

    # ------------------------------------------------------------------------------------------------- at the end

    @property
    def in_sync(self) -> bool:
        """Whether every partition has a leader and all of its replicas in sync, as every node has heard."""
        nodes = [machine.node for machine in self._machines if machine.is_serving and machine.node is not None]
        if len(nodes) < len(self._machines):
            return False
        images = [node.metadata.image for node in nodes]
        if len({image.offset for image in images}) != 1:
            return False
        return all(
            state.leader != NO_LEADER and len(state.isr) == len(state.replicas)
            for topic in images[0].topics.by_name.values()
            for state in topic.partitions.values()
        )

    @property
    def converged(self) -> bool:
        """In sync, and every replica has come as far as its leader."""
        return self.in_sync and all(
            len({(p.log.log_end_offset, p.log.high_watermark) for p in replicas}) == 1 for replicas in self._replicas()
        )

    def check_replicas(self) -> None:
        for replicas in self._replicas():
            if replicas[0].log.config.compact:
                continue  # each broker compacts by itself
            start = max(partition.log.log_start_offset for partition in replicas)
            contents = [_bytes_of(partition, start) for partition in replicas]
            if any(content != contents[0] for content in contents):
                raise Broken(f"convergence: the replicas of {replicas[0].topic_partition} are not alike")

    def _replicas(self) -> Iterable[list[Any]]:
        found: dict[Any, list[Any]] = {}
        for machine in self._machines:
            if machine.node is not None:
                for partition in machine.node.replicas.partitions():
                    found.setdefault(partition.topic_partition, []).append(partition)
        return found.values()


def _bytes_of(partition: Any, start: int) -> bytes:
    """From the batch that holds `start` on: segments may be cut at other places, and removed at other times."""
    data = b"".join(bytes(segment.open_file().read(0, segment.size)) for segment in partition.log.segments.all())
    dropped = [batch for batch in scan_batches(data, 0, len(data)) if batch.next_offset <= start]
    return data[sum(batch.size for batch in dropped) :]


class _Listener:
    """One node's ear at its quorum."""

    def __init__(self, watch: Watch, node: Node) -> None:
        self._watch = watch
        self._node = node

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> None:
        pass

    def on_commit(self, batch: CommittedBatch, *, more: bool) -> None:
        self._watch.committed(self._node.quorum.node_id, batch)

    def on_leader(self, leader_id: int, epoch: int) -> None:
        if leader_id >= 0:
            self._watch.quorum_led(epoch, leader_id)
