"""`moldau simulate`: clusters on a seeded clock, network and disk, with faults; a failed seed is replayed exactly."""

from __future__ import annotations

import logging
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from moldau.cli.failure import FAILED, Failure
from moldau.simulation.campaign import Campaign, seeds_from

_EPILOG = """\
examples:
  moldau simulate --seeds 1:200            two hundred clusters; stops at the first that breaks a promise
  moldau simulate --seed 17 --log info     one of them again, event by event, with the log of its nodes
"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Run whole clusters in memory while machines, disks and connections fail, and check them."
    parser.epilog = _EPILOG
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=_seeds, dest="seeds", metavar="N", help="one run")
    which.add_argument("--seeds", type=_seeds, metavar="FIRST:END", help="many, one after the other")
    parser.add_argument("--nodes", type=int, default=3, metavar="N", help="machines of the cluster (default 3)")
    parser.add_argument("--requests", type=int, default=40, metavar="N", help="requests of each producer (default 40)")
    parser.add_argument("--faults", type=int, default=6, metavar="N", help="how often something breaks (default 6)")
    parser.add_argument("--log", default="off", metavar="LEVEL", help="show the nodes' log from this level on")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    if options.nodes < 3:
        raise Failure("A cluster that is to survive faults has at least 3 nodes.", FAILED)
    level = logging.CRITICAL + 1 if options.log == "off" else logging.getLevelName(options.log.upper())
    if not isinstance(level, int):
        raise Failure(f"{options.log!r} is no level: debug, info, warning, error.", FAILED)
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    campaign = Campaign(
        options.nodes, options.requests, options.faults, lambda line: print(line, flush=True), time.monotonic
    )
    try:
        campaign.run(options.seeds)
    except Exception as failure:
        notes = "; ".join(getattr(failure, "__notes__", ()))
        raise Failure(f"{type(failure).__name__}: {failure} ({notes})", FAILED) from failure


def _seeds(text: str) -> range:
    try:
        return seeds_from(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor FIRST:END") from None
