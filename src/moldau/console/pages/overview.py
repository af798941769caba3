"""The first page: is all well, how much is there, how much is going on."""

from __future__ import annotations

from typing import NamedTuple

from starlette.responses import Response

from moldau.console.snapshot import Snapshot
from moldau.console.visits import Visit
from moldau.quantities import counted

_TOP = 6


class Trouble(NamedTuple):
    """Something that is not as it should be, and where more is said about it."""

    kind: str
    sentence: str
    address: str


def overview(visit: Visit) -> Response:
    watch = visit.console.watch
    seen = watch.snapshot
    if seen is None:
        # The first look takes a moment; whoever was quick should not have to try again.
        watch.wait_first(3.0)
        seen = watch.snapshot
    if seen is None:
        return visit.page("waiting.html", "Looking for the cluster", 503, bootstrap=visit.console.settings.bootstrap)
    own = [each for each in seen.figures.values() if not each.internal]
    busy = sorted((each for each in own if each.rate), key=lambda each: -(each.rate or 0.0))[:_TOP]
    behind = sorted((each for each in seen.groups.values() if each.lag), key=lambda each: -(each.lag or 0))[:_TOP]
    return visit.page(
        "overview.html",
        "Overview",
        seen=seen,
        troubles=troubles(seen),
        topics=len(own),
        partitions=sum(each.partitions for each in own),
        records=sum(each.records or 0 for each in own),
        stored=sum(each.size or 0 for each in seen.brokers),
        busy=busy,
        behind=behind,
        rates=watch.total_rate,
        lags=watch.total_lag,
        rate_of=watch.rates.get,
        lag_of=watch.lags.get,
    )


def troubles(seen: Snapshot) -> list[Trouble]:
    """Worst first."""
    found: list[Trouble] = []
    if seen.leaderless:
        found.append(
            Trouble("bad", f"{counted(seen.leaderless, 'partition')} without a leader", "/topics?state=offline")
        )
    for each in seen.brokers:
        if each.failed_directories:
            found.append(Trouble("bad", f"A disk of broker {each.broker.id} has failed", f"/brokers/{each.broker.id}"))
        if each.broker.fenced:
            found.append(Trouble("bad", f"Broker {each.broker.id} is away", f"/brokers/{each.broker.id}"))
    if seen.under_replicated:
        sentence = f"{counted(seen.under_replicated, 'partition')} with replicas out of sync"
        found.append(Trouble("warn", sentence, "/topics?state=behind"))
    names = {"offsets": "Offsets", "disks": "Disks", "groups": "Groups", "lag": "Lag", "quorum": "The quorum",
             "transactions": "Transactions"}  # fmt: skip
    for subject, reason in seen.unknown.items():
        found.append(Trouble("warn", f"{names[subject]} could not be seen: {reason.rstrip('.')}", "/explain"))
    return found
