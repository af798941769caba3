"""Where a consumer starts: the beginning, the end, an offset, a point in time. Assigned partitions, no groups."""

from __future__ import annotations

import pytest

from clients import EARLIEST, LATEST, Client, ConfluentKafka, Message, Timestamp

TIMESTAMP = 1_700_000_000_000


@pytest.fixture
def filled(bootstrap: str, topic: str) -> str:
    """A topic of 1,000 records in several batches, one second apart, in order of time."""
    writer = ConfluentKafka(bootstrap)
    writer.create_topic(topic)
    messages = [Message(value=b"%d" % number, timestamp=TIMESTAMP + 1000 * number) for number in range(1000)]
    for start in range(0, 1000, 250):
        writer.produce(topic, messages[start : start + 250])
    return topic


def test_from_the_earliest(client: Client, filled: str) -> None:
    assert [record.value for record in client.consume(filled, EARLIEST, 1000)] == [b"%d" % n for n in range(1000)]


@pytest.mark.parametrize("offset", [0, 1, 249, 250, 625, 999])
def test_from_an_offset(client: Client, filled: str, offset: int) -> None:
    received = client.consume(filled, offset, 1000 - offset)
    assert [record.offset for record in received] == list(range(offset, 1000))
    assert received[0].value == b"%d" % offset


@pytest.mark.parametrize(("moment", "first"), [(0, 0), (1, 1), (617_000, 617), (616_001, 617), (999_000, 999)])
def test_from_a_timestamp(client: Client, filled: str, moment: int, first: int) -> None:
    received = client.consume(filled, Timestamp(TIMESTAMP + moment), 1000 - first)
    assert [record.offset for record in received] == list(range(first, 1000))


def test_from_the_latest(client: Client, filled: str) -> None:
    """Only what is produced after the consumer found its place; it waits at the end of the log for it."""
    sent = [Message(value=b"later %d" % number) for number in range(20)]
    received = client.consume(filled, LATEST, 20, ready=lambda: client.produce(filled, sent))
    assert [record.value for record in received] == [message.value for message in sent]
    assert [record.offset for record in received] == list(range(1000, 1020))


def test_offsets_can_be_asked_for(client: Client, filled: str) -> None:
    assert client.offsets(filled) == (0, 1000)


def test_an_empty_topic(client: Client, topic: str) -> None:
    client.create_topic(topic)
    assert client.offsets(topic) == (0, 0)
    sent = [Message(value=b"first")]
    received = client.consume(topic, LATEST, 1, ready=lambda: client.produce(topic, sent))
    assert [(record.offset, record.value) for record in received] == [(0, b"first")]
