"""`moldau top`: how much goes on in a cluster, redrawn in place on a terminal, line by line anywhere else."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from moldau.cli.arguments import at_least, checked
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE
from moldau.cli.table import print_json_line
from moldau.quantities import parse_duration

if TYPE_CHECKING:
    from moldau.diagnosis.traffic import Observer

_EPILOG: Final = """\
What comes in is told by the ends of partitions and by the bytes on disks, what is read by what groups commit; so any
Kafka can be watched. Idle share and longest turn of the loop, memory and connections are known of our nodes whose
metrics.listener can be reached from here.

On a terminal q ends it. Where standard output is none, and with --count, each look is one line for each thing; with
--json it is one line of JSON.

examples:
  moldau top
  moldau top --count 1
  moldau top --json --interval 10s >> traffic.jsonl"""

_LEAST_SECONDS: Final = 0.2


def configure(parser: ArgumentParser) -> None:
    parser.description = "Show how much goes on: brokers, the hottest topics and partitions, groups and their lag."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--interval",
        metavar="TIME",
        type=checked(_interval),
        default=2.0,
        help="between one look and the next (default 2s)",
    )
    parser.add_argument("--count", metavar="N", type=at_least(1), help="end after so many looks; in plain lines")
    parser.add_argument(
        "--most", metavar="N", type=at_least(1), default=10, help="so many topics, partitions and groups (default 10)"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON for each look")
    add_connection(parser)
    parser.set_defaults(run=run)


def _interval(text: str) -> float:
    seconds = parse_duration(text)
    if seconds < _LEAST_SECONDS:
        raise ValueError(f"{text!r} is too short; {_LEAST_SECONDS:g}s is the least")
    return seconds


def run(options: Namespace) -> int:
    from moldau.diagnosis.traffic import Observer

    with connect(options) as cluster:
        observer = Observer(cluster)
        if options.json or options.count is not None or not sys.stdout.isatty() or not sys.stdin.isatty():
            return _tell(observer, options)
        from moldau.cli.top_screen import Screen

        return Screen(observer, options.interval).run()


def _tell(observer: Observer, options: Namespace) -> int:
    from moldau.cli.top_lines import lines
    from moldau.diagnosis.traffic import between

    before = observer.look()
    told = 0
    while options.count is None or told < options.count:
        time.sleep(max(0.0, before.at + options.interval - time.time()))
        after = observer.look()
        traffic = between(before, after)
        if options.json:
            print_json_line(_json(traffic, options.most))
        else:
            for line in lines(traffic, options.most):
                print(line)
        sys.stdout.flush()
        before = after
        told += 1
    return DONE


def _json(traffic: Any, most: int) -> dict[str, Any]:
    values = asdict(traffic)
    values |= {
        "brokers": [each._asdict() for each in traffic.brokers],
        **{name: [each._asdict() for each in getattr(traffic, name)[:most]] for name in _LISTED},
        "unknown": dict(traffic.unknown),
        "records_in": traffic.records_in,
        "bytes_in": traffic.bytes_in,
        "records_out": traffic.records_out,
        "lag": traffic.lag,
    }
    return values


_LISTED: Final = ("topics", "partitions", "groups")
