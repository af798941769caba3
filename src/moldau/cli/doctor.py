"""`moldau doctor`: what is wrong with a cluster, with this machine and with the data directories on it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from moldau.cli.arguments import add_json, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import Failure
from moldau.cli.style import Style, printable
from moldau.cli.table import note as remark
from moldau.cli.table import print_json
from moldau.diagnosis.checkup.found import Found, Severity, note
from moldau.errors import MoldauError
from moldau.quantities import counted, parse_duration

if TYPE_CHECKING:
    from moldau.cli.doctor_files import Told
    from moldau.diagnosis.checkup.sight import Sight

FINE: Final = 0
PROBLEMS: Final = 1
CANNOT_ASK: Final = 2

_EPILOG: Final = """\
It asks brokers what any client may ask them, of our nodes and of Apache Kafka; what a node tells at its
metrics.listener is read as well, where that can be reached from here. Nothing is changed. --data looks at the data
directories of nodes on this machine, whether they run or not.

exit status:
  0    nothing is wrong, or there are warnings and notes only
  1    there are problems
  2    no broker could be asked, or the command line is not valid; what was seen of the machine is told all the same

examples:
  moldau doctor
  moldau doctor --data data --bootstrap 127.0.0.1:9092
  moldau doctor --no-cluster --data data
  moldau doctor --json | jq '.findings[] | select(.severity == "problem")'"""

_STYLES: Final = {Severity.PROBLEM: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


def configure(parser: ArgumentParser) -> None:
    parser.description = "Look for what is wrong with a cluster and this machine; tell what it means and what to do."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--data", metavar="DIR", action="append", default=[], help="a data directory on this machine; repeatable"
    )
    parser.add_argument("--no-cluster", action="store_true", help="ask no broker: this machine and --data only")
    parser.add_argument(
        "--patience",
        metavar="TIME",
        type=checked(parse_duration),
        default=900.0,
        help="transactions open for longer, and records unread for longer, count as stuck (default 15m)",
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    from moldau import _speed
    from moldau.cli.doctor_files import check_files, data_directories
    from moldau.diagnosis.checkup.machine import check_machine, look_at_machine

    directories = data_directories(options.data)
    found = list(check_machine(look_at_machine(compiled=_speed.COMPILED)))
    silence: str | None = None
    told: Told | None = None
    if not options.no_cluster:
        try:
            sight = _look(options)
        except Failure:
            raise
        except MoldauError as error:
            silence = str(error)
        else:
            told = _told(sight)
            found += _check(sight)
    found += check_files(directories, told)
    found.sort(key=lambda each: each.severity)
    if options.json:
        print_json({"findings": [each.as_json() for each in found], "cannot_ask": silence})
    else:
        _print(found)
    if silence is not None:
        remark(f"moldau: {silence}")
        return CANNOT_ASK
    return PROBLEMS if any(each.severity is Severity.PROBLEM for each in found) else FINE


def _look(options: Namespace) -> Sight:
    from moldau.diagnosis.checkup.sight import look

    with connect(options) as cluster:
        return look(cluster, options.patience)


def _told(sight: Sight) -> Told:
    from moldau.cli.doctor_files import Told

    return Told(sight.cluster.cluster_id, {topic.name: topic for topic in sight.topics})


def _check(sight: Sight) -> list[Found]:
    from moldau.diagnosis.checkup.brokers import check_brokers
    from moldau.diagnosis.checkup.groups import check_groups
    from moldau.diagnosis.checkup.replicas import check_quorum, check_replicas
    from moldau.diagnosis.checkup.settings import check_settings
    from moldau.diagnosis.checkup.transactions import check_transactions

    found = [
        *check_brokers(sight),
        *check_quorum(sight),
        *check_replicas(sight),
        *check_transactions(sight.transactions),
        *check_groups(sight.groups),
        *check_settings(sight),
    ]
    found += [
        note(
            "not-seen",
            f"Not seen: {subject} ({reason.rstrip('.')}).",
            "What is wrong there could not be found.",
            "If it is a matter of rights, log in as somebody who may describe it; else mend what is told above first.",
        )
        for subject, reason in sight.unknown.items()
        if subject != "quorum"
    ]
    return found


def _print(found: Sequence[Found]) -> None:
    style = Style.of_output()
    for severity, group in groupby(found, lambda each: each.severity):
        for each in group:
            print(f"{style.paint(severity.text, _STYLES[severity])} {each.check}: {printable(each.fact)}")
            print(f"  {each.meaning}")
            print(f"  -> {printable(each.advice)}")
    counts = [
        counted(number, severity.text)
        for severity in Severity
        if (number := sum(each.severity is severity for each in found))
    ]
    print(f"{', '.join(counts)}." if counts else style.paint("Nothing is wrong.", "green"))
