"""Transactions: open ones and what they wait for, hanging ones that nobody else will end, and ending them."""

from __future__ import annotations

from time import time
from typing import Final

from starlette.responses import Response

from moldau.client.admin.hanging import HangingTransaction, find_hanging
from moldau.client.admin.transactions import (
    OPEN_STATES,
    describe_producers,
    describe_transaction,
    end_transaction,
    write_abort_marker,
)
from moldau.console.listing import listing
from moldau.console.pages.topic_changes import whole_number
from moldau.console.visits import Refused, Visit
from moldau.diagnosis.transactions import held_back, open_times, transaction_sentences
from moldau.errors import KafkaError
from moldau.quantities import parse_duration
from moldau.types import TopicPartition

_CHANGE_SECONDS: Final = 15.0
# Every leader is asked about every partition.
_SEARCH_SECONDS: Final = 15.0


def transactions(visit: Visit) -> Response:
    seen = visit.snapshot
    times = open_times(seen.open_transactions.values(), round(time() * 1000))
    state = visit.query("state")
    rows = [
        each
        for each in seen.transactions
        if state in ("", each.state) or (state == "open" and each.state in OPEN_STATES)
    ]
    hanging, problem = None, ""
    if visit.query("hanging") == "1":
        try:
            hanging = _hanging(visit)
        except ValueError as error:
            problem = f"{error}."
    return visit.page(
        "transactions.html",
        "Transactions",
        transactions=listing(
            visit,
            rows,
            lambda each: f"{each.transactional_id} {each.producer_id}",
            {
                "id": lambda each: each.transactional_id.lower(),
                "state": lambda each: each.state,
                "open": lambda each: times[each.transactional_id].seconds if each.transactional_id in times else None,
                "producer": lambda each: each.producer_id,
                "coordinator": lambda each: each.coordinator,
            },
            "id",
        ),
        states=sorted({each.state for each in seen.transactions}),
        state=state,
        any=bool(seen.transactions),
        times=times,
        long=sum(each.long for each in times.values()),
        open_states=OPEN_STATES,
        hanging=hanging,
        older_than=visit.query("longer", "15m"),
        problem=problem,
        unknown=seen.unknown.get("transactions"),
    )


def _hanging(visit: Visit) -> list[HangingTransaction]:
    older_than = round((time() - parse_duration(visit.query("longer", "15m"))) * 1000)
    places = [
        TopicPartition(topic.name, index)
        for topic in visit.snapshot.topics.values()
        for index, each in topic.partitions.items()
        if each.leader >= 0
    ]
    return visit.links.remembered(
        ("hanging", older_than // 10_000),
        10.0,
        lambda: visit.links.ask(find_hanging(places, older_than), _SEARCH_SECONDS),
    )


def transaction(visit: Visit) -> Response:
    """One, with what it waits for; and its end, once that is confirmed."""
    name = visit.query("id")
    if visit.posted:
        visit.confirmed(name)
        visit.links.ask(end_transaction(name), _CHANGE_SECONDS)
        return visit.done("/transactions", f"What was open under {name} is aborted, and its producer is shut out.")
    found = visit.links.ask(describe_transaction(name))
    held = held_back(visit.links.asking, found)
    return visit.page(
        "transaction.html",
        name,
        transaction=found,
        held=held,
        open=found.state in OPEN_STATES,
        sentences=transaction_sentences(found, held, round(time() * 1000))[1:],
    )


def abort_hanging(visit: Visit) -> Response:
    """Ends what hangs in one partition: the page that asks for confirmation, and the end."""
    where = TopicPartition(visit.query("topic"), whole_number(visit.query("partition"), "The partition", None))
    start = whole_number(visit.query("start"), "The offset", None)
    producers = visit.links.ask(describe_producers([where]))[where]
    if isinstance(producers, KafkaError):
        raise producers
    found = [each for each in producers if each.in_transaction and each.transaction_start == start]
    if not found:
        raise Refused(f"No transaction that begins at offset {start} is open in {where} any more.", 404)
    if visit.posted:
        visit.confirmed(str(where))
        visit.links.ask(write_abort_marker(where, found[0]), _CHANGE_SECONDS)
        return visit.done("/transactions", f"The transaction of producer {found[0].producer_id} in {where} is aborted.")
    return visit.page("transaction_hanging.html", f"Abort in {where}", where=where, producer=found[0])
