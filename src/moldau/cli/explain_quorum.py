"""`moldau explain quorum`: whether the controllers can decide, who is missing or behind, and what would mend it.

While there is a leader it tells everything. Without one, every voter that can be found is knocked at: their addresses
are in the settings of the brokers, which answer for themselves also when nobody leads, or given with --controllers.
"""

from __future__ import annotations

from argparse import Namespace
from time import time
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand
from moldau.cli.connection import add_connection, client_properties, connect
from moldau.cli.quorum import quorum_json
from moldau.cli.table import print_findings, print_json
from moldau.diagnosis.quorum import Voter, configured_voters, diagnose_quorum, diagnose_silence, knock
from moldau.errors import MoldauError

if TYPE_CHECKING:
    from moldau.client.admin.quorum import QuorumDescription

_LOOK_SECONDS = 6.0


def configure_quorum(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "quorum",
        _explain,
        "explain whether the controllers can decide, and who is missing",
        "examples:\n  moldau explain quorum\n  moldau explain quorum --controllers 1@node-1:9093,2@node-2:9093",
    )
    parser.add_argument(
        "--controllers",
        metavar="ID@HOST:PORT,...",
        help="where the voters are, as in controller.quorum.voters (default: what the brokers know)",
    )
    add_json(parser)
    add_connection(parser)


def _explain(options: Namespace) -> None:
    from moldau.client.admin.quorum import describe_quorum

    quorum: QuorumDescription | None = None
    voters: list[Voter] = []
    reason = ""
    try:
        with connect(options) as cluster:
            quorum = cluster.run(describe_quorum(), timeout=min(options.timeout, _LOOK_SECONDS))
    except MoldauError as error:
        reason = str(error)
        named = options.controllers
        if not named:
            # With other connections: a broker answers in order, and may still be waiting for a leader to ask.
            with connect(options) as cluster:
                named = configured_voters(cluster)
        if not named:
            raise
        voters = knock(named, client_properties(options)[1])
    findings = diagnose_quorum(quorum, round(time() * 1000)) if quorum else diagnose_silence(voters, reason)
    if options.json:
        facts: dict[str, Any] = {"leader": None} if quorum is None else quorum_json(quorum)
        if voters:
            facts["voters"] = [{"id": each.id, "address": each.address, "silence": each.silence} for each in voters]
        print_json({**facts, "findings": [finding._asdict() for finding in findings]})
        return
    if quorum is None:
        print("The quorum has no leader that answers.")
    else:
        print(f"Node {quorum.leader_id} leads the quorum at epoch {quorum.leader_epoch}.")
    print_findings(findings)
