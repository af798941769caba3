"""A call that a node makes to itself, to see whether it is reached where others call it.

It goes out under a name that nobody else has, and whoever answers ApiVersions here listens for that name.
"""

from __future__ import annotations

from typing import Final

from moldau.links.exchange import OUR_NAME
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.runtime.ports import Random


class OwnCall:
    def __init__(self, random: Random) -> None:
        self._name: Final = random.bytes(16).hex()
        self.is_heard = False

    def request(self) -> ApiVersionsRequest:
        return ApiVersionsRequest(client_software_name=OUR_NAME, client_software_version=self._name)

    def hear(self, software_version: str) -> None:
        if software_version == self._name:
            self.is_heard = True
