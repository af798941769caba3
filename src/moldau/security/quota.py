"""Quotas: whom they are for, what they limit, and which of several counts, as Kafka has it.

An entity is a user, a client id, both together, or an address; a part without a name stands for everybody who has no
quota of his own. Of the quotas that fit a user and his client id the most particular one counts, by kind:

    user and client id, user and any client, user, any user and client id, any user and any client, any user,
    client id, any client

Whoever shares a quota shares what it allows: a user's is for all his clients together, one for a user and any client is
for each of his clients by itself.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from moldau.errors import ErrorCode, KafkaError

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

PRODUCE_RATE: Final = "producer_byte_rate"
FETCH_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_RATE: Final = "connection_creation_rate"

# What may be limited for users and clients, and for addresses; whether only whole numbers make sense.
OF_CLIENTS: Final[Mapping[str, bool]] = {
    PRODUCE_RATE: True,
    FETCH_RATE: True,
    REQUEST_PERCENTAGE: False,
    MUTATION_RATE: False,
}
OF_ADDRESSES: Final[Mapping[str, bool]] = {CONNECTION_RATE: True}

# Type and name of each part; a name that is None stands for everybody without a quota of his own.
Entity: TypeAlias = frozenset[tuple[str, str | None]]
Quotas: TypeAlias = Mapping[Entity, Mapping[str, float]]


class Match(NamedTuple):
    """One part of a filter: a name, whoever has no name (None), or any (`any_name`)."""

    kind: str
    name: str | None
    any_name: bool = False

    def fits(self, entity: Mapping[str, str | None]) -> bool:
        return self.kind in entity and (self.any_name or entity[self.kind] == self.name)


class Limit(NamedTuple):
    """What a client may, and whom it shares that with."""

    bound: float
    shared_by: tuple[str, ...]


class Limits:
    """The quotas of one image, as they are asked for: what counts for a user and a client id. Found once for each."""

    __slots__ = ("_found", "_quotas", "kinds")

    # So many clients are remembered; a node that sees more of them looks again.
    _MOST: Final = 10_000

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._found: dict[tuple[str, str, str], Limit | None] = {}
        # What is limited for anybody at all.
        self.kinds = frozenset(key for values in quotas.values() for key in values)

    def of_client(self, kind: str, user: str, client_id: str) -> Limit | None:
        asked = kind, user, client_id
        try:
            return self._found[asked]
        except KeyError:
            if len(self._found) >= self._MOST:
                self._found.clear()
            found = self._found[asked] = self._search(kind, user, client_id)
            return found

    def of_address(self, address: str) -> float | None:
        """New connections a second."""
        for name in (address, None):
            bound = self._quotas.get(frozenset({(IP, name)}), {}).get(CONNECTION_RATE)
            if bound is not None:
                return bound
        return None

    def _search(self, kind: str, user: str, client_id: str) -> Limit | None:
        for named in (user, None):
            for client in (client_id, None):
                bound = self._bound(kind, (USER, named), (CLIENT_ID, client))
                if bound is not None:
                    return Limit(bound, (USER, user, CLIENT_ID, client_id))
            bound = self._bound(kind, (USER, named))
            if bound is not None:
                return Limit(bound, (USER, user))
        for client in (client_id, None):
            bound = self._bound(kind, (CLIENT_ID, client))
            if bound is not None:
                return Limit(bound, (CLIENT_ID, client_id))
        return None

    def _bound(self, kind: str, *parts: tuple[str, str | None]) -> float | None:
        return self._quotas.get(frozenset(parts), {}).get(kind)


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """KafkaError for parts that make no entity."""
    given: dict[str, str | None] = {}
    for kind, name in parts:
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"There are no quotas for {kind!r}: an entity is of {USER}, {CLIENT_ID} or {IP}.")
        if kind in given:
            raise _invalid(f"The entity of a quota names its {kind} twice.")
        if name == "":
            raise _invalid(f"The {kind} of a quota has no name; a name that is null stands for everybody else.")
        given[kind] = name
    if not given:
        raise _invalid("A quota must be for somebody.")
    if IP in given:
        if len(given) > 1:
            raise _invalid("A quota for an address is for nobody else.")
        address = given[IP]
        if address is not None and not _is_address(address):
            raise _invalid(f"{address!r} is no address.")
    return frozenset(given.items())


def check_value(entity: Entity, key: str, value: float | None) -> None:
    """KafkaError if there is no such quota for this entity; `value` is None for one that is to be removed."""
    known = OF_ADDRESSES if (IP in {kind for kind, _ in entity}) else OF_CLIENTS
    if key not in known:
        raise _invalid(f"There is no quota {key!r} for it; known are {', '.join(known)}.")
    if value is None:
        return
    if not 0 < value < float("inf"):
        raise _invalid(f"The quota {key} must be greater than 0.")
    if known[key] and value != int(value):
        raise _invalid(f"The quota {key} must be a whole number.")


def check_filter(matches: Iterable[Match]) -> None:
    seen: set[str] = set()
    for match in matches:
        if match.kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"There are no quotas for {match.kind!r}.")
        if match.kind in seen:
            raise _invalid(f"The filter names {match.kind} twice.")
        seen.add(match.kind)
    if IP in seen and len(seen) > 1:
        raise _invalid("A quota for an address is for nobody else.")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _invalid(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, sentence)
