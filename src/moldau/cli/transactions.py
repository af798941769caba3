"""`moldau transactions`: list and describe transactions, find those that hang, and end one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from time import time
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, at_least, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, FAILED, USAGE, Failure
from moldau.cli.table import note, print_json, print_table
from moldau.errors import KafkaError
from moldau.quantities import format_time, parse_duration
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin.hanging import HangingTransaction
    from moldau.client.admin.transactions import TransactionDescription
    from moldau.diagnosis.transactions import OpenTime

_ABORT_HELP = """\
examples:
  moldau transactions abort payments-7
      takes the transactional id over: what is open is aborted, and its producer is shut out
  moldau transactions abort --topic rivers --partition 0 --start-offset 4711
      writes an abort marker for a transaction that `moldau transactions find-hanging` has found"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Look at transactions and end those that nobody else will."
    commands = add_subcommands(parser)
    listing = add_subcommand(
        commands, "list", _list, "list transactional ids, their states, and for how long they are open"
    )
    listing.add_argument("--state", metavar="STATE", action="append", default=[], help="as Ongoing; repeatable")
    listing.add_argument("--producer-id", metavar="N", type=at_least(0), action="append", default=[], help="repeatable")
    listing.add_argument(
        "--longer-than", metavar="TIME", type=checked(parse_duration), help="only those running for longer than this"
    )
    listing.add_argument("--pattern", metavar="REGEX", help="only transactional ids that match as a whole")
    describe = add_subcommand(commands, "describe", _describe, "show what is known of transactional ids")
    describe.add_argument("ids", metavar="ID", nargs="+")
    abort = add_subcommand(commands, "abort", _abort, "abort a transaction", _ABORT_HELP)
    abort.add_argument("id", metavar="ID", nargs="?")
    abort.add_argument("--topic", metavar="NAME", help="abort by the partition the transaction hangs in")
    abort.add_argument("--partition", metavar="N", type=at_least(0))
    abort.add_argument("--start-offset", metavar="OFFSET", type=at_least(0), help="where the transaction begins there")
    hanging = add_subcommand(
        commands, "find-hanging", _find_hanging, "find transactions that are open in a partition and known to nobody"
    )
    hanging.add_argument("--topic", metavar="NAME", action="append", help="default: all; repeatable")
    hanging.add_argument(
        "--longer-than",
        metavar="TIME",
        type=checked(parse_duration),
        default=900.0,
        help="only those whose last record is older; no less than the longest timeout in use (default 15m)",
    )
    for command in (listing, describe, abort, hanging):
        add_json(command)
    for command in (listing, describe, abort, hanging):
        add_connection(command)


def _list(options: Namespace) -> None:
    from moldau.client.admin.transactions import OPEN_STATES, describe_listed, list_transactions
    from moldau.diagnosis.transactions import open_times

    longer = -1 if options.longer_than is None else round(options.longer_than * 1000)
    with connect(options) as cluster:
        found = cluster.run(
            list_transactions(
                states=options.state,
                producer_ids=options.producer_id,
                longer_than_ms=longer,
                pattern=options.pattern,
            )
        )
        described = cluster.run(describe_listed(one for one in found if one.state in OPEN_STATES))
    times = open_times(described, round(time() * 1000))
    if options.json:
        print_json([{**one._asdict(), **_open_json(times.get(one.transactional_id))} for one in found])
        return
    print_table(
        ["TRANSACTIONAL ID", "STATE", "OPEN FOR", "PRODUCER", "COORDINATOR"],
        [
            [one.transactional_id, one.state, _open_for(times.get(one.transactional_id)), one.producer_id,
             one.coordinator] for one in found
        ],
    )  # fmt: skip


def _open_for(open_time: OpenTime | None) -> str | None:
    if open_time is None:
        return None
    told = f"{open_time.seconds:.0f}s of {open_time.timeout:g}s"
    return f"{told}, overdue" if open_time.overdue else f"{told}, long" if open_time.long else told


def _open_json(open_time: OpenTime | None) -> dict[str, Any]:
    if open_time is None:
        return {"open_seconds": None, "timeout_seconds": None, "long": False, "overdue": False}
    return {
        "open_seconds": open_time.seconds,
        "timeout_seconds": open_time.timeout,
        "long": open_time.long,
        "overdue": open_time.overdue,
    }


