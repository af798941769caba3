"""What a coordinator knows of the request besides its content."""

from __future__ import annotations

from typing import NamedTuple

from moldau.runtime.ports import Random


class RequestInfo(NamedTuple):
    client_id: str
    client_host: str
    api_version: int
    random: Random

    def new_member_id(self, prefix: str) -> str:
        """`prefix` and a random id, as the groups' tools print it."""
        return f"{prefix}-{random_uuid(self.random)}" if prefix else random_uuid(self.random)


def random_uuid(random: Random) -> str:
    """A random UUID (version 4) in the usual notation."""
    raw = bytearray(random.bytes(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
