"""Brokers, what lies on their disks, and the quorum of controllers."""

from __future__ import annotations

from time import time

from starlette.responses import Response

from moldau.console.listing import listing
from moldau.console.visits import Refused, Visit
from moldau.diagnosis.quorum import diagnose_quorum


def brokers(visit: Visit) -> Response:
    seen = visit.snapshot
    return visit.page("brokers.html", "Brokers", brokers=seen.brokers, unknown=seen.unknown.get("disks"))


def broker(visit: Visit) -> Response:
    seen = visit.snapshot
    id = int(visit.path("id"))
    found = next((each for each in seen.brokers if each.broker.id == id), None)
    if found is None:
        raise Refused(f"There is no broker {id}.", 404)
    directories = [each for each in seen.directories if each.broker == id]
    replicas = [(each, directory.path) for directory in directories for each in directory.replicas]
    return visit.page(
        "broker.html",
        f"Broker {id}",
        figures=found,
        directories=directories,
        unknown=seen.unknown.get("disks"),
        replicas=listing(
            visit,
            replicas,
            lambda row: str(row[0].partition),
            {
                "partition": lambda row: row[0].partition,
                "size": lambda row: row[0].size,
                "lag": lambda row: row[0].offset_lag,
            },
            "-size",
        ),
    )


def quorum(visit: Visit) -> Response:
    seen = visit.snapshot
    found = seen.quorum
    findings = [] if found is None else diagnose_quorum(found, round(time() * 1000))
    return visit.page("quorum.html", "Quorum", quorum=found, findings=findings, unknown=seen.unknown.get("quorum"))
