"""Headers, the walk over batches, and what a broker writes into them: the same cases for both twins."""

from __future__ import annotations

from struct import pack_into
from typing import Any

import pytest

from moldau._speed.faults import Fault, fault
from moldau.errors import InvalidRecordError, ProtocolError


def batch(speed: Any, count: int = 3, **fields: Any) -> bytearray:
    writer = speed.RecordWriter()
    for number in range(count):
        writer.append(1000 + number, b"key", b"value %d" % number)
    return bytearray(writer.pack(**fields))


def sealed(speed: Any, data: bytearray) -> bytearray:
    """With the checksum made to fit, so that what lies behind it is judged."""
    pack_into(">I", data, 17, speed.crc32c(data, 21))
    return data


def test_all_fields(speed: Any) -> None:
    data = batch(
        speed,
        base_offset=77,
        partition_leader_epoch=5,
        attributes=0x10,
        producer_id=1 << 40,
        producer_epoch=12,
        base_sequence=900,
    )
    (header,) = speed.scan_batches(data)
    assert header == speed.read_header(data)
    assert hash(header) == hash(speed.read_header(data))
    assert (header.base_offset, header.last_offset_delta, header.count) == (77, 2, 3)
    assert (header.last_offset, header.next_offset, header.last_sequence) == (79, 80, 902)
    assert (header.size, header.length, header.magic) == (len(data), len(data) - 12, 2)
    assert header.crc == speed.crc32c(data, 21)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1002)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1 << 40, 12, 900)
    assert header.partition_leader_epoch == 5
    assert repr(header).startswith("BatchHeader(base_offset=77, length=")
    assert header != speed.read_header(batch(speed))


@pytest.mark.parametrize(
    ("attributes", "compression", "timestamp_type", "transactional", "control", "horizon"),
    [
        (0x00, 0, 0, False, False, False),
        (0x04, 4, 0, False, False, False),
        (0x0B, 3, 1, False, False, False),
        (0x30, 0, 0, True, True, False),
        (0x40, 0, 0, False, False, True),
    ],
)
def test_attributes(
    speed: Any,
    attributes: int,
    compression: int,
    timestamp_type: int,
    transactional: bool,
    control: bool,
    horizon: bool,
) -> None:
    header = speed.read_header(batch(speed, attributes=attributes))
    assert header.compression == compression
    assert header.timestamp_type == timestamp_type
    assert header.is_transactional is transactional
    assert header.is_control is control
    assert header.has_delete_horizon is horizon


@pytest.mark.parametrize(("base", "last"), [(-1, -1), (0, 2), (2**31 - 1, 1), (2**31 - 2, 0), (2**31 - 3, 2**31 - 1)])
def test_sequences_wrap(speed: Any, base: int, last: int) -> None:
    assert speed.read_header(batch(speed, base_sequence=base)).last_sequence == last


def test_several_batches_in_a_range(speed: Any) -> None:
    first, second = batch(speed, 1), batch(speed, 5, base_offset=1)
    data = b"??" + first + second + b"!!!"
    headers = speed.scan_batches(data, 2, 2 + len(first) + len(second))
    assert [header.count for header in headers] == [1, 5]
    assert speed.scan_batches(data, 2, 2) == []


def test_a_cut_end(speed: Any) -> None:
    first, second = batch(speed, 1), batch(speed, 5)
    for cut in range(1, len(second)):
        data = first + second[:cut]
        assert len(speed.scan_batches(data, allow_partial=True)) == 1
        with pytest.raises(ProtocolError, match=rf"end inside the record batch \(position {len(first)}\)"):
            speed.scan_batches(data)


def test_a_wrong_checksum(speed: Any) -> None:
    data = batch(speed)
    data[-1] ^= 1
    with pytest.raises(ProtocolError, match="checksum"):
        speed.scan_batches(data)
    assert len(speed.scan_batches(data, check_crc=False)) == 1
    with pytest.raises(ProtocolError, match="checksum"):
        speed.scan_batches(data, allow_partial=True)


