"""What classic consumers put into their subscriptions and assignments, as far as the coordinator looks inside.

Both begin with a version; a later version only adds fields at the end, so what is read here is read the same from every
version. The coordinator needs the topics (which offsets are still in use) and, when a group changes to the new
protocol, the partitions a member owns.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, TypeVar

from moldau.errors import ProtocolError
from moldau.protocol.message import Message
from moldau.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.wire import Reader
from moldau.slicing import Work

PROTOCOL_TYPE: Final = "consumer"
_VERSION: Final = Struct(">h")
# Topics that are read between two pauses.
_PIECE: Final = 256


def version_of(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise ProtocolError("a consumer's metadata has no version")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise ProtocolError(f"a consumer's metadata has the impossible version {version}")
    return version


def decode_subscription(data: bytes) -> ConsumerProtocolSubscription:
    return _read(ConsumerProtocolSubscription, data)


def decode_assignment(data: bytes) -> ConsumerProtocolAssignment:
    return _read(ConsumerProtocolAssignment, data)


def encode_assignment(assignment: ConsumerProtocolAssignment, version: int) -> bytes:
    version = min(version, ConsumerProtocolAssignment.MAX_VERSION)
    return _VERSION.pack(version) + assignment.encode(version)


def encode_subscription(subscription: ConsumerProtocolSubscription, version: int) -> bytes:
    return _VERSION.pack(version) + subscription.encode(version)


def subscribed_topics(data: bytes) -> Work[list[str]]:
    """The topics of a subscription, of which there may be as many as fit a request; the rest of it may be anything."""
    version_of(data)
    source = Reader(data, _VERSION.size)
    topics: list[str] = []
    count = source.int32()
    if count < 0:
        raise ProtocolError("a subscription has no topics")
    for number in range(1, count + 1):
        topics.append(source.string())
        if not number % _PIECE:
            yield
    source.nullable_bytes()
    return topics


M = TypeVar("M", bound=Message)


def _read(kind: type[M], data: bytes) -> M:
    """Bytes after the fields of the newest known version belong to a version that is not known yet."""
    version = min(version_of(data), kind.MAX_VERSION)
    return kind.read(Reader(data, _VERSION.size), version)
