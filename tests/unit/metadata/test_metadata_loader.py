"""The loader: one image per burst, publishers in order, transactions all or nothing."""

from __future__ import annotations

import pytest

from moldau.metadata.committed import CommittedBatch
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    Message,
    MetadataError,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from moldau.metadata.snapshot_records import image_records


class Follower:
    def __init__(self, broken: bool = False) -> None:
        self.images: list[MetadataImage] = []
        self.created: list[list[str]] = []
        self._broken = broken

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.images.append(image)
        self.created.append([topic.name for topic in delta.topics.changed.values()])
        if self._broken:
            raise RuntimeError("cannot follow")


def _batch(offset: int, *records: Message) -> CommittedBatch:
    return CommittedBatch(offset, offset + len(records) - 1, 1, 99, records)


def _topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


def test_a_burst_of_batches_is_published_once() -> None:
    loader, follower = MetadataLoader(), Follower()
    loader.add_publisher(follower)
    loader.on_commit(_batch(0, _topic("a")), more=True)
    loader.on_commit(_batch(1, _topic("b"), _topic("c")), more=True)
    assert follower.images == []
    loader.on_commit(_batch(3, _topic("d")), more=False)
    assert follower.created == [["a", "b", "c", "d"]]
    assert (loader.image.offset, loader.image.epoch, loader.image.timestamp) == (3, 1, 99)


def test_what_a_late_publisher_is_told_is_the_image_itself_and_not_made_anew() -> None:
    loader = MetadataLoader()
    topic = _topic("a")
    partitions = [
        PartitionRecord(partition_id=index, topic_id=topic.topic_id, replicas=[1], isr=[1], leader=1)
        for index in range(3)
    ]
    setting = ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value="1")
    broker = RegisterBrokerRecord(broker_id=1, incarnation_id=bytes(16), broker_epoch=5)
    others = [FeatureLevelRecord(name="metadata.version", feature_level=20), ProducerIdsRecord(next_producer_id=1000)]
    loader.on_commit(_batch(0, topic, *partitions, setting, broker, *others), more=False)
    image = loader.image
    delta = MetadataDelta.whole(image)
    assert delta.apply(image.offset, image.epoch).same_content(image)
    by_records = MetadataDelta(EMPTY_IMAGE)
    for record in image_records(image):
        by_records.replay(record)
    assert by_records.apply(image.offset, image.epoch).same_content(image)
    assert delta.topics.local_changes(1) == by_records.topics.local_changes(1)
    assert list(delta.config_changes()) == list(by_records.config_changes())
    assert delta.topics.changed[topic.topic_id].partitions is image.topics.by_name["a"].partitions


def test_a_publisher_that_comes_late_is_told_everything() -> None:
    loader, follower = MetadataLoader(), Follower()
    loader.on_commit(_batch(0, _topic("a"), _topic("b")), more=False)
    loader.add_publisher(follower)
    assert follower.created == [["a", "b"]]
    assert follower.images == [loader.image]


def test_a_publisher_that_fails_does_not_stop_the_others() -> None:
    faults: list[BaseException] = []
    loader, broken, healthy = MetadataLoader(faults.append), Follower(broken=True), Follower()
    loader.add_publisher(broken)
    loader.add_publisher(healthy)
    loader.on_commit(_batch(0, _topic("a")), more=False)
    assert healthy.created == [["a"]]
    assert [str(fault) for fault in faults] == ["cannot follow"]


def test_a_transaction_shows_when_it_has_ended() -> None:
    loader, follower = MetadataLoader(), Follower()
    loader.add_publisher(follower)
    loader.on_commit(_batch(0, _topic("before"), BeginTransactionRecord(), _topic("inside")), more=False)
    # No image inside a transaction: it would stand at an offset whose records it lacks.
    assert follower.images == []
    loader.on_commit(_batch(3, EndTransactionRecord(), _topic("after")), more=False)
    assert follower.created == [["before", "inside", "after"]]


def test_an_aborted_transaction_never_happened() -> None:
    loader = MetadataLoader()
    loader.on_commit(_batch(0, BeginTransactionRecord(), _topic("inside")), more=False)
    loader.on_commit(_batch(2, AbortTransactionRecord(), _topic("after")), more=False)
    assert set(loader.image.topics.by_name) == {"after"}
    with pytest.raises(MetadataError):
        loader.on_commit(_batch(4, EndTransactionRecord()), more=False)


@pytest.mark.parametrize("ends_with", [EndTransactionRecord, AbortTransactionRecord])
def test_a_transaction_of_its_own_batches_is_applied_as_it_comes(ends_with: type[Message]) -> None:
    loader, follower = MetadataLoader(), Follower()
    loader.add_publisher(follower)
    loader.on_commit(_batch(0, _topic("before")), more=True)
    loader.on_commit(_batch(1, BeginTransactionRecord(name="large"), _topic("a")), more=True)
    # What came before has an image of its own, and there is nothing to hold back.
    assert follower.created == [["before"]]
    assert loader.image.offset == 0
    assert [topic.name for topic in loader._delta.topics.changed.values()] == ["a"]
    loader.on_commit(_batch(3, _topic("b")), more=False)
    assert follower.created == [["before"]]
    loader.on_commit(_batch(4, ends_with(), _topic("after")), more=False)
    whole = ends_with is EndTransactionRecord
    assert follower.created[1:] == [["a", "b", "after"] if whole else ["after"]]
    assert loader.image.offset == 5
    # The next one is held back again where it does not stand at the beginning of a batch.
    loader.on_commit(_batch(6, _topic("c"), BeginTransactionRecord(name="small"), _topic("d")), more=False)
    loader.on_commit(_batch(9, AbortTransactionRecord()), more=False)
    assert follower.created[2:] == [["c"]]
