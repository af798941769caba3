"""How metadata records lie in the log."""

from __future__ import annotations

import pytest

from moldau.errors import MoldauError
from moldau.metadata.records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataError,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    decode_record,
    encode_record,
    versioned,
)


def test_the_frame_is_kafkas() -> None:
    record = FeatureLevelRecord(name="metadata.version", feature_level=30)
    # Frame version, type 12, version 0, then the body: a compact string, an int16, no tagged fields.
    assert encode_record(versioned(record, 30)) == b"\x01\x0c\x00" + b"\x11metadata.version" + b"\x00\x1e" + b"\x00"


def test_a_record_comes_back() -> None:
    topic = TopicRecord(name="orders", topic_id=bytes(range(16)))
    decoded = decode_record(encode_record(versioned(topic, 30)))
    assert decoded is not None
    assert decoded.message == topic
    removal = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value=None)
    assert decode_record(memoryview(encode_record(versioned(removal, 30)))) == (removal, 0)


@pytest.mark.parametrize(
    ("metadata_version", "partition", "broker", "change"),
    [(7, 0, 1, 1), (8, 0, 2, 1), (17, 1, 3, 2), (22, 1, 3, 2), (23, 2, 3, 2), (30, 2, 4, 3)],
)
def test_record_versions_follow_the_metadata_version(
    metadata_version: int, partition: int, broker: int, change: int
) -> None:
    assert versioned(PartitionRecord(), metadata_version).version == partition
    assert versioned(RegisterBrokerRecord(), metadata_version).version == broker
    assert versioned(BrokerRegistrationChangeRecord(), metadata_version).version == change
    assert versioned(TopicRecord(), metadata_version).version == 0


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (b"\x02\x0c\x00", "frame version 2"),
        (b"\x01\x63\x00", "records of type 99"),
        (b"\x01\x02\x07", "TopicRecord of version 7"),
    ],
)
def test_what_is_not_understood_is_not_skipped(value: bytes, sentence: str) -> None:
    with pytest.raises(MetadataError, match=sentence):
        decode_record(value)


def test_the_mark_of_a_cluster_without_zookeeper_says_nothing() -> None:
    assert decode_record(b"\x01\x15\x00\x00\x00") is None


@pytest.mark.parametrize(
    "value", [b"", b"\x01", b"\x01\x02", b"\xff\xff\xff\xff\xff\xff", b"\x01\x02\x00", b"\x01\x02\x00\x05a"]
)
def test_damaged_values_are_refused(value: bytes) -> None:
    with pytest.raises(MoldauError):
        decode_record(value)
