"""What one node speaks, and which version of a request to send it.

The choice is always the highest version both sides know: newer versions say more (leader epochs, topic ids), and an
older broker simply offers less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from moldau.links.errors import UnsupportedRequest
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersionsResponse


class Request(Protocol):
    """What every generated request class offers.

    One that can read plain answers in a quicker way than the generated class also has `read_answer(data, version)`: it
    is given the whole frame, and returns what was said, in its own words, or None. One that is asked again and again
    may have `go_on(data, version)`: it takes the frame where it lies and returns the request that is next on this
    connection, or None, and then it is answered like any other. Whoever asked hears nothing until that happens.
    """

    @property
    def API_KEY(self) -> int: ...

    @property
    def MIN_VERSION(self) -> int: ...

    @property
    def MAX_VERSION(self) -> int: ...

    def encode(self, version: int) -> bytes: ...


class ByVersion:
    """A request that is filled in only when the version is known, because what it may say depends on it."""

    def __init__(self, kind: type[Message], build: Callable[[int], Request]) -> None:
        self.API_KEY = kind.API_KEY
        self.MIN_VERSION = kind.MIN_VERSION
        self.MAX_VERSION = kind.MAX_VERSION
        self._build = build

    def encode(self, version: int) -> bytes:
        return self._build(version).encode(version)


class NodeVersions:
    """The API ranges and features from a node's ApiVersions answer."""

    __slots__ = ("features", "ranges")

    def __init__(self, ranges: Mapping[int, tuple[int, int]], features: Mapping[str, int] | None = None) -> None:
        self.ranges = dict(ranges)
        self.features = dict(features or {})

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> NodeVersions:
        return cls(
            {api.api_key: (api.min_version, api.max_version) for api in response.api_keys},
            {feature.name: feature.max_version_level for feature in response.finalized_features or ()},
        )

    def offers(self, api_key: int) -> bool:
        return api_key in self.ranges

    def pick(self, request: Request, at_most: int | None = None) -> int:
        """The highest common version, not above `at_most`; UnsupportedRequest if there is none."""
        if request.API_KEY not in self.ranges:
            raise UnsupportedRequest(f"The broker does not offer {api_name(request.API_KEY)}.")
        lowest, highest = self.ranges[request.API_KEY]
        best = min(highest, request.MAX_VERSION if at_most is None else min(at_most, request.MAX_VERSION))
        if best < max(lowest, request.MIN_VERSION):
            raise UnsupportedRequest(
                f"The broker offers {api_name(request.API_KEY)} in versions {lowest} to {highest}, "
                f"and versions {request.MIN_VERSION} to {request.MAX_VERSION} are spoken here."
            )
        return best


def api_name(api_key: int) -> str:
    """`CREATE_TOPICS` as Kafka's documents write it: CreateTopics."""
    try:
        return "".join(word.capitalize() for word in ApiKey(api_key).name.split("_"))
    except ValueError:
        return f"API {api_key}"
