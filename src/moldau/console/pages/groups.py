"""Groups of consumers: the list, and one with its members, its lag over time and what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.responses import Response

from moldau.client.admin.groups import GroupDescription, delete_group, describe_group
from moldau.client.admin.streams_groups import STREAMS, describe_streams_group
from moldau.client.conversation import Conversation
from moldau.console.listing import listing
from moldau.console.snapshot import GroupFigures
from moldau.console.visits import Refused, Visit, address
from moldau.diagnosis.findings import Finding
from moldau.diagnosis.groups import diagnose
from moldau.diagnosis.positions import Position, group_positions, total_lag

# Two looks at a group, so far apart at least, tell whether it gets on.
APART: Final = 1.0
_CHANGE_SECONDS: Final = 15.0

_COLUMNS = {
    "name": lambda each: each.listing.group_id.lower(),
    "state": lambda each: each.listing.state,
    "type": lambda each: each.listing.type,
    "lag": lambda each: each.lag,
    "rate": lambda each: each.rate,
    "topics": lambda each: len(each.topics),
}


def groups(visit: Visit) -> Response:
    seen = visit.snapshot
    states = sorted({each.listing.state for each in seen.groups.values()} - {""})
    state = visit.query("state")
    every = [each for each in seen.groups.values() if each.listing.type != "share"]
    rows = [each for each in every if state in ("", each.listing.state)]
    return visit.page(
        "groups.html",
        "Groups",
        groups=listing(visit, rows, lambda each: each.listing.group_id, _COLUMNS, "name"),
        states=states,
        state=state,
        any=bool(every),
        unknown=seen.unknown.get("groups") or seen.unknown.get("lag"),
        lag_of=visit.console.watch.lags.get,
    )


def group(visit: Visit) -> Response:
    name = visit.query("name")
    figures = visit.snapshot.groups.get(name)
    if figures is not None and figures.listing.type == "share":
        return visit.go(address("/share-group", name=name))
    streams = figures is not None and figures.listing.type == STREAMS
    found, where, findings = _looks(visit, name, describe_streams_group if streams else describe_group)
    positions = listing(
        visit,
        where,
        lambda row: f"{row.partition} {row.member.client_id if row.member else ''}",
        {
            "partition": lambda row: row.partition,
            "committed": lambda row: row.committed,
            "end": lambda row: row.end,
            "lag": lambda row: row.lag,
        },
        "-lag",
    )
    return visit.page(
        "group.html",
        name,
        name=name,
        group=found,
        findings=findings,
        positions=positions,
        members=found.members[:200],
        lag=total_lag(where),
        topics=sorted({row.partition.topic for row in where}),
        lags=visit.console.watch.lags.get(name),
        figures=figures,
    )


def _looks(
    visit: Visit, name: str, describe: Callable[[str], Conversation[GroupDescription]]
) -> tuple[GroupDescription, list[Position], list[Finding] | None]:
    """The group, where it stands, and what follows from both; None until that can be told from two looks."""
    links = visit.links

    def look() -> tuple[GroupDescription, list[Position]]:
        found = links.ask(describe(name))
        return found, group_positions(links.asking, found)

    (_, before), (found, positions), seconds = links.two_looks(("group", name), look)
    findings = diagnose(found, before, positions, round(seconds, 1)) if seconds >= APART else None
    return found, positions, findings


def known_group(visit: Visit, type: str) -> GroupFigures:
    name = visit.query("name")
    found = visit.snapshot.groups.get(name)
    if found is None:
        visit.console.watch.look_again()
        found = visit.snapshot.groups.get(name)
    if found is None or (found.listing.type == "share") != (type == "share"):
        raise Refused(f"There is no {'share ' if type == 'share' else ''}group {name}.", 404)
    return found


def delete(visit: Visit) -> Response:
    """Of both kinds."""
    name = visit.query("name")
    share = visit.query("kind") == "share"
    known_group(visit, "share" if share else "")
    if visit.posted:
        visit.confirmed(name)
        visit.links.ask(delete_group(name), _CHANGE_SECONDS)
        return visit.done("/share-groups" if share else "/groups", f"The group {name} was deleted.")
    return visit.page("group_delete.html", f"Delete {name}", name=name, share=share)
