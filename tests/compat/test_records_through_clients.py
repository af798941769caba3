"""What goes in comes out: every client, codec and acks setting, with a client's own records and with the others'."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pytest

from clients import CLIENTS, EARLIEST, Client, ConfluentKafka, Message, ProduceFailed, Received, any_record

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
HEADERS = (("trace", b"1f2e"), ("kind", b"test"))
TIMESTAMP = 1_700_000_000_000

Contents = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]


def some_messages(count: int, mark: str = "") -> list[Message]:
    """Text that compresses, keys on every second record: what every client can send, kcat too."""
    return [
        Message(
            value=f"{mark} value {number} {'abcdefgh' * (number % 9)}".encode(),
            key=f"key-{number % 17}".encode() if number % 2 else None,
            headers=HEADERS,
        )
        for number in range(count)
    ]


def contents(records: Iterable[Message | Received]) -> list[Contents]:
    return [(record.key, record.value, record.headers) for record in records]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("codec", CODECS)
def test_round_trip(client: Client, topic: str, codec: str, acks: str) -> None:
    sent = some_messages(200)
    client.create_topic(topic)
    client.produce(topic, sent, codec=codec, acks=acks)
    received = client.consume(topic, EARLIEST, len(sent))
    assert contents(received) == contents(sent)
    assert [record.offset for record in received] == list(range(len(sent)))


@pytest.mark.parametrize("codec", CODECS)
def test_everyone_reads_what_everyone_wrote(bootstrap: str, topic: str, codec: str) -> None:
    present = [kind(bootstrap) for kind in CLIENTS if kind.unavailable() is None]
    present[0].create_topic(topic)
    sent: list[Message] = []
    for writer in present:
        batch = some_messages(50, writer.name)
        writer.produce(topic, batch, codec=codec)
        sent += batch
    for reader in present:
        assert contents(reader.consume(topic, EARLIEST, len(sent))) == contents(sent), reader.name


def test_idempotent_producer(client: Client, topic: str) -> None:
    sent = some_messages(1000)
    client.create_topic(topic)
    client.produce(topic, sent[:500], idempotent=True)
    client.produce(topic, sent[500:], idempotent=True)
    assert contents(client.consume(topic, EARLIEST, len(sent))) == contents(sent)


@any_record
@pytest.mark.parametrize("codec", CODECS)
def test_unusual_records(client: Client, topic: str, codec: str) -> None:
    sent = [
        Message(value=None, key=b"a tombstone"),
        Message(value=b"", key=b""),
        Message(value=b"", key=None),
        Message(value=bytes(range(256)), key=bytes(reversed(range(256)))),
        Message(value=b"headers", headers=(("", b""), ("twice", b"1"), ("twice", b"2"), ("größe", b"\x00\xff"))),
        Message(value=b"x" * 900_000, key=b"large"),
        Message(value=b"old", timestamp=1),
    ]
    client.create_topic(topic)
    client.produce(topic, sent, codec=codec)
    received = client.consume(topic, EARLIEST, len(sent))
    assert contents(received) == contents(sent)
    assert received[-1].timestamp == 1


@any_record
def test_timestamps_are_kept(client: Client, topic: str) -> None:
    sent = [Message(value=b"v", timestamp=TIMESTAMP + step) for step in (5, 3, 9, 0, 7)]
    client.create_topic(topic)
    client.produce(topic, sent)
    received = client.consume(topic, EARLIEST, len(sent))
    assert [record.timestamp for record in received] == [message.timestamp for message in sent]


@any_record
@pytest.mark.parametrize("codec", CODECS)
def test_the_broker_stamps_the_time_where_the_topic_says_so(client: Client, topic: str, codec: str) -> None:
    client.create_topic(topic, configs={"message.timestamp.type": "LogAppendTime"})
    client.produce(topic, [Message(value=b"v", timestamp=TIMESTAMP)] * 20, codec=codec)
    received = client.consume(topic, EARLIEST, 20)
    assert all(record.timestamp > TIMESTAMP for record in received)


@any_record
def test_the_broker_compresses_where_the_topic_says_so(client: Client, topic: str) -> None:
    sent = [Message(value=b"abcdefgh" * 100, key=b"k")] * 500
    client.create_topic(topic, configs={"compression.type": "zstd"})
    client.produce(topic, sent, codec="gzip")
    assert contents(client.consume(topic, EARLIEST, len(sent))) == contents(sent)


@any_record
def test_partitions_are_kept_apart(client: Client, topic: str) -> None:
    client.create_topic(topic, partitions=3)
    client.produce(topic, [Message(value=b"%d" % number, partition=number % 3) for number in range(30)])
    for partition in range(3):
        received = client.consume(topic, EARLIEST, 10, partition=partition)
        assert [record.value for record in received] == [b"%d" % number for number in range(partition, 30, 3)]
        assert {record.partition for record in received} == {partition}


@any_record
def test_a_record_that_is_too_large_is_refused(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"max.message.bytes": "1000"})
    with pytest.raises(ProduceFailed) as refusal:
        client.produce(topic, [Message(value=b"x" * 2000)])
    assert refusal.value.name in ("MSG_SIZE_TOO_LARGE", "MessageSizeTooLargeError")
    client.produce(topic, [Message(value=b"x" * 500)])
    assert len(client.consume(topic, EARLIEST, 1)) == 1


@any_record
def test_a_compacted_topic_refuses_records_without_a_key(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"cleanup.policy": "compact"})
    with pytest.raises(ProduceFailed):
        client.produce(topic, [Message(value=b"no key")])
    client.produce(topic, [Message(value=b"v", key=b"k")])
    assert len(client.consume(topic, EARLIEST, 1)) == 1


def test_a_hundred_thousand_records(client: Client, topic: str) -> None:
    """A checksum per partition of what went in, and the same of what came out."""
    total, partitions = 100_000, 4 if client.sends_any_record else 1
    client.create_topic(topic, partitions)
    sent = [
        Message(
            value=b"record %d of many: " % number + hashlib.md5(b"%d" % number).hexdigest().encode() * 2,
            key=b"%d" % (number % 1000),
            partition=number % partitions,
        )
        for number in range(total)
    ]
    client.produce(topic, sent)
    for partition in range(partitions):
        went_in = [message for message in sent if message.partition == partition]
        came_out = client.consume(topic, EARLIEST, len(went_in), partition=partition)
        assert [record.offset for record in came_out] == list(range(len(went_in)))
        assert checksum(came_out) == checksum(went_in)
        assert client.offsets(topic, partition) == (0, len(went_in))


def checksum(records: Iterable[Message | Received]) -> str:
    digest = hashlib.sha256()
    for record in records:
        assert record.key is not None
        assert record.value is not None
        digest.update(b"%d:%d:" % (len(record.key), len(record.value)))
        digest.update(record.key)
        digest.update(record.value)
    return digest.hexdigest()


def test_a_topic_appears_when_it_is_produced_to(client: Client, topic: str) -> None:
    sent = some_messages(10)
    client.produce(topic, sent)
    assert contents(ConfluentKafka(client.bootstrap).consume(topic, EARLIEST, 10)) == contents(sent)
