"""Images and deltas: what changes is new, what does not is shared, and nothing that was handed out ever moves."""

from __future__ import annotations

import pytest
from controller_kit import World

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, LOST_DIRECTORY, UNASSIGNED_DIRECTORY, ResourceType
from moldau.metadata.records import (
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataError,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from moldau.metadata.snapshot_records import image_records
from moldau.slicing import run_whole
from moldau.types import TopicPartition

ORDERS = b"orders-topic-id."


def _small() -> MetadataDelta:
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(FeatureLevelRecord(name="metadata.version", feature_level=30))
    delta.replay(RegisterBrokerRecord(broker_id=1, broker_epoch=5, log_dirs=[b"d" * 16]))
    delta.replay(TopicRecord(name="orders", topic_id=ORDERS))
    delta.replay(ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1"))
    delta.replay(
        PartitionRecord(
            partition_id=0,
            topic_id=ORDERS,
            replicas=[1, 2],
            isr=[1, 2],
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            directories=[UNASSIGNED_DIRECTORY, LOST_DIRECTORY],
        )
    )
    return delta


def test_an_image_does_not_change_when_the_next_one_is_made() -> None:
    first = _small().apply(4, 1)
    before = first.topics.partition("orders", 0)
    delta = MetadataDelta(first)
    delta.replay(PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=2, isr=[2]))
    delta.replay(ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="2"))
    second = delta.apply(6, 1)
    assert first.topics.partition("orders", 0) == before
    assert first.configs.topic("orders") == {"retention.ms": "1"}
    changed = second.topics.partition("orders", 0)
    assert changed is not None
    assert (changed.leader, changed.leader_epoch, changed.partition_epoch, changed.isr) == (2, 1, 1, (2,))
    assert second.configs.topic("orders") == {"retention.ms": "2"}
    assert (second.offset, second.epoch) == (6, 1)


def test_parts_that_did_not_change_are_shared() -> None:
    first = _small().apply(4, 1)
    delta = MetadataDelta(first)
    delta.replay(NoOpRecord())
    assert delta.is_empty
    second = delta.apply(5, 1)
    assert second.topics is first.topics
    assert second.cluster is first.cluster
    assert second.configs is first.configs
    assert second.features is first.features


def test_a_change_of_one_topic_shares_the_others() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.create(name, 1, 1)
    before = world.image
    world.create("d", 1, 1)
    assert all(world.image.topics.by_name[name] is before.topics.by_name[name] for name in ("a", "b", "c"))


def test_a_leader_that_stays_keeps_its_epoch() -> None:
    delta = _small()
    delta.replay(PartitionChangeRecord(partition_id=0, topic_id=ORDERS, isr=[1]))
    state = delta.apply(9, 1).topics.partition("orders", 0)
    assert state is not None
    assert (state.leader_epoch, state.partition_epoch) == (0, 1)


def test_a_topic_leaves_with_its_settings_and_may_come_back_in_the_same_delta() -> None:
    delta = MetadataDelta(_small().apply(4, 1))
    delta.replay(RemoveTopicRecord(topic_id=ORDERS))
    delta.replay(TopicRecord(name="orders", topic_id=b"another-topic-id"))
    image = delta.apply(6, 1)
    assert image.topics.by_id(ORDERS) is None
    assert image.topics.by_name["orders"].id == b"another-topic-id"
    assert not image.configs.topic("orders")
    assert list(delta.topics.deleted) == [ORDERS]


def test_a_topic_that_was_never_seen_is_not_reported_as_deleted() -> None:
    delta = _small()
    delta.replay(RemoveTopicRecord(topic_id=ORDERS))
    assert not delta.topics.deleted
    image = delta.apply(6, 1)
    assert not image.topics.by_name
    assert not image.configs.resources


def test_brokers_are_fenced_unfenced_and_forgotten() -> None:
    delta = _small()
    delta.replay(UnfenceBrokerRecord(id=1, epoch=5))
    image = delta.apply(6, 1)
    assert [broker.id for broker in image.cluster.alive()] == [1]
    delta = MetadataDelta(image)
    delta.replay(FenceBrokerRecord(id=1, epoch=5))
    assert delta.apply(7, 1).cluster.brokers[1].fenced
    delta.replay(UnregisterBrokerRecord(broker_id=1, broker_epoch=5))
    assert not delta.apply(8, 1).cluster.brokers


