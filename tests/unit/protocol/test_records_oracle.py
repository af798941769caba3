"""Batches against the codecs of kafka-python and aiokafka, in both directions, with every codec."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_oracles import AiokafkaBatch, AiokafkaBuilder, KafkaPythonBatch, KafkaPythonBuilder

from moldau.protocol.records import (
    Compression,
    TimestampType,
    assign_offsets,
    decode_batch,
    encode_batch,
    read_header,
    scan_batches,
    validate_batch,
)

CODECS = list(Compression)
BYTES = st.none() | st.binary(max_size=30) | st.integers(1, 3000).map(bytes)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3)
TIMESTAMPS = st.integers(0, 2**41)
RECORDS = st.lists(st.tuples(TIMESTAMPS, BYTES, BYTES, HEADERS), min_size=1, max_size=10)


def seen(batch: Any) -> list[tuple[Any, ...]]:
    return [(one.offset, one.timestamp, one.key, one.value, list(one.headers)) for one in batch]


@given(records=RECORDS, codec=st.sampled_from(CODECS), base_offset=st.integers(0, 2**50), transactional=st.booleans())
@settings(max_examples=80, deadline=None)
def test_what_we_write_they_read(records: list[Any], codec: int, base_offset: int, transactional: bool) -> None:
    data = encode_batch(
        records,
        base_offset=base_offset,
        compression=codec,
        is_transactional=transactional,
        producer_id=5,
        producer_epoch=6,
        base_sequence=7,
    )
    expected = [(base_offset + number, *record) for number, record in enumerate(records)]
    for reader in (KafkaPythonBatch(data), AiokafkaBatch(data)):
        assert reader.validate_crc()
        assert reader.is_transactional == transactional
        assert (reader.producer_id, reader.producer_epoch, reader.base_sequence) == (5, 6, 7)
        assert reader.max_timestamp == max(record[0] for record in records)
        assert seen(reader) == expected


@given(records=RECORDS, codec=st.sampled_from(CODECS), base_offset=st.integers(0, 2**50))
@settings(max_examples=80, deadline=None)
def test_what_they_write_we_read(records: list[Any], codec: int, base_offset: int) -> None:
    for builder in (
        KafkaPythonBuilder(2, int(codec), False, 5, 6, 7, 1 << 20),
        AiokafkaBuilder(2, int(codec), 0, 5, 6, 7, 1 << 20),
    ):
        for number, (timestamp, key, value, headers) in enumerate(records):
            assert builder.append(number, timestamp, key, value, headers) is not None
        data = bytearray(builder.build())
        assert assign_offsets(data, 0, len(data), base_offset, 4) == base_offset + len(records)
        (header,) = scan_batches(data)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 6, 7)
        expected = [(base_offset + number, *record) for number, record in enumerate(records)]
        assert seen(decode_batch(data)) == expected
        summary = validate_batch(header, data, 0)
        assert summary.records == len(records)
        assert summary.max_timestamp == header.max_timestamp == max(record[0] for record in records)


@pytest.mark.parametrize("codec", CODECS)
def test_large_batches(codec: int) -> None:
    """Beyond one block of every codec."""
    records = [(n, b"%d" % n, b"some value %d" % (n * 7919 % 1000) * 5, []) for n in range(5000)]
    data = encode_batch(records, compression=codec)
    expected = [(number, *record) for number, record in enumerate(records)]
    assert seen(KafkaPythonBatch(data)) == seen(AiokafkaBatch(data)) == expected
    builder = AiokafkaBuilder(2, int(codec), 0, -1, -1, -1, 1 << 22)
    for number, record in enumerate(records):
        builder.append(number, *record)
    data = bytes(builder.build())
    assert read_header(data).compression == codec
    assert seen(decode_batch(data)) == expected


def test_uncompressed_bytes_are_identical() -> None:
    """There is one way to write a record, so all writers give the same bytes."""
    records = [(100 + n % 3, b"k%d" % n, None if n % 4 == 1 else b"v" * n, [("h", b"x")]) for n in range(300)]
    ours = encode_batch(records, partition_leader_epoch=0)
    builder = KafkaPythonBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    for number, record in enumerate(records):
        builder.append(number, *record)
    assert ours == bytes(builder.build())


def test_the_broker_s_time_they_see() -> None:
    data = encode_batch(
        [(5, None, b"v", []), (9, None, b"w", [])],
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        max_timestamp=1234,
    )
    for reader in (KafkaPythonBatch(data), AiokafkaBatch(data)):
        assert [one[1] for one in seen(reader)] == [1234, 1234]


def test_control_batches_they_see() -> None:
    data = encode_batch([(5, b"\0\0\0\1", b"\0\0\0\0\0\3", [])], is_control=True, is_transactional=True)
    for reader in (KafkaPythonBatch(data), AiokafkaBatch(data)):
        assert reader.is_control_batch
        assert reader.is_transactional
