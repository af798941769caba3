"""Control records: the markers of transactions and the types of raft."""

from __future__ import annotations

import pytest
from aiokafka.record.control_record import ABORT_MARKER, COMMIT_MARKER
from aiokafka.record.control_record import ControlRecord as AiokafkaControl
from hypothesis import given
from hypothesis import strategies as st

from moldau.errors import ProtocolError
from moldau.protocol.records import (
    ControlType,
    EndTransaction,
    Record,
    control_record,
    control_type,
    decode_batch,
    encode_batch,
    end_transaction_record,
    read_end_transaction,
    read_header,
)


@pytest.mark.parametrize("committed", [True, False])
def test_transaction_markers(committed: bool) -> None:
    marker = EndTransaction(committed, coordinator_epoch=13)
    data = encode_batch(
        [end_transaction_record(marker, 1000)],
        base_offset=8,
        is_control=True,
        is_transactional=True,
        producer_id=3,
        producer_epoch=1,
    )
    header = read_header(data)
    assert header.is_control
    assert header.is_transactional
    assert header.base_sequence == header.last_sequence == -1
    (record,) = decode_batch(data)
    assert (record.offset, record.timestamp) == (8, 1000)
    assert (record.key, record.value) == (bytes([0, 0, 0, committed]), bytes([0, 0, 0, 0, 0, 13]))
    assert control_type(record) == (ControlType.COMMIT if committed else ControlType.ABORT)
    assert read_end_transaction(record) == marker
    assert record.key is not None
    assert AiokafkaControl.parse(record.key) == (COMMIT_MARKER if committed else ABORT_MARKER)


def test_other_types() -> None:
    data = encode_batch([control_record(kind, b"payload", 5) for kind in ControlType], is_control=True)
    records = decode_batch(data)
    assert [control_type(record) for record in records] == list(range(7))
    assert read_end_transaction(records[ControlType.LEADER_CHANGE]) is None
    assert control_type(Record(0, 0, b"\0\0\0\x63", b"")) == 99


def test_later_versions_may_add_fields() -> None:
    assert read_end_transaction(Record(0, 0, b"\0\1\0\1more", b"\0\1\0\0\0\7more")) == EndTransaction(True, 7)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0\0\0\0\0\0"),
        (b"", b"\0\0\0\0\0\0"),
        (b"\0\0\0", b"\0\0\0\0\0\0"),
        (b"\xff\xff\0\1", b"\0\0\0\0\0\0"),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0\0\0\0\0"),
        (b"\0\0\0\0", b"\x80\0\0\0\0\0"),
    ],
)
def test_malformed_markers(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(ProtocolError):
        read_end_transaction(Record(0, 0, key, value))


@given(st.none() | st.binary(max_size=8), st.none() | st.binary(max_size=8))
def test_random_markers(key: bytes | None, value: bytes | None) -> None:
    try:
        read_end_transaction(Record(0, 0, key, value))
    except ProtocolError:
        pass
