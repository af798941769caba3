"""What is stuck anywhere, in sentences: the quorum, replicas, groups that stand still, transactions that stay open."""

from __future__ import annotations

from time import time
from typing import Final

from starlette.responses import Response

from moldau.client.admin.transactions import OPEN_STATES
from moldau.console.pages.overview import troubles
from moldau.console.visits import Visit
from moldau.diagnosis.findings import Finding
from moldau.diagnosis.isr import diagnose_isr
from moldau.diagnosis.quorum import diagnose_quorum
from moldau.diagnosis.sight import look
from moldau.diagnosis.transactions import open_times
from moldau.errors import MoldauError

# Topics that are looked at closely, which asks their brokers; of everything else so many are named.
_LOOKED_AT: Final = 3
_NAMED: Final = 20


def explain(visit: Visit) -> Response:
    seen = visit.snapshot
    bad = [each for each in seen.figures.values() if each.leaderless or each.under_replicated]
    bad.sort(key=lambda each: (-each.leaderless, -each.under_replicated, each.name))
    still = [each for each in seen.groups.values() if each.lag and not each.rate and each.listing.state != "Empty"]
    left = [each for each in seen.groups.values() if each.lag and each.listing.state == "Empty"]
    unsettled = [each for each in seen.groups.values() if each.listing.state not in ("Stable", "Empty", "Dead", "")]
    now_ms = round(time() * 1000)
    times = open_times(seen.open_transactions.values(), now_ms)
    open_ones = [each for each in seen.transactions if each.state in OPEN_STATES]
    # Those that have been open for longest come first, and those of which it is not known last.
    open_ones.sort(key=lambda each: -times[each.transactional_id].seconds if each.transactional_id in times else 1.0)
    return visit.page(
        "explain.html",
        "Explain",
        troubles=troubles(seen),
        quorum=[] if seen.quorum is None else diagnose_quorum(seen.quorum, now_ms),
        quorum_unknown=seen.unknown.get("quorum"),
        topics=[(each, _findings(visit, each.name)) for each in bad[:_LOOKED_AT]],
        more_topics=bad[_LOOKED_AT:][:_NAMED],
        bad_topics=len(bad),
        still=sorted(still, key=lambda each: -(each.lag or 0))[:_NAMED],
        unsettled=unsettled[:_NAMED],
        left=sorted(left, key=lambda each: -(each.lag or 0))[:_NAMED],
        open_ones=open_ones[:_NAMED],
        times=times,
        counts=(len(still), len(unsettled), len(left), len(open_ones)),
    )


def _findings(visit: Visit, topic: str) -> list[Finding]:
    try:
        return visit.links.remembered(("isr", topic), 10.0, lambda: diagnose_isr(look(visit.links.asking, topic)))
    except MoldauError as error:
        return [Finding(f"It could not be looked at: {error}")]
