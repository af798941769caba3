"""The APIs by number: their names, versions and headers, and the classes of their requests and responses.

Only the index of the generated messages is imported here; a class is imported when it is first asked for, so that a
process pays for the APIs it uses and not for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from moldau.protocol.message import Message
from moldau.protocol.messages.index import APIS, RECORDS, ApiEntry
from moldau.protocol.messages.index import ApiKey as ApiKey

# The APIs that exist in Kafka 4; the others of the enumeration are remembered by their number only.
ENTRIES: Final[Mapping[int, ApiEntry]] = {entry.key: entry for entry in APIS}


def request_header_version(api_key: int, api_version: int) -> int:
    """2 at flexible versions, otherwise 1; KeyError if there is no such API."""
    since = ENTRIES[api_key].flexible_since
    return 2 if since is not None and api_version >= since else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """1 at flexible versions, otherwise 0; KeyError if there is no such API.

    ApiVersions is always answered with 0: a client that does not know yet what the broker speaks has to be able to
    read the answer.
    """
    since = ENTRIES[api_key].flexible_since
    return 1 if since is not None and api_version >= since and api_key != ApiKey.API_VERSIONS else 0


class LazyClasses(Mapping[int, type[Message]]):
    """Message classes by number, each imported at its first use."""

    def __init__(self, places: Mapping[int, tuple[str, str]]) -> None:
        self._places = places
        self._loaded: dict[int, type[Message]] = {}

    def __getitem__(self, key: int) -> type[Message]:
        found = self._loaded.get(key)
        if found is None:
            module, name = self._places[key]
            found = self._loaded[key] = getattr(import_module(f"moldau.protocol.messages.{module}"), name)
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places


REQUESTS: Final[Mapping[int, type[Message]]] = LazyClasses({e.key: (e.module, e.name + "Request") for e in APIS})
RESPONSES: Final[Mapping[int, type[Message]]] = LazyClasses({e.key: (e.module, e.name + "Response") for e in APIS})

# Records by the number that is written in front of them.
METADATA_RECORDS: Final = LazyClasses(RECORDS["__cluster_metadata", "metadata"])
GROUP_KEYS: Final = LazyClasses(RECORDS["__consumer_offsets", "key"])
GROUP_VALUES: Final = LazyClasses(RECORDS["__consumer_offsets", "value"])
TRANSACTION_KEYS: Final = LazyClasses(RECORDS["__transaction_state", "key"])
TRANSACTION_VALUES: Final = LazyClasses(RECORDS["__transaction_state", "value"])
SHARE_STATE_KEYS: Final = LazyClasses(RECORDS["__share_group_state", "key"])
SHARE_STATE_VALUES: Final = LazyClasses(RECORDS["__share_group_state", "value"])
