"""A group coordinator on the in-memory log: one partition of `__consumer_offsets`, topics as a test wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator_world import FakeTime, Hurry, MemoryLog, PatientWorkers, SeededRandom
from share_state_store import ShareStates

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.coordinator import GroupCoordinator
from moldau.coordinator.group.record_types import OFFSETS_TOPIC
from moldau.coordinator.group.requests import RequestInfo
from moldau.coordinator.group.shard import GroupShard
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.feature_level_record import FeatureLevelRecord
from moldau.protocol.messages.partition_record import PartitionRecord
from moldau.protocol.messages.remove_topic_record import RemoveTopicRecord
from moldau.protocol.messages.topic_record import TopicRecord
from moldau.slicing import Slicer
from moldau.types import TopicPartition

OFFSETS = TopicPartition(OFFSETS_TOPIC, 0)

# A group is assigned anew whenever something changes, unless a test wants otherwise.
SETTINGS = {
    "log.dirs": "/unused",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}


class GroupWorld:
    """With `hurry` whatever can be left for a while is left at once, and goes on in the next turn."""

    def __init__(self, settings: Mapping[str, str] | None = None, seed: int = 1, *, hurry: bool = False) -> None:
        self.time = FakeTime()
        self.slicer = Slicer(self.time, Hurry() if hurry else self.time)
        self.log = MemoryLog()
        self.config = BrokerConfig.parse({**SETTINGS, **(settings or {})})
        self.random = SeededRandom(seed)
        self.workers = PatientWorkers(self.time)
        self.image = MetadataImage()
        self.epoch = 0
        self._topic_number = 0
        self.shares = ShareStates()
        self.groups = self._start()
        features = ("group.version", "share.version", "streams.version")
        self.change([FeatureLevelRecord(name=name, feature_level=1) for name in features])
        self.create_topic(OFFSETS_TOPIC, 1)
        self.reload()

    def _start(self) -> GroupCoordinator:
        groups = GroupCoordinator(self.config, self.log, self.time, self.time, self.random, self.workers, self.slicer)
        groups.shares.connect(self.shares, self.shares.end_offsets)
        return groups

    @property
    def shard(self) -> GroupShard:
        return next(shard for _, shard, _ in self.groups.runtime.shards())

    def info(self, version: int, client_id: str = "client") -> RequestInfo:
        return self.groups.info(client_id, "/127.0.0.1", version)

    def reload(self) -> None:
        """The broker loses the partition and gets it back: all that is left is what is in the log."""
        self.epoch += 1
        self.groups.load(0, self.epoch)
        self.time.settle()

    # ---------------------------------------------------------------------------------------------------- metadata

    def change(self, records: list[Any]) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.offset + 1, 1)
        self.groups.on_image(delta, self.image)

    def create_topics(self, count: int, partitions: int = 1) -> list[str]:
        """Their names."""
        names, records = [], []
        for _ in range(count):
            self._topic_number += 1
            topic_id = self._topic_number.to_bytes(16, "big")
            names.append(f"topic-{self._topic_number}")
            records += [TopicRecord(name=names[-1], topic_id=topic_id), *_partitions(topic_id, 0, partitions)]
        self.change(records)
        return names

    def create_topic(self, name: str, partitions: int) -> None:
        self._topic_number += 1
        topic_id = self._topic_number.to_bytes(16, "big")
        self.change([TopicRecord(name=name, topic_id=topic_id), *_partitions(topic_id, 0, partitions)])

    def add_partitions(self, name: str, count: int) -> None:
        topic = self.image.topics.by_name[name]
        self.change(_partitions(topic.id, len(topic.partitions), count))

    def delete_topic(self, name: str) -> None:
        self.change([RemoveTopicRecord(topic_id=self.image.topics.by_name[name].id)])


def _partitions(topic_id: bytes, first: int, count: int) -> list[PartitionRecord]:
    return [
        PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[1], isr=[1], leader=1)
        for index in range(first, count)
    ]
