"""A story of a cluster as text: a line is something that happens, and the indented lines below it are what it changed.

`play` runs the first kind and writes the second, so a test is one text that must come out as it went in. What can
happen is a method of `Story` with the same name; a refusal shows as its error code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controller_kit import World, directory_of, show

from moldau.config.alteration import Operation
from moldau.controller.configs import Change, ResourceChange
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import ConfigResource, PartitionRegistration, ResourceType, TopicImage
from moldau.metadata.partition_registration import LOST_DIRECTORY, UNASSIGNED_DIRECTORY
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    RequestDirectoryData,
)
from moldau.protocol.messages.assign_replicas_to_dirs import RequestPartitionData as PlacedPartition
from moldau.protocol.messages.assign_replicas_to_dirs import RequestTopicData as PlacedTopic
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.types import Uuid

ELECTIONS = {"preferred": 0, "unclean": 1}
UPGRADES = {"upgrade": 1, "safe": 2, "unsafe": 3}


class Story:
    """The words after a method's name are its arguments."""

    def __init__(self, *, eligible_leaders: bool = True) -> None:
        self.world = World(brokers=(), eligible_leaders=eligible_leaders)
        self.incarnations: dict[int, int] = {}
        self.disks: dict[int, list[Uuid]] = {}
        # Those whose process is gone say nothing any more.
        self.silent: set[int] = set()

    def older(self, what: str) -> str:
        """older cluster: as the first line, one that was made before new ones had eligible leaders."""
        assert what == "cluster"
        assert not self.incarnations
        self.world = World(brokers=(), eligible_leaders=False)
        return ""

    # ---------------------------------------------------------------------------------------------------- brokers

    def broker(self, number: str, *words: str) -> str:
        """broker 1 [rack=a] [disks=2]"""
        broker_id, options = int(number), dict(word.split("=") for word in words)
        self.incarnations[broker_id] = 1
        self.disks[broker_id] = [directory_of(broker_id, disk) for disk in range(int(options.get("disks", 1)))]
        self.world.join(broker_id, rack=options.get("rack"), log_dirs=self.disks[broker_id])
        return ""

    def fence(self, number: str) -> str:
        self.world.heartbeat(int(number), want_fence=True)
        return ""

    def unfence(self, number: str) -> str:
        self.world.heartbeat(int(number))
        return ""

    def shutdown(self, number: str) -> str:
        """Asks until it may go."""
        for _ in range(5):
            if self.world.heartbeat(int(number), want_shut_down=True).should_shut_down:
                self.silent.add(int(number))
                return ""
            self._beat()
        return "it may not go yet"

    def kill(self, number: str) -> str:
        """The process is gone, and its session runs out."""
        self.silent.add(int(number))
        return self.wait("10")

    def start(self, number: str, how: str, *words: str) -> str:
        """start 1 clean|unclean [disks=0,2]: another process after this one; clean means that it knows its epoch."""
        broker_id, options = int(number), dict(word.split("=") for word in words)
        if "disks" in options:
            self.disks[broker_id] = [directory_of(broker_id, int(disk)) for disk in options["disks"].split(",")]
        registered = self.world.image.cluster.brokers.get(broker_id)
        epoch = registered.epoch if registered is not None and how == "clean" else -1
        self.incarnations[broker_id] += 1
        self.world.join(
            broker_id,
            incarnation=self.incarnations[broker_id],
            previous_broker_epoch=epoch,
            log_dirs=self.disks[broker_id],
        )
        self.silent.discard(broker_id)
        return ""

    def unregister(self, number: str) -> str:
        self.silent.add(int(number))
        self.world.settle(self.world.controller.unregister_broker(UnregisterBrokerRequest(broker_id=int(number))))
        return ""

    def wait(self, seconds: str) -> str:
        """Time passes, and those who are alive say so."""
        for _ in range(int(seconds)):
            self._beat()
            self.world.loop.advance(1)
            self.world.quorum.commit()
        self._beat()
        return ""

    def _beat(self) -> None:
        for broker in list(self.world.image.cluster.brokers.values()):
            if broker.id not in self.silent and not broker.fenced and not broker.in_controlled_shutdown:
                self.world.heartbeat(broker.id)

    # ------------------------------------------------------------------------------------------------- directories

    def fail(self, number: str, *disks: str) -> str:
        """fail 1 0: the disk 0 of broker 1 fails."""
        broker_id = int(number)
        offline = [directory_of(broker_id, int(disk)) for disk in disks]
        self.world.heartbeat(broker_id, offline_log_dirs=offline)
        return ""

    def cordon(self, number: str, *disks: str) -> str:
        broker_id = int(number)
        self.world.heartbeat(broker_id, cordoned_log_dirs=[directory_of(broker_id, int(disk)) for disk in disks])
        return ""

    def place(self, number: str, partition: str, disk: str) -> str:
        """place 1 orders-0 1|lost|unassigned: broker 1 reports in which directory its replica lies."""
        broker_id, (topic, index) = int(number), self._parse(partition)
        named = {"lost": LOST_DIRECTORY, "unassigned": UNASSIGNED_DIRECTORY}
        directory = named[disk] if disk in named else directory_of(broker_id, int(disk))
        placed = PlacedTopic(topic_id=topic.id, partitions=[PlacedPartition(partition_index=index)])
        request = AssignReplicasToDirsRequest(
            broker_id=broker_id,
            broker_epoch=self.world.image.cluster.brokers[broker_id].epoch,
            directories=[RequestDirectoryData(id=directory, topics=[placed])],
        )
        answer = self.world.settle(self.world.controller.assign_replicas_to_dirs(request))
        return _code(answer.directories[0].topics[0].partitions[0].error_code)

    # ------------------------------------------------------------------------------------------------------ topics

    def create(self, name: str, *words: str) -> str:
        """create orders 1,2,3 2,3,1 [setting=value]: the replicas of each partition."""
        settings = dict(word.split("=") for word in words if "=" in word)
        replicas = [_numbers(word) for word in words if "=" not in word]
        result = self.world.create(name, assignment=dict(enumerate(replicas)), configs=settings)
        return _code(result.error_code)

    def delete(self, name: str) -> str:
        return _code(self.world.delete(name)[0].error_code)

    def isr(self, partition: str, members: str, *words: str) -> str:
        """isr orders-0 1,2 [recovered]: the leader wants this in-sync set."""
        topic, index = self._parse(partition)
        state = topic.partitions[index]
        epochs = {number: broker.epoch for number, broker in self.world.image.cluster.brokers.items()}
        wanted = RequestPartitionData(
            partition_index=index,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            leader_recovery_state=0 if "recovered" in words else state.leader_recovery_state,
            new_isr_with_epochs=[
                BrokerState(broker_id=member, broker_epoch=epochs.get(member, -1)) for member in _numbers(members)
            ],
        )
        request = AlterPartitionRequest(
            broker_id=state.leader,
            broker_epoch=epochs.get(state.leader, -1),
            topics=[RequestTopicData(topic_id=topic.id, partitions=[wanted])],
        )
        answer = self.world.settle(self.world.controller.alter_partition(request, 3))
        return _code(answer.topics[0].partitions[0].error_code)

    def elect(self, kind: str, partition: str) -> str:
        name, _, index = partition.rpartition("-")
        asked = [TopicPartitions(topic=name, partitions=[int(index)])]
        request = ElectLeadersRequest(election_type=ELECTIONS[kind], topic_partitions=asked)
        answer = self.world.settle(self.world.controller.elect_leaders(request))
        return _code(answer.replica_election_results[0].partition_result[0].error_code)

    def reassign(self, partition: str, replicas: str, *words: str) -> str:
        """reassign orders-0 3,4 [same-factor]"""
        return self._reassign(partition, _numbers(replicas), "same-factor" not in words)

    def cancel(self, partition: str) -> str:
        return self._reassign(partition, None, True)

    def _reassign(self, partition: str, replicas: list[int] | None, may_change_factor: bool) -> str:
        name, _, index = partition.rpartition("-")
        wanted = ReassignablePartition(partition_index=int(index), replicas=replicas)
        request = AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name=name, partitions=[wanted])],
            allow_replication_factor_change=may_change_factor,
        )
        answer = self.world.settle(self.world.controller.alter_partition_reassignments(request))
        return _code(answer.responses[0].partitions[0].error_code)

    def reassignments(self) -> str:
        request = ListPartitionReassignmentsRequest(topics=None)
        answer = self.world.settle(self.world.controller.list_partition_reassignments(request))
        return "\n".join(
            f"{topic.name}-{row.partition_index} adds {row.adding_replicas} removes {row.removing_replicas}"
            for topic in answer.topics
            for row in topic.partitions
        )

    # ---------------------------------------------------------------------------------------------------- settings

    def configure(self, what: str, setting: str) -> str:
        """configure orders|cluster|1 setting=value; an empty value takes the setting back."""
        name, _, value = setting.partition("=")
        kind = ResourceType.BROKER if what == "cluster" or what.isdigit() else ResourceType.TOPIC
        operation = Operation.SET if value else Operation.DELETE
        resource = ConfigResource(kind, "" if what == "cluster" else what)
        change = ResourceChange(resource, [Change(name, operation, value or None)])
        answer = self.world.controller.incremental_alter_configs([change], validate_only=False)
        [(_, error)] = self.world.settle(answer)
        self.world.loop.run()
        self.world.quorum.commit()
        return "" if error is None else error.code.name

    def feature(self, name: str, level: str, kind: str = "upgrade", *words: str) -> str:
        """feature eligible.leader.replicas.version 1 [upgrade|safe|unsafe] [only-checked]"""
        update = FeatureUpdateKey(feature=name, max_version_level=int(level), upgrade_type=UPGRADES[kind])
        request = UpdateFeaturesRequest(feature_updates=[update], validate_only="only-checked" in words)
        return _code(self.world.settle(self.world.controller.update_features(request, 2)).error_code)

    def _parse(self, partition: str) -> tuple[TopicImage, int]:
        name, _, index = partition.rpartition("-")
        return self.world.image.topics.by_name[name], int(index)

    def state(self, partition: str) -> PartitionRegistration:
        topic, index = self._parse(partition)
        return topic.partitions[index]


def play(text: str, story: Story | None = None) -> str:
    """The same text with what really happens."""
    story = Story() if story is None else story
    lines: list[str] = []
    before: Sequence[str] = ()
    for line in text.strip().splitlines():
        if line.startswith(" "):
            continue
        lines.append(line)
        if not line or line.startswith("#"):
            continue
        word, *arguments = line.split()
        happen: Any = getattr(story, word)
        try:
            said = happen(*arguments)
        except KafkaError as error:
            said = error.code.name
        after = show(story.world.image).splitlines()
        shown = [row for row in after if row not in before and not (word == "broker" and row.startswith("broker"))]
        lines += [f"    {row}" for row in [*said.splitlines(), *shown]]
        before = after
    return "\n".join(lines)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _code(code: int) -> str:
    return "" if code == 0 else ErrorCode(code).name