def test_records_that_do_not_fit_are_refused() -> None:
    for record in (
        RemoveTopicRecord(topic_id=b"x" * 16),
        PartitionRecord(topic_id=b"x" * 16),
        PartitionChangeRecord(partition_id=9, topic_id=ORDERS),
        UnfenceBrokerRecord(id=1, epoch=4),
        UnregisterBrokerRecord(broker_id=2),
    ):
        with pytest.raises(MetadataError):
            _small().replay(record)


def test_clearing_the_eligible_leaders() -> None:
    delta = _small()
    delta.replay(
        PartitionChangeRecord(partition_id=0, topic_id=ORDERS, eligible_leader_replicas=[2], last_known_elr=[1])
    )
    delta.replay(ClearElrRecord(topic_name="other"))
    state = delta.apply(8, 1).topics.partition("orders", 0)
    assert state is not None
    assert (state.elr, state.last_known_elr) == ((2,), (1,))
    delta.replay(ClearElrRecord(topic_name=""))
    state = delta.apply(9, 1).topics.partition("orders", 0)
    assert state is not None
    assert (state.elr, state.last_known_elr) == ((), ())


def test_what_a_delta_means_for_one_broker() -> None:
    world = World(brokers=(1, 2, 3))
    world.create("led", assignment={0: [1, 2]})
    world.create("gone", assignment={0: [2, 1]})
    base = world.image
    delta = MetadataDelta(base)
    led, gone = base.topics.by_name["led"].id, base.topics.by_name["gone"].id
    delta.replay(PartitionChangeRecord(partition_id=0, topic_id=led, leader=2, isr=[2]))
    delta.replay(RemoveTopicRecord(topic_id=gone))
    delta.replay(TopicRecord(name="new", topic_id=b"n" * 16))
    delta.replay(
        PartitionRecord(partition_id=0, topic_id=b"n" * 16, replicas=[1], isr=[1], leader=1, directories=[bytes(16)])
    )

    def names(broker: int) -> list[list[str]]:
        return [[str(part.topic_partition) for part in parts] for parts in delta.topics.local_changes(broker)]

    assert names(1) == [["new-0"], ["led-0"], []]
    assert names(2) == [["led-0"], [], []]
    assert names(3) == [[], [], []]
    assert delta.topics.local_changes(1, apart_from=[b"n" * 16]).leads == []
    assert [topic.name for topic in delta.topics.deleted.values()] == ["gone"]
    moved = MetadataDelta(base)
    moved.replay(PartitionChangeRecord(partition_id=0, topic_id=led, replicas=[3, 2], leader=2, isr=[2]))
    assert [part.topic_partition for part in moved.topics.local_changes(1).drops] == [TopicPartition("led", 0)]


def test_an_image_can_be_rebuilt_from_its_records() -> None:
    world = World(brokers=(1, 2, 3))
    world.create("orders", 3, 2, configs={"retention.ms": "7", "cleanup.policy": "compact"})
    world.create("payments", 1, 3)
    world.heartbeat(3, want_fence=True)
    world.settle(world.controller.allocate_producer_ids(1, world.image.cluster.brokers[1].epoch))
    rebuilt = MetadataDelta(EMPTY_IMAGE)
    for record in image_records(world.image):
        rebuilt.replay(record)
    assert rebuilt.apply(world.image.offset, world.image.epoch).same_content(world.image)
    # Replayed onto an image that knows other things, a snapshot replaces all of them.
    other = World(brokers=(1, 4), seed=1)
    other.create("elsewhere", 2, 1, configs={"retention.ms": "8"})
    other.create("orders", 9, 1, configs={"retention.ms": "8", "max.message.bytes": "9"})
    onto = MetadataDelta(other.image, is_snapshot=True)
    for record in image_records(world.image):
        onto.replay(record)
    run_whole(onto.finish_snapshot())
    image = onto.apply(world.image.offset, world.image.epoch)
    assert image.same_content(world.image)
    assert not image.configs.of(ResourceType.TOPIC, "elsewhere")
    assert {topic.name for topic in onto.topics.deleted.values()} == {"elsewhere", "orders"}
    # What it finds as it was is no change.
    again = MetadataDelta(image, is_snapshot=True)
    world.create("more", 1, 1)
    for record in image_records(world.image):
        again.replay(record)
    run_whole(again.finish_snapshot())
    assert [topic.name for topic in again.topics.changed.values()] == ["more"]
    assert again.apply(world.image.offset, world.image.epoch).same_content(world.image)
