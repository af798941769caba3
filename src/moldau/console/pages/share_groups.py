"""Share groups: the list, and one with its members, what is left to deliver and what it waits for."""

from __future__ import annotations

from starlette.responses import Response

from moldau.client.admin.groups import GroupDescription
from moldau.client.admin.share_groups import describe_share_group
from moldau.console.listing import listing
from moldau.console.pages.groups import APART, known_group
from moldau.console.visits import Visit
from moldau.diagnosis.findings import Finding
from moldau.diagnosis.share_groups import (
    ShareGroupPosition,
    delivery_limits,
    diagnose,
    left_to_deliver,
    share_group_positions,
)


def share_groups(visit: Visit) -> Response:
    seen = visit.snapshot
    rows = [each for each in seen.groups.values() if each.listing.type == "share"]
    return visit.page(
        "share_groups.html",
        "Share groups",
        groups=listing(
            visit,
            rows,
            lambda each: each.listing.group_id,
            {
                "name": lambda each: each.listing.group_id.lower(),
                "state": lambda each: each.listing.state,
                "coordinator": lambda each: each.listing.coordinator,
            },
            "name",
        ),
        unknown=seen.unknown.get("groups"),
    )


def share_group(visit: Visit) -> Response:
    known_group(visit, "share")
    name = visit.query("name")
    found, where, findings = _looks(visit, name)
    return visit.page(
        "share_group.html",
        name,
        name=name,
        group=found,
        findings=findings,
        members=found.members[:200],
        left=left_to_deliver(where),
        positions=listing(
            visit,
            where,
            lambda row: str(row.partition),
            {
                "partition": lambda row: row.partition,
                "start": lambda row: row.start,
                "end": lambda row: row.end,
                "left": lambda row: row.lag,
            },
            "partition",
        ),
    )


def _looks(visit: Visit, name: str) -> tuple[GroupDescription, list[ShareGroupPosition], list[Finding] | None]:
    links = visit.links

    def look() -> tuple[GroupDescription, list[ShareGroupPosition]]:
        found = links.ask(describe_share_group(name))
        return found, share_group_positions(links.asking, found)

    (_, before), (found, positions), seconds = links.two_looks(("share", name), look)
    if seconds < APART:
        return found, positions, None
    limit, lock_ms = links.remembered(("share-limits", name), 30.0, lambda: delivery_limits(links.asking, name))
    # What was handed out in vain stands in records that only `moldau explain share-group` reads.
    return found, positions, diagnose(found, before, positions, {}, limit, lock_ms / 1000, round(seconds, 1))