@pytest.mark.parametrize(
    ("position", "layout", "value", "message"),
    [
        (16, ">b", 1, "not in format 2"),
        (16, ">b", 3, "not in format 2"),
        (16, ">b", -1, "not in format 2"),
        (8, ">i", 48, "impossible size"),
        (8, ">i", -1, "impossible size"),
        (8, ">i", -(2**31), "impossible size"),
        (8, ">i", 2**31 - 1, "end inside"),
        (0, ">q", -1, "contradict"),
        (0, ">q", 2**63 - 1, "contradict"),
        (23, ">i", -1, "contradict"),
        (23, ">i", 1, "contradict"),
        (23, ">i", 2**31 - 1, "contradict"),
        (57, ">i", -1, "contradict"),
        (57, ">i", 4, "contradict"),
        (57, ">i", 2**31 - 1, "contradict"),
    ],
)
def test_nonsense_in_the_header(speed: Any, position: int, layout: str, value: int, message: str) -> None:
    data = batch(speed)
    pack_into(layout, data, position, value)
    with pytest.raises(ProtocolError, match=message):
        speed.scan_batches(sealed(speed, data) if position != 8 else data)
    if message != "end inside":
        with pytest.raises(ProtocolError, match=message):
            speed.read_header(data)


def test_more_records_than_the_bytes_could_hold(speed: Any) -> None:
    data = batch(speed)
    pack_into(">i", data, 23, 1_000_000)
    pack_into(">i", data, 57, 1_000_000)
    with pytest.raises(InvalidRecordError, match="contradict"):
        speed.scan_batches(sealed(speed, data))
    # The bytes of a compressed batch say nothing about their number yet.
    pack_into(">h", data, 21, 2)
    assert speed.scan_batches(sealed(speed, data))[0].count == 1_000_000


def test_fewer_records_than_offsets_after_compaction(speed: Any) -> None:
    data = batch(speed, last_offset_delta=100)
    assert speed.scan_batches(data)[0].next_offset == 101
    empty = speed.RecordWriter().pack(last_offset_delta=6, base_offset=3, max_timestamp=5)
    (header,) = speed.scan_batches(empty)
    assert (header.count, header.size, header.next_offset) == (0, 61, 10)


def test_a_header_without_its_records(speed: Any) -> None:
    data = batch(speed)
    assert speed.read_header(data[:61]).size == len(data)
    assert speed.read_header(b"x" + data[:61], 1).count == 3
    for size in (0, 1, 16, 17, 60):
        with pytest.raises(ProtocolError, match="end inside"):
            speed.read_header(data[:size])
    with pytest.raises(ProtocolError, match="end inside"):
        speed.read_header(data, len(data) + 50)
    with pytest.raises(ValueError, match="negative"):
        speed.read_header(data, -1)


def test_offsets_are_assigned_in_place(speed: Any) -> None:
    first, second = batch(speed, 2), batch(speed, 3)
    data = bytearray(b"--" + first + second + b"--")
    end = len(data) - 2
    assert speed.assign_offsets(memoryview(data), 2, end, 1 << 40, 9) == (1 << 40) + 5
    headers = speed.scan_batches(data, 2, end)  # checksums still fit
    assert [header.base_offset for header in headers] == [1 << 40, (1 << 40) + 2]
    assert {header.partition_leader_epoch for header in headers} == {9}
    assert data[:2] == data[-2:] == b"--"


def test_the_broker_s_time(speed: Any) -> None:
    data = batch(speed, attributes=0x10) + batch(speed)
    assert speed.assign_offsets(data, 0, len(data), 10, 1, append_time=123_456) == 16
    headers = speed.scan_batches(data)
    assert [header.max_timestamp for header in headers] == [123_456, 123_456]
    assert [header.attributes for header in headers] == [0x18, 0x08]
    position = headers[0].size
    records = speed.decode_records(headers[1], data, position + 61)
    assert {record.timestamp for record in records} == {123_456}
    speed.set_max_timestamp(data, position, 0, 1002)
    assert [
        record.timestamp for record in speed.decode_records(speed.read_header(data, position), data, position + 61)
    ] == [
        1000,
        1001,
        1002,
    ]
    assert len(speed.scan_batches(data)) == 2


def test_nothing_is_written_outside_the_range(speed: Any) -> None:
    data = batch(speed)
    before = bytes(data)
    with pytest.raises(ProtocolError):
        speed.assign_offsets(data, 0, len(data) - 1, 5, 5)
    with pytest.raises(InvalidRecordError):
        speed.assign_offsets(data, 0, len(data), 2**63 - 3, 5)
    with pytest.raises(InvalidRecordError):
        speed.assign_offsets(data, 0, len(data), -1, 5)
    with pytest.raises(ProtocolError):
        speed.set_max_timestamp(data[:-1], 0, 1, 5)
    assert data == before
    with pytest.raises((BufferError, TypeError)):
        speed.assign_offsets(before, 0, len(before), 5, 5)


def test_every_fault_has_a_sentence() -> None:
    assert len({str(fault(code, 0)) for code in Fault}) == len(Fault)
