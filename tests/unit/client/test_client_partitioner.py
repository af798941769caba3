"""Keys go where the Java client sends them."""

from __future__ import annotations

import pytest
from aiokafka.partitioner import murmur2 as murmur2_of_aiokafka
from hypothesis import given
from hypothesis import strategies as st

from moldau.client.partitioner import murmur2, partition_for_key


# Values the Java client computes (as signed numbers there).
@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_values_of_java(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF


@given(st.binary(max_size=64))
def test_the_same_as_another_client(key: bytes) -> None:
    assert murmur2(key) == murmur2_of_aiokafka(key) & 0xFFFFFFFF
    assert murmur2(memoryview(bytearray(key))) == murmur2(key)


def test_partition_masks_the_sign() -> None:
    assert partition_for_key(b"foobar", 1000) == (-790332482 & 0x7FFFFFFF) % 1000
