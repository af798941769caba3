"""Quotas: how much users, clients and addresses may use; changed with a preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from starlette.responses import Response

from moldau.client.admin.quotas import Quota, QuotaChange, alter_client_quotas, describe_client_quotas
from moldau.console.listing import listing
from moldau.console.visits import Refused, Visit, address
from moldau.errors import MoldauError
from moldau.quantities import counted, format_size
from moldau.security.quota import (
    CLIENT_ID,
    CONNECTION_RATE,
    FETCH_RATE,
    IP,
    MUTATION_RATE,
    OF_ADDRESSES,
    OF_CLIENTS,
    PRODUCE_RATE,
    REQUEST_PERCENTAGE,
    USER,
)

_CHANGE_SECONDS: Final = 15.0
# As Kafka's tools write whoever has no quota of his own.
_DEFAULT: Final = "<default>"
_PARTS: Final = {USER: "user", CLIENT_ID: "client", IP: "address"}
_MEANINGS: Final = {
    PRODUCE_RATE: "bytes a second that may be produced, on each broker",
    FETCH_RATE: "bytes a second that may be fetched, on each broker",
    REQUEST_PERCENTAGE: "time a broker may spend on requests, in percent of one of its threads",
    MUTATION_RATE: "partitions a second that may be created and deleted",
    CONNECTION_RATE: "connections a second that may be opened",
}


class Row(NamedTuple):
    quota: Quota

    @property
    def parts(self) -> list[tuple[str, str | None]]:
        return [(word, self.quota.entity[part]) for part, word in _PARTS.items() if part in self.quota.entity]

    @property
    def values(self) -> list[tuple[str, str]]:
        return [(name, _worded(name, value)) for name, value in sorted(self.quota.values.items())]

    @property
    def edit(self) -> str:
        return _place(self.quota.entity)


class Change(NamedTuple):
    name: str
    before: str
    after: str
    value: float | None


def quotas(visit: Visit) -> Response:
    found: list[Quota] = []
    unknown = ""
    try:
        found = visit.links.remembered(("quotas",), 2.0, lambda: visit.links.ask(describe_client_quotas()))
    except MoldauError as error:
        unknown = str(error)
    return visit.page(
        "quotas.html",
        "Quotas",
        quotas=listing(
            visit,
            [Row(each) for each in found if each.values],
            lambda row: " ".join(f"{word} {_DEFAULT if name is None else name}" for word, name in row.parts),
            {
                "who": lambda row: [(word, name or "") for word, name in row.parts],
                "values": lambda row: len(row.quota.values),
            },
            "who",
        ),
        unknown=unknown,
    )


def edit(visit: Visit) -> Response:
    """For whom, what is limited, what that would change, and the change."""
    entity = _entity(visit)
    if not entity:
        return visit.page("quota_new.html", "New quota", default=_DEFAULT)
    known = OF_ADDRESSES if IP in entity else OF_CLIENTS
    now = _values(visit, entity)
    changes: list[Change] = []
    problem = ""
    if visit.posted:
        try:
            changes = _changes(visit, known, now)
            if not changes:
                raise Refused("Nothing differs from what holds now.")
            applying = visit.form("step") == "apply"
            request = QuotaChange(entity, {each.name: each.value for each in changes})
            (error,) = visit.links.ask(alter_client_quotas([request], validate_only=not applying), _CHANGE_SECONDS)
            if error is not None:
                raise error
            if applying:
                return visit.done("/quotas", f"{counted(len(changes), 'quota')} of {_told(entity)} changed.")
        except MoldauError as error:
            problem = str(error)
    return visit.page(
        "quota_edit.html",
        f"Quotas of {_told(entity)}",
        409 if problem else 200,
        whom=_told(entity),
        place=_place(entity),
        fields=[(name, _MEANINGS[name], _number(now.get(name))) for name in known],
        given=visit.fields,
        changes=[] if problem else changes,
        problem=problem,
    )


def _entity(visit: Visit) -> dict[str, str | None]:
    given = {part: visit.query(part).strip() for part in _PARTS}
    entity = {part: None if name == _DEFAULT else name for part, name in given.items() if name}
    if IP in entity and len(entity) > 1:
        raise Refused("A quota for an address is for no user or client: leave the others empty.")
    return entity


def _values(visit: Visit, entity: Mapping[str, str | None]) -> dict[str, float]:
    found = visit.links.ask(describe_client_quotas(entity, strict=True))
    return {name: value for quota in found for name, value in quota.values.items()}


def _changes(visit: Visit, known: Mapping[str, bool], now: Mapping[str, float]) -> list[Change]:
    """What the form says otherwise than what holds; Refused if that is no longer what the form began with."""
    changes = []
    for name in known:
        if f"set:{name}" not in visit.fields:
            continue
        given, before = visit.form(f"set:{name}").strip().replace(",", ""), _number(now.get(name))
        if visit.form(f"was:{name}") != before:
            raise Refused(f"{name} was changed by somebody else meanwhile; look at it again.", 409)
        try:
            value = float(given) if given else None
        except ValueError:
            raise Refused(f"{name} must be a number, not {given[:40]!r}.") from None
        if value is not None and not 0 < value < float("inf"):
            raise Refused(f"{name} must be greater than 0; an empty field takes the quota away.")
        if value != now.get(name):
            after = "none of its own" if value is None else _worded(name, value)
            changes.append(Change(name, _worded(name, now[name]) if name in now else "none", after, value))
    return changes


def _told(entity: Mapping[str, str | None]) -> str:
    words = {USER: "users", CLIENT_ID: "clients", IP: "addresses"}
    return ", ".join(
        f"all other {words[part]}" if entity[part] is None else f"{word} {entity[part]}"
        for part, word in _PARTS.items()
        if part in entity
    )


def _place(entity: Mapping[str, str | None]) -> str:
    return address("/quotas/edit", **{part: _DEFAULT if name is None else name for part, name in entity.items()})


def _worded(name: str, value: float) -> str:
    if name in (PRODUCE_RATE, FETCH_RATE):
        return f"{format_size(int(value))}/s"
    return f"{_number(value)} %" if name == REQUEST_PERCENTAGE else f"{_number(value)}/s"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value == int(value) else repr(value)
