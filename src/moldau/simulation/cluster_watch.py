"""What must hold at every moment of a cluster's life, seen from inside all of its nodes.

- one leader per epoch: of the quorum, and of every partition.
- this life: who leads does so by what the cluster decided after it had heard of the broker's present life.
- acknowledged by enough: whatever a producer was told is written, as many replicas have as were promised.
- in sync: who counts as in sync has all that is committed, and is not fenced beside others that are not.
- producers: no log remembers of a producer what it does not hold.
- coordinator: who answers for a partition of groups or transactions leads it, as far as it has heard.
- snapshot: a node's metadata log reaches at least to where its snapshot ends.
- vote: what a voter has on disk of an election it knows after every restart.
- committed metadata: whatever two nodes take for committed at an offset is the same.

And at the end, when the faults are over:

- convergence: every replica is in sync, and holds the same bytes as its leader.
- markers: those that a producer's transactions ended with in a log come from coordinators in the order of their epochs.

After each event only the node is looked at that it happened to, and its partitions only if something can have happened
to them: something was written or cut on its disk, or it has heard of other metadata. After every few events all of them
are looked at anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.metadata.image import MetadataImage
from moldau.node import Node
from moldau.protocol.message import Message
from moldau.protocol.records import decode_batch, read_end_transaction, scan_batches
from moldau.raft.effects import Election
from moldau.replica.partition import Partition
from moldau.simulation.ledger import Broken
from moldau.simulation.loop import SimulatedLoop
from moldau.simulation.world import Machine
from moldau.types import NO_LEADER, TopicPartition, Uuid

# Of each partition, so many have what was acknowledged.
MIN_IN_SYNC: Final = 2
# All partitions of a node, and their in-sync sets, are looked at after so many events.
_EVENTS: Final = 8


class Watch:
    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = machines
        self._quorum_leaders: dict[int, int] = {}
        self._partition_leaders: dict[tuple[Uuid, int, int], int] = {}
        self._committed: dict[int, tuple[int, int, list[Message]]] = {}
        # How far each machine's replica went when it was last seen, by host.
        self._ends: dict[str, dict[TopicPartition, int]] = {machine.host: {} for machine in machines}
        # How often each disk had been changed when its partitions were last looked at.
        self._changes: dict[str, int] = {}
        # What each disk held of an election, and the image each node was last seen with.
        self._votes: dict[tuple[str, int], Election] = {}
        self._images: dict[str, MetadataImage] = {}
        self._events = 0
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

    def look(self, last: SimulatedLoop | None = None) -> None:
        """At the node whose event was the last one, or at all."""
        for machine in self._machines:
            if machine.node is not None and (last is None or machine.runtime is None or machine.runtime.loop is last):
                self._look_at(machine, machine.node)

    def _look_at(self, machine: Machine, node: Node) -> None:
        self._check_vote(machine, node)
        _check_life(machine, node)
        is_changed = self._changes.get(machine.host) != machine.disk.changes
        self._changes[machine.host] = machine.disk.changes
        if is_changed:
            _check_snapshot(machine, node)
        if machine.is_serving:
            self._events += 1
            looks_closely = self._events % _EVENTS == 0
            if self._check_image(machine, node) or looks_closely or is_changed:
                self._check_partitions(machine, node, looks_closely)

    def _check_partitions(self, machine: Machine, node: Node, looks_closely: bool) -> None:
        ends = self._ends[machine.host]
        for partition in node.replicas.partitions():
            self._check_end(machine, partition, ends)
            if partition.is_leader:
                self._partition_led(partition, node.quorum.node_id)
                if looks_closely:
                    self._check_in_sync(node, partition)

    def _check_end(self, machine: Machine, partition: Partition, ends: dict[TopicPartition, int]) -> None:
        place, end = partition.topic_partition, partition.log.log_end_offset
        if end < ends.get(place, 0):
            for producer in partition.log.producers.entries.values():
                if producer.batches and producer.batches[-1].last_offset >= end:
                    raise Broken(
                        f"producers: {machine.host} knows a batch of producer {producer.producer_id} at offset "
                        f"{producer.batches[-1].last_offset} of {partition.topic_partition}, which ends at {end}"
                    )
        ends[place] = end

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

    def _check_in_sync(self, node: Node, partition: Partition) -> None:
        """As the leader sees it: replicas in the life in which it knows them."""
        brokers = node.metadata.image.cluster.brokers
        for member in partition.isr:
            other = self._machines[member - 1]
            if other.node is None or not other.is_serving or other.node is node:
                continue
            registered = brokers.get(member)
            if registered is None or registered.epoch != other.node.lifecycle.epoch:
                continue
            held = other.node.replicas.find(partition.topic_id, partition.topic_partition.partition)
            if held is not None and held.log.log_end_offset < partition.log.high_watermark:
                raise Broken(
                    f"in sync: {partition.topic_partition} on {other.host} ends at {held.log.log_end_offset}, and "
                    f"{partition.log.high_watermark} is committed"
                )

    def _check_image(self, machine: Machine, node: Node) -> bool:
        """Whether it is another one than it was."""
        image = node.metadata.image
        if self._images.get(machine.host) is image:
            return False
        self._images[machine.host] = image
        brokers = image.cluster.brokers
        for topic in image.topics.by_name.values():
            for index, state in topic.partitions.items():
                fenced = [member for member in state.isr if member not in brokers or brokers[member].fenced]
                # The last one stays: it has all that is committed, wherever it is.
                if fenced and len(state.isr) > 1:
                    raise Broken(f"in sync: {topic.name}-{index} has {list(state.isr)}, of which {fenced} are fenced")
        for runtime in (node.groups.runtime, node.transactions.runtime):
            coordinated = image.topics.get(runtime.topic)
            for index, state in coordinated.partitions.items() if coordinated is not None else ():
                if state.leader != node.quorum.node_id and runtime.is_loaded(index):
                    raise Broken(
                        f"coordinator: {machine.host} answers for {runtime.topic}-{index}, led by {state.leader}"
                    )
        return True

    def _check_vote(self, machine: Machine, node: Node) -> None:
        election = durable_election(node)
        disk = machine.host, machine.disks
        before = self._votes.get(disk)
        if election is None or election is before:
            return
        if before is not None and before.epoch == election.epoch and before.voted is not None:
            voted = None if election.voted is None else election.voted.id
            # Who knows the leader of an epoch votes for nobody else in it.
            forgot = election.leader_id < 0 if voted is None else voted != before.voted.id
            if forgot:
                raise Broken(
                    f"vote: in epoch {election.epoch} {machine.host} has voted for {before.voted.id}, and knows {voted}"
                )
        self._votes[disk] = election

    def acknowledged(self, where: TopicPartition, last: int) -> None:
        """A producer was told that records up to `last` are written: by those that run, or had them when they died."""
        self.look()
        for machine in self._machines:
            # Also one that follows already and does not serve yet.
            held = None if machine.node is None else machine.node.replicas.find(where.topic, where.partition)
            if held is not None:
                self._ends[machine.host][where] = held.log.log_end_offset
        have = sum(ends.get(where, 0) > last for ends in self._ends.values())
        if have < MIN_IN_SYNC:
            raise Broken(f"acknowledged by enough: {have} replicas of {where} have offset {last}")

    # ------------------------------------------------------------------------------------------ for those who aim

    def leader(self, where: TopicPartition) -> Machine | None:
        """Whoever leads a partition, in its own eyes."""
        for machine in self._machines:
            if machine.is_serving and machine.node is not None:
                partition = machine.node.replicas.find(where.topic, where.partition)
                if partition is not None and partition.is_leader:
                    return machine
        return None

    def ends(self, where: TopicPartition) -> list[int]:
        """Of all replicas that run."""
        nodes = [machine.node for machine in self._machines if machine.is_serving and machine.node is not None]
        held = [node.replicas.find(where.topic, where.partition) for node in nodes]
        return [partition.log.log_end_offset for partition in held if partition is not None]

    def controller(self) -> Machine | None:
        for machine in self._machines:
            quorum = None if machine.node is None else machine.node.quorum
            if machine.is_serving and quorum is not None and quorum.leader_id == quorum.node_id:
                return machine
        return None

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
            place = replicas[0].topic_partition
            for partition in replicas:
                _check_markers(partition)
            if replicas[0].log.config.compact:
                # Each broker compacts by itself: what two of them still have is the same.
                values = [_values_of(partition) for partition in replicas]
                alike = all(_agree(values[0], others) for others in values[1:])
            else:
                start = max(partition.log.log_start_offset for partition in replicas)
                contents = [_bytes_of(partition, start) for partition in replicas]
                alike = all(content == contents[0] for content in contents)
            if not alike:
                raise Broken(f"convergence: the replicas of {place} are not alike")

    def _replicas(self) -> Iterable[list[Any]]:
        found: dict[Any, list[Any]] = {}
        for machine in self._machines:
            if machine.node is not None:
                for partition in machine.node.replicas.partitions():
                    found.setdefault(partition.topic_partition, []).append(partition)
        return found.values()


def _check_life(machine: Machine, node: Node) -> None:
    """Also of one that does not serve yet: to lead is to write."""
    registered = node.metadata.image.cluster.brokers.get(node.quorum.node_id)
    if registered is None or registered.incarnation_id == node.lifecycle.incarnation:
        return
    for partition in node.replicas.partitions():
        if partition.is_leader:
            raise Broken(f"this life: {machine.host} leads {partition.topic_partition} as an earlier one did")


def _check_snapshot(machine: Machine, node: Node) -> None:
    quorum: Any = node.quorum
    if quorum._machine is None:
        return  # not begun yet, or over
    log = quorum._log
    snapshot = log.snapshot
    if snapshot is not None and log.end.offset < snapshot.offset:
        raise Broken(
            f"snapshot: that of {machine.host} ends at offset {snapshot.offset}, its metadata log at {log.end.offset}"
        )


def durable_election(node: Node) -> Election | None:
    """The election a node has on disk and acts upon; None while it is being written, and before it has begun."""
    quorum: Any = node.quorum
    member = quorum.member
    if member is None or quorum._is_persisting or quorum._is_starting or quorum._waiting:
        return None
    election: Election = member.election
    return election


def _content(partition: Partition) -> bytes:
    return b"".join(bytes(segment.open_file().read(0, segment.size)) for segment in partition.log.segments.all())


def _bytes_of(partition: Partition, start: int) -> bytes:
    """From the batch that holds `start` on: segments may be cut at other places, and removed at other times."""
    data = _content(partition)
    dropped = [batch for batch in scan_batches(data, 0, len(data)) if batch.next_offset <= start]
    return data[sum(batch.size for batch in dropped) :]


def _values_of(partition: Partition) -> dict[int, bytes | None]:
    data, place = _content(partition), 0
    values: dict[int, bytes | None] = {}
    for batch in scan_batches(data, 0, len(data)):
        values.update((record.offset, record.value) for record in decode_batch(data, place, place + batch.size))
        place += batch.size
    return values


def _agree(one: Mapping[int, bytes | None], other: Mapping[int, bytes | None]) -> bool:
    return all(one[offset] == other[offset] for offset in one.keys() & other.keys())


def _check_markers(partition: Partition) -> None:
    data, place = _content(partition), 0
    newest: dict[int, int] = {}
    for batch in scan_batches(data, 0, len(data)):
        if batch.is_control:
            for record in decode_batch(data, place, place + batch.size):
                marker = read_end_transaction(record)
                if marker is not None and marker.coordinator_epoch < newest.get(batch.producer_id, -1):
                    raise Broken(
                        f"markers: in {partition.topic_partition} one of epoch {marker.coordinator_epoch} stands at "
                        f"{record.offset}, after one of epoch {newest[batch.producer_id]}"
                    )
                if marker is not None:
                    newest[batch.producer_id] = marker.coordinator_epoch
        place += batch.size


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
