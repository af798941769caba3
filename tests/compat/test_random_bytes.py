"""Random bytes on the port: whoever sends them is answered or cut off, and everyone else is served as before."""

from __future__ import annotations

import contextlib
import random
import struct
import time
from collections.abc import Iterator

import pytest
from node_process import NodeProcess, StartNode
from raw_connection import RawConnection, all_topics, api_versions, request

from clients import EARLIEST, ConfluentKafka, Message

MEMORY_MB = 150
HIGHEST_API = 95


def noise(chance: random.Random) -> bytes:
    """From sheer noise to requests that are nearly right."""
    kind = chance.randrange(7)
    if kind == 0:
        return chance.randbytes(chance.randrange(1, 5000))
    if kind == 1:  # a length that is never filled, or is impossible
        return struct.pack(">i", chance.choice([-1, 0, 3, 2**31 - 1, 100_000_000, 104_857_601])) + chance.randbytes(50)
    if kind == 2:  # a right frame around noise
        body = chance.randbytes(chance.randrange(0, 300))
        return struct.pack(">i", len(body)) + body
    if kind == 3:  # a right header, any version, noise as the body
        api, version = chance.randrange(HIGHEST_API), chance.randrange(-1, 20)
        return request(api, version, chance.randbytes(chance.randrange(0, 200)), chance.randrange(2**31))
    if kind == 4:  # counts and lengths that promise more than there is
        api, version = chance.randrange(HIGHEST_API), chance.randrange(0, 14)
        return request(api, version, struct.pack(">iihi", 1, 2**31 - 1, 2**15 - 1, 2**30) * 4, 1)
    whole = bytearray(all_topics(5) + api_versions(6))
    if kind == 5:  # a right request with one byte changed
        whole[chance.randrange(len(whole))] = chance.randrange(256)
        return bytes(whole)
    return bytes(whole[: chance.randrange(len(whole))])


def make_noise(node: NodeProcess, chance: random.Random) -> None:
    with contextlib.suppress(OSError), RawConnection(node.address, timeout=0.02) as connection:
        connection.send(noise(chance))
        if chance.random() < 0.5:
            connection.receive()
        if chance.random() < 0.3:
            connection.hang_up_hard()


def records(number: int) -> list[Message]:
    return [Message(value=b"batch %d record %d" % (number, place), key=b"k") for place in range(20)]


def keep_serving_beside_noise(node: NodeProcess, rounds: Iterator[int], seed: int) -> None:
    chance = random.Random(seed)
    client = ConfluentKafka(node.bootstrap)
    client.create_topic("steady")
    before = node.memory_mb()
    sent: list[bytes | None] = []
    with RawConnection(node.address) as bystander:
        for number in rounds:
            for _ in range(100):
                make_noise(node, chance)
            batch = records(number)
            client.produce("steady", batch)
            sent += [message.value for message in batch]
            assert bystander.is_served()
            assert node.running
    assert [record.value for record in client.consume("steady", EARLIEST, len(sent))] == sent
    assert node.memory_mb() - before < MEMORY_MB


def test_noise_does_not_disturb_others(start_node: StartNode) -> None:
    keep_serving_beside_noise(start_node(), iter(range(8)), seed=1)


@pytest.mark.long
def test_noise_for_a_minute(start_node: StartNode) -> None:
    def for_a_minute() -> Iterator[int]:
        end = time.monotonic() + 60
        number = 0
        while time.monotonic() < end:
            yield number
            number += 1

    seed = random.randrange(2**32)
    print(f"seed {seed}")
    keep_serving_beside_noise(start_node(), for_a_minute(), seed)
