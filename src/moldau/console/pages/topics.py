"""Topics: the list, and one with its partitions."""

from __future__ import annotations

from typing import NamedTuple

from starlette.responses import Response

from moldau.client.admin.topics import describe_topics
from moldau.client.metadata import PartitionView
from moldau.console.listing import listing
from moldau.console.snapshot import TopicFigures
from moldau.console.visits import Refused, Visit
from moldau.diagnosis.findings import Finding
from moldau.diagnosis.isr import diagnose_isr
from moldau.diagnosis.sight import look
from moldau.types import TopicPartition, uuid_to_text

_COLUMNS = {
    "name": lambda each: each.name.lower(),
    "partitions": lambda each: each.partitions,
    "records": lambda each: each.records,
    "size": lambda each: each.size,
    "rate": lambda each: each.rate,
}


class PartitionRow(NamedTuple):
    view: PartitionView
    start: int | None
    end: int | None
    size: int | None

    @property
    def records(self) -> int | None:
        return None if self.start is None or self.end is None else self.end - self.start


def topics(visit: Visit) -> Response:
    seen = visit.snapshot
    internal = visit.query("internal") == "1"
    state = visit.query("state")
    rows = [each for each in seen.figures.values() if _shown(each, internal, state)]
    return visit.page(
        "topics.html",
        "Topics",
        topics=listing(visit, rows, lambda each: each.name, _COLUMNS, "name"),
        internal=internal,
        hidden=sum(each.internal for each in seen.figures.values()),
        state=state,
        rate_of=visit.console.watch.rates.get,
    )


def _shown(each: TopicFigures, internal: bool, state: str) -> bool:
    if state == "offline":
        return each.leaderless > 0
    if state == "behind":
        return each.under_replicated > 0
    return internal or not each.internal


def topic(visit: Visit) -> Response:
    figures = known_topic(visit)
    seen = visit.snapshot
    view = seen.topics[figures.name]
    rows = []
    for index, partition in view.partitions.items():
        where = TopicPartition(figures.name, index)
        sizes = seen.sizes.get(where, {})
        rows.append(PartitionRow(partition, seen.starts.get(where), seen.ends.get(where), sizes.get(partition.leader)))
    readers = [each for each in seen.groups.values() if figures.name in each.topics]
    return visit.page(
        "topic.html",
        figures.name,
        topic=figures,
        id=uuid_to_text(view.id),
        rows=listing(
            visit,
            rows,
            lambda row: str(row.view.index),
            {
                "partition": lambda row: row.view.index,
                "records": lambda row: row.records,
                "size": lambda row: row.size,
                "leader": lambda row: row.view.leader,
            },
            "partition",
        ),
        readers=sorted(readers, key=lambda each: each.listing.group_id)[:50],
        reader_count=len(readers),
        rates=visit.console.watch.rates.get(figures.name),
        stored=visit.console.watch.sizes.get(figures.name),
        findings=_findings(visit, figures),
        tab="overview",
    )


def _findings(visit: Visit, figures: TopicFigures) -> list[Finding]:
    """Only where something is wrong, and once for all who look: brokers that are away are waited for."""
    if not figures.leaderless and not figures.under_replicated:
        return []
    return visit.links.remembered(
        ("isr", figures.name), 10.0, lambda: diagnose_isr(look(visit.links.asking, figures.name))
    )


def known_topic(visit: Visit) -> TopicFigures:
    """The topic the address names. One that was created since the last look is looked for once more."""
    name = visit.path("name")
    if name not in visit.snapshot.figures:
        visit.links.ask(describe_topics([name]))  # which says that there is none
        visit.console.watch.look_again()
    found = visit.snapshot.figures.get(name)
    if found is None:
        raise Refused(f"There is no topic {name}.", 404)
    return found
