"""`moldau explain txn ID`: the state of a transaction, since when, what it waits for, and what would unblock it."""

from __future__ import annotations

from argparse import Namespace
from time import time
from typing import Any

from moldau.cli.arguments import add_json, add_subcommand
from moldau.cli.connection import add_connection, connect
from moldau.cli.table import print_json
from moldau.diagnosis.transactions import held_back, transaction_sentences
from moldau.errors import ErrorCode, KafkaError


def configure_transaction(commands: Any) -> None:
    parser = add_subcommand(commands, "txn", _explain, "explain what a transaction waits for")
    parser.add_argument("id", metavar="ID")
    add_json(parser)
    add_connection(parser)


def _explain(options: Namespace) -> None:
    from moldau.client.admin.transactions import describe_transaction

    with connect(options) as cluster:
        try:
            transaction = cluster.run(describe_transaction(options.id))
        except KafkaError as error:
            if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
            sentences = [
                f"No transaction: the coordinator does not know the transactional id {options.id}.",
                "Either no producer has used it yet, or it was not used for transactional.id.expiration.ms.",
            ]
            facts: dict[str, Any] = {"transactional_id": options.id, "state": None}
        else:
            held = held_back(cluster, transaction)
            sentences = transaction_sentences(transaction, held, round(time() * 1000))
            facts = {**transaction._asdict(), "partitions": [str(where) for where in transaction.partitions]}
            facts["held_back"] = {str(where): count for where, count in held.items()}
    if options.json:
        print_json({**facts, "explanation": sentences})
    else:
        print("\n".join(sentences))