def _describe(options: Namespace) -> int:
    from moldau.client.admin.transactions import describe_transaction

    described, failed = [], False
    with connect(options) as cluster:
        for name in dict.fromkeys(options.ids):
            try:
                described.append(cluster.run(describe_transaction(name)))
            except KafkaError as error:
                note(f"moldau: {error}")
                failed = True
    if options.json:
        print_json([_json(one) for one in described])
    else:
        print_table(
            ["TRANSACTIONAL ID", "STATE", "PRODUCER", "EPOCH", "SINCE", "TIMEOUT", "COORDINATOR", "PARTITIONS"],
            [
                [
                    one.transactional_id,
                    one.state,
                    one.producer_id,
                    one.producer_epoch,
                    format_time(one.start_ms),
                    f"{one.timeout_ms / 1000:g}s",
                    one.coordinator,
                    one.partitions,
                ]
                for one in described
            ],
        )
    return FAILED if failed else DONE


def _json(one: TransactionDescription) -> dict[str, Any]:
    partitions = [{"topic": where.topic, "partition": where.partition} for where in one.partitions]
    return {**one._asdict(), "partitions": partitions}


def _abort(options: Namespace) -> None:
    by_place = (options.topic, options.partition, options.start_offset)
    if options.id is not None and by_place == (None, None, None):
        _abort_by_id(options)
    elif options.id is None and None not in by_place:
        _abort_by_place(options)
    else:
        raise Failure("Name either a transactional id, or --topic, --partition and --start-offset.", USAGE)


def _abort_by_id(options: Namespace) -> None:
    from moldau.client.admin.transactions import describe_transaction, end_transaction

    with connect(options) as cluster:
        # Taking over an id that is not known would bring it into being.
        before = cluster.run(describe_transaction(options.id))
        cluster.run(end_transaction(options.id))
    if options.json:
        print_json({"transactional_id": options.id, "state_before": before.state})
    note(f"{options.id} was in the state {before.state}; it has been taken over, and nothing is open under it.")


def _abort_by_place(options: Namespace) -> None:
    from moldau.client.admin.transactions import describe_producers, write_abort_marker

    where = TopicPartition(options.topic, options.partition)
    with connect(options) as cluster:
        producers = cluster.run(describe_producers([where]))[where]
        if isinstance(producers, KafkaError):
            raise producers
        found = [one for one in producers if one.transaction_start == options.start_offset]
        if not found:
            raise Failure(f"No transaction begins at offset {options.start_offset} of {where}.")
        cluster.run(write_abort_marker(where, found[0]))
    if options.json:
        print_json({"topic": where.topic, "partition": where.partition, "producer_id": found[0].producer_id})
    note(f"The transaction of producer {found[0].producer_id} in {where} is aborted.")


def _find_hanging(options: Namespace) -> None:
    from moldau.client.admin import describe_topics, list_topics
    from moldau.client.admin.hanging import find_hanging

    with connect(options) as cluster:
        topics = cluster.run(describe_topics(options.topic) if options.topic else list_topics(internal=True))
        places = [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]
        older_than = round((time() - options.longer_than) * 1000)
        found = cluster.run(find_hanging(places, older_than))
    if options.json:
        print_json([_hanging_json(one) for one in found])
        return
    print_table(
        ["TOPIC", "PARTITION", "START OFFSET", "PRODUCER", "EPOCH", "LAST RECORD", "WHY"],
        [
            [
                one.where.topic,
                one.where.partition,
                one.producer.transaction_start,
                one.producer.producer_id,
                one.producer.producer_epoch,
                format_time(one.producer.last_timestamp),
                one.why,
            ]
            for one in found
        ],
    )


def _hanging_json(one: HangingTransaction) -> dict[str, Any]:
    return {
        "topic": one.where.topic,
        "partition": one.where.partition,
        "start_offset": one.producer.transaction_start,
        "producer_id": one.producer.producer_id,
        "producer_epoch": one.producer.producer_epoch,
        "last_timestamp": one.producer.last_timestamp,
        "why": one.why,
    }
