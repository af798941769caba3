"""Transactions that hold readers of committed records back: open for too long, or hanging, known to nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING

from moldau.diagnosis.checkup.found import Found, problem
from moldau.diagnosis.findings import some
from moldau.quantities import format_time
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin.hanging import HangingTransaction
    from moldau.client.admin.transactions import TransactionDescription
    from moldau.client.cluster import Cluster
    from moldau.client.metadata import TopicView


@dataclass(slots=True, frozen=True)
class OpenTransactions:
    """`long` are those that a coordinator knows and that have been open for longer than the patience."""

    hanging: Sequence[HangingTransaction] = ()
    long: Sequence[TransactionDescription] = ()
    patience: float = 0.0


def look_at_transactions(
    cluster: Cluster, topics: Sequence[TopicView], patience: float, seconds: float
) -> OpenTransactions:
    from moldau.client.admin.hanging import find_hanging
    from moldau.client.admin.transactions import OPEN_STATES, describe_listed, list_transactions

    before = round((time() - patience) * 1000)
    places = [
        TopicPartition(topic.name, index)
        for topic in topics
        for index, each in topic.partitions.items()
        if each.leader >= 0
    ]
    hanging = cluster.run(find_hanging(places, before), timeout=seconds) if places else []
    listed = cluster.run(list_transactions(longer_than_ms=round(patience * 1000)), timeout=seconds)
    under_way = [each for each in listed if each.state in OPEN_STATES]
    described = cluster.run(describe_listed(under_way), timeout=seconds)
    long = [each for each in described if each.state in OPEN_STATES and 0 <= each.start_ms < before]
    return OpenTransactions(hanging, long, patience)


def check_transactions(found: OpenTransactions) -> list[Found]:
    return [*(_hanging(each) for each in found.hanging), *(_long(each) for each in found.long)]


def _hanging(each: HangingTransaction) -> Found:
    where, producer = each.where, each.producer
    return problem(
        "hanging-transaction",
        f"A transaction of producer {producer.producer_id} hangs in {where} from offset {producer.transaction_start} "
        f"on: {each.why}.",
        "Nobody is going to end it: readers of committed records wait there for ever, and compaction stops before it.",
        f"`moldau transactions abort --topic {where.topic} --partition {where.partition} --start-offset "
        f"{producer.transaction_start}` ends it.",
    )


def _long(each: TransactionDescription) -> Found:
    places = some([str(where) for where in sorted(each.partitions)]) or "no partition"
    return problem(
        "long-transaction",
        f"Transaction {each.transactional_id} is in the state {each.state} since {format_time(each.start_ms)}, in "
        f"{places}; its timeout is {each.timeout_ms / 1000:g} s.",
        "Readers of committed records wait behind it until it ends.",
        f"`moldau explain txn {each.transactional_id}` tells what it waits for, `moldau transactions abort "
        f"{each.transactional_id}` ends it and shuts its producer out.",
    )
