"""Changes of topics and partitions, and what they mean for one broker."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple, cast

from moldau.metadata.image import PartitionRegistration, TopicImage, TopicsImage
from moldau.metadata.partition_registration import partition_from_record
from moldau.metadata.records import MetadataError, PartitionChangeRecord, PartitionRecord
from moldau.slicing import Work, pieces
from moldau.types import TopicPartition, Uuid, uuid_to_text


class LocalPartition(NamedTuple):
    topic_partition: TopicPartition
    topic_id: Uuid
    state: PartitionRegistration


class LocalChanges(NamedTuple):
    """What one broker has to do: partitions it leads now, follows now, and no longer holds.

    `leads` and `follows` also contain a partition whose role stays the same but whose state changed (a new in-sync
    set, a new epoch): the partition itself sees what is different.
    """

    leads: list[LocalPartition]
    follows: list[LocalPartition]
    # The topic id says whose replica it was: a topic of the same name may have been created in the same delta.
    drops: list[LocalPartition]


class TopicDelta:
    """One topic that was created or changed."""

    __slots__ = ("base", "id", "name", "partitions")

    def __init__(
        self,
        name: str,
        topic_id: Uuid,
        base: TopicImage | None,
        partitions: Mapping[int, PartitionRegistration] | None = None,
    ) -> None:
        self.name = name
        self.id = topic_id
        # None when the topic was created in this delta.
        self.base = base
        # The new state of every partition that changed.
        self.partitions = {} if partitions is None else cast("dict[int, PartitionRegistration]", partitions)

    @property
    def is_new(self) -> bool:
        return self.base is None

    def partition(self, index: int) -> PartitionRegistration | None:
        changed = self.partitions.get(index)
        return changed if changed is not None or self.base is None else self.base.partitions.get(index)

    def held_by(self, broker_id: int, index: int) -> bool:
        """Whether the broker had a replica before the delta."""
        before = None if self.base is None else self.base.partitions.get(index)
        return before is not None and broker_id in before.replicas

    def apply(self) -> TopicImage:
        if self.base is None:
            return TopicImage(self.name, self.id, self.partitions)
        if not self.partitions:
            return self.base
        return TopicImage(self.name, self.id, {**self.base.partitions, **self.partitions})


class TopicsDelta:
    __slots__ = ("base", "changed", "deleted", "removed")

    def __init__(self, base: TopicsImage) -> None:
        self.base = base
        self.changed: dict[Uuid, TopicDelta] = {}
        # Topics of the base image that are gone.
        self.deleted: dict[Uuid, TopicImage] = {}
        # All that a record removed, also those that had come with an earlier record of the same delta.
        self.removed: set[Uuid] = set()

    @property
    def is_changed(self) -> bool:
        return bool(self.changed or self.deleted)

    def create(self, name: str, topic_id: Uuid) -> None:
        # A topic that exists may be mentioned again by a snapshot.
        self.changed[topic_id] = TopicDelta(name, topic_id, self.base.ids.get(topic_id))

    def remove(self, topic_id: Uuid) -> str:
        """Removes the topic; its name."""
        self.removed.add(topic_id)
        created = self.changed.pop(topic_id, None)
        existing = self.base.ids.get(topic_id)
        if existing is not None and topic_id not in self.deleted:
            self.deleted[topic_id] = existing
            return existing.name
        if created is None:
            raise MetadataError(f"the metadata log removes the topic {uuid_to_text(topic_id)}, which does not exist")
        return created.name

    def set_partition(self, record: PartitionRecord) -> None:
        self._topic(record.topic_id).partitions[record.partition_id] = partition_from_record(record)

    def change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self._topic(record.topic_id)
        current = topic.partition(record.partition_id)
        if current is None:
            raise MetadataError(f"the metadata log changes {topic.name}-{record.partition_id}, which does not exist")
        topic.partitions[record.partition_id] = current.merge(record)

    def clear_elr(self, name: str) -> None:
        """Forgets the eligible leaders of a topic, or of all topics for an empty name."""
        known = {topic_id: topic.name for topic_id, topic in self.base.ids.items() if topic_id not in self.deleted}
        known.update((topic_id, topic.name) for topic_id, topic in self.changed.items())
        for topic_id, topic_name in known.items():
            if name and topic_name != name:
                continue
            topic = self._topic(topic_id)
            base = {} if topic.base is None else topic.base.partitions
            for index, state in {**base, **topic.partitions}.items():
                if state.elr or state.last_known_elr:
                    topic.partitions[index] = state.without_eligible()

    def finish_snapshot(self) -> Work[None]:
        """What was not mentioned is gone, and what is as it was is no change: nobody has to look at it again."""
        for piece in pieces(self.base.ids.items()):
            for topic_id, topic in piece:
                mentioned = self.changed.get(topic_id)
                if mentioned is None:
                    self.deleted[topic_id] = topic
                elif mentioned.partitions == topic.partitions:
                    del self.changed[topic_id]
            yield

    def apply(self) -> TopicsImage:
        if not self.is_changed:
            return self.base
        by_name, ids = dict(self.base.by_name), dict(self.base.ids)
        for topic_id, gone in self.deleted.items():
            del ids[topic_id]
            del by_name[gone.name]
        for topic_id, topic in self.changed.items():
            by_name[topic.name] = ids[topic_id] = topic.apply()
        return TopicsImage(by_name, ids)

    def local_changes(self, broker_id: int, apart_from: Container[Uuid] = ()) -> LocalChanges:
        """What the delta means for the replicas of one broker, apart from topics that are gone altogether and those
        that are named."""
        changes = LocalChanges([], [], [])
        for topic in self.changed.values():
            if topic.id in apart_from:
                continue
            for index, state in topic.partitions.items():
                here = LocalPartition(TopicPartition(topic.name, index), topic.id, state)
                if state.leader == broker_id:
                    changes.leads.append(here)
                elif broker_id in state.replicas:
                    changes.follows.append(here)
                elif topic.held_by(broker_id, index):
                    changes.drops.append(here)
        return changes

    def _topic(self, topic_id: Uuid) -> TopicDelta:
        topic = self.changed.get(topic_id)
        if topic is None:
            base = None if topic_id in self.deleted else self.base.ids.get(topic_id)
            if base is None:
                raise MetadataError(
                    f"the metadata log changes the topic {uuid_to_text(topic_id)}, which does not exist"
                )
            topic = self.changed[topic_id] = TopicDelta(base.name, topic_id, base)
        return topic
