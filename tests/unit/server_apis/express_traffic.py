"""What clients of the express way send, and how what became of it is compared."""

from __future__ import annotations

import re
import time
from pathlib import Path
from random import Random
from typing import Any

from served_node import Client

from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.records import Compression, Record, encode_batch

RECORD = [(1_700_000_000_000, None, b"v", ())]
SETTINGS = {
    "plain": {},
    "rolling": {"internal.segment.bytes": "3000", "index.interval.bytes": "300"},
    "aging": {"segment.ms": "6"},
    "indexed": {"index.interval.bytes": "300"},
    "keyed": {"cleanup.policy": "compact"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "packed": {"compression.type": "lz4"},
    "small": {"max.message.bytes": "200"},
    "timely": {"message.timestamp.after.max.ms": "1000"},
}


def produce(
    topic: str, index: int, batch: bytes | None, ids: dict[str, bytes], version: int, acks: int = -1
) -> Message:
    named = TopicProduceData(
        name=topic if version < 13 else "",
        topic_id=ids.get(topic, b"absent".ljust(16)) if version >= 13 else bytes(16),
        partition_data=[PartitionProduceData(index=index, records=batch)],
    )
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[named])


def offsets(answer: bytes | None, version: int) -> tuple[int, int]:
    """Error and offset in the answer to one write."""
    assert answer is not None
    (topic,) = ProduceResponse.decode(answer[5 if version >= 9 else 4 :], version).responses
    (partition,) = topic.partition_responses
    return partition.error_code, partition.base_offset


def records(random: Random, count: int, now: int = 1_700_000_000_000) -> list[Record]:
    return [
        Record(
            index,
            now + random.randint(-5, 5) if random.random() < 0.9 else -1,
            random.choice((None, b"key", b"key")),
            random.randbytes(random.choice((0, 5, 60, 700))),
            [("h", b"v")] if random.random() < 0.2 else [],
        )
        for index in range(count)
    ]


class Traffic:
    """What one client sends: mostly what the express way takes, and much that it must not."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.sequences: dict[tuple[str, int, int], int] = {}
        self.now = 1_700_000_000_000

    def batch(self, topic: str, index: int) -> bytes:
        random = self.random
        self.now += 1  # time goes on: segments of topics that count it are soon too old
        content = records(random, random.randint(1, 4), self.now)
        fields: dict[str, Any] = {}
        if random.random() < 0.3:
            place = (topic, index, random.randint(1, 3))
            next_one = self.sequences.get(place, 0)
            fields = {"producer_id": place[2], "producer_epoch": 0, "base_sequence": next_one}
            match random.randint(0, 7):
                case 0:  # sent before
                    fields["base_sequence"] = max(0, next_one - len(content))
                case 1:  # one is missing
                    fields["base_sequence"] = next_one + 1
                case _:
                    self.sequences[place] = next_one + len(content)
        codec = Compression.NONE if random.random() < 0.95 else random.choice(list(Compression))
        good = encode_batch(content, compression=codec, **fields)
        match random.randint(0, 39):
            case 0:
                return good[:-1]
            case 1:
                return good + good
            case 2:
                place_of_damage = random.randrange(len(good))
                return good[:place_of_damage] + bytes([good[place_of_damage] ^ 0x41]) + good[place_of_damage + 1 :]
            case 3:
                return encode_batch(content, base_offset=5)
            case 4:
                return encode_batch([(int(time.time() * 1000) + 10_000_000, b"k", b"v", ())])
        return good

    def frames(self, client: Client, ids: list[dict[str, bytes]], correlation_id: int) -> tuple[list[bytes], int]:
        """The same request for each node, and its version; 0 if it is none of Produce."""
        random = self.random
        version = random.choice((3, 7, 8, 9, 10, 12, 13))
        if random.random() < 0.05:
            return [client.frame(ApiVersionsRequest(), 2, correlation_id)] * 2, 0
        usual = random.random() < 0.7
        topic = random.choice(("plain", "rolling", "aging") if usual else (*SETTINGS, "absent", "__consumer_offsets"))
        index = random.choice((0, 0, 1) if usual else (0, 1, 9))
        batch = None if random.random() < 0.02 else self.batch(topic, index)
        acks = random.choice((-1, 1) if usual else (-1, 1, 2))
        requests = [produce(topic, index, batch, known, version, acks) for known in ids]
        return [client.frame(request, version, correlation_id) for request in requests], version


def plain(answer: bytes | None, version: int, ids: dict[str, bytes]) -> Any:
    """An answer without what must differ between two nodes."""
    if answer is None or version == 0:
        return answer
    response = ProduceResponse.decode(answer[5 if version >= 9 else 4 :], version)
    names = {topic_id: name for name, topic_id in ids.items()}
    for topic in response.responses:
        topic.name, topic.topic_id = names.get(topic.topic_id, topic.name), bytes(16)
        for partition in topic.partition_responses:
            partition.log_append_time_ms = min(partition.log_append_time_ms, 1)
            # Where damage lies is counted from where the frame was received.
            partition.error_message = partition.error_message and re.sub(r"position \d+", "", partition.error_message)
            for error in partition.record_errors:
                error.batch_index_error_message = None  # says what time it is
    return answer[:4], response


def files_of(data: Path) -> dict[str, bytes]:
    """What lies in the partitions whose records carry no time of the broker's."""
    found = {}
    for path in sorted(data.rglob("*")):
        topic = path.parent.name.rpartition("-")[0]
        if path.is_file() and topic in SETTINGS and topic != "stamped" and path.name != "partition.metadata":
            found[f"{path.parent.name}/{path.name}"] = path.read_bytes()
    return found
