"""The small vocabulary every room shares: ids, offsets, timestamps. Imports nothing of ours."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, NamedTuple, TypeAlias

# Anything that exposes bytes. Received frames are memoryviews so that records are never copied on the way to disk.
Buffer: TypeAlias = bytes | bytearray | memoryview

# A Kafka UUID: 16 raw bytes. Raw, because ids are dictionary keys on the hot path and are printed rarely.
Uuid: TypeAlias = bytes

ZERO_UUID: Final[Uuid] = bytes(16)

NO_OFFSET: Final = -1
NO_TIMESTAMP: Final = -1
NO_LEADER: Final = -1
NO_EPOCH: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def uuid_to_text(value: Uuid) -> str:
    """Kafka prints ids in URL-safe base64 without padding: 22 characters."""
    return urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def uuid_from_text(text: str) -> Uuid:
    """The inverse of `uuid_to_text`; raises ValueError for anything that is not 16 bytes."""
    try:
        value = urlsafe_b64decode(text + "==")
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{text!r} is not a Kafka id (22 characters of URL-safe base64)") from error
    if len(value) != 16:
        raise ValueError(f"{text!r} is not a Kafka id: it holds {len(value)} bytes instead of 16")
    if uuid_to_text(value) != text:
        # Python's decoder passes over foreign characters and fills up what is cut off; half an id is another id.
        raise ValueError(f"{text!r} is not a Kafka id (22 characters of URL-safe base64)")
    return value
