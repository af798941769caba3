"""A topic as this broker holds it: those of its partitions that live here."""

from __future__ import annotations

from moldau._speed import Traffic
from moldau.replica.partition import Partition
from moldau.types import Uuid


class HostedTopic:
    """The partitions of one topic that live here; `name` and `id` so that both kinds of request find their answer."""

    __slots__ = ("id", "internal", "name", "partitions", "traffic")

    def __init__(self, name: str, id: Uuid, internal: bool) -> None:
        self.name = name
        self.id = id
        self.internal = internal
        self.partitions: dict[int, Partition] = {}
        self.traffic = Traffic()
