"""`moldau simulate`: clusters on a seeded clock, network and disk, with faults; a failed seed is replayed exactly.

With `--results` it is a campaign: every seed's outcome is appended to that file, failures end nothing, and the same
command goes on where it was interrupted.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from moldau.cli.failure import FAILED, USAGE, Failure
from moldau.simulation.campaign import Campaign, Form, Outcome, Tally, run_seed, seeds_from, show_log

_EPILOG = """\
examples:
  moldau simulate --seeds 1:200            two hundred clusters; stops at the first that breaks a promise
  moldau simulate --seed 17 --log info     one of them again, event by event, with the log of its nodes
  moldau simulate --seeds 1:2000 --minutes 30 --processes 2 --results campaign.jsonl
                                           a thousand hours; to be interrupted and continued
"""
# Outcomes between two lines that say how far it has come.
_BATCH: Final = 10
_OFF: Final = logging.CRITICAL + 1


def configure(parser: ArgumentParser) -> None:
    parser.description = "Run whole clusters in memory while machines, disks and connections fail, and check them."
    parser.epilog = _EPILOG
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=_seeds, dest="seeds", metavar="N", help="one run")
    which.add_argument("--seeds", type=_seeds, metavar="FIRST:END", help="many, one after the other")
    parser.add_argument("--nodes", type=int, default=3, metavar="N", help="machines of the cluster (default 3)")
    parser.add_argument("--requests", type=int, default=40, metavar="N", help="requests of each producer (default 40)")
    parser.add_argument("--faults", type=int, default=6, metavar="N", help="how often something breaks (default 6)")
    parser.add_argument(
        "--minutes", type=float, default=0.0, metavar="N", help="how long a cluster lives, with spells of faults"
    )
    parser.add_argument(
        "--changing-voters", action="store_true", help="who votes stands in the metadata log, and changes meanwhile"
    )
    parser.add_argument("--share-group", action="store_true", help="members of a share group read beside the others")
    parser.add_argument(
        "--failing-disks", action="store_true", help="nodes have two disks each, and disks fail or become slow, too"
    )
    parser.add_argument("--results", type=Path, metavar="FILE", help="note every outcome there, and go on from there")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="side by side, with --results")
    parser.add_argument("--log", default="off", metavar="LEVEL", help="show the nodes' log from this level on")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    if options.nodes < 3:
        raise Failure("A cluster that is to survive faults has at least 3 nodes.", USAGE)
    level = _OFF if options.log == "off" else logging.getLevelName(options.log.upper())
    if not isinstance(level, int):
        raise Failure(f"{options.log!r} is no level: debug, info, warning, error.", USAGE)
    show_log(level)
    form = Form(
        options.nodes,
        options.requests,
        options.faults,
        options.minutes,
        options.changing_voters,
        options.share_group,
        options.failing_disks,
    )
    if options.results is not None:
        _run_campaign(form, options.seeds, options.results, options.processes)
        return
    try:
        Campaign(form, _tell, time.monotonic).run(options.seeds)
    except Exception as failure:
        notes = "; ".join(getattr(failure, "__notes__", ()))
        raise Failure(f"{type(failure).__name__}: {failure} ({notes})", FAILED) from failure


def _run_campaign(form: Form, seeds: range, results: Path, processes: int) -> None:
    tally = Tally(form)
    for outcome in _noted(results):
        tally.add(outcome)
    left = tally.left(seeds)
    before, began = tally.hours, time.monotonic()
    with results.open("a") as notes, _outcomes(form, left, processes) as outcomes:
        for count, outcome in enumerate(outcomes, 1):
            # A line at a time: whoever ends this loses no more than the seeds that are under way.
            notes.write(json.dumps(outcome.as_dict()) + "\n")
            notes.flush()
            tally.add(outcome)
            if outcome.failure is not None:
                _tell(f"seed {outcome.seed} failed: {outcome.failure}; to repeat: {form.repeat_command(outcome.seed)}")
            if count % _BATCH == 0 or count == len(left):
                speed = (tally.hours - before) / (time.monotonic() - began) * 3600
                _tell(f"{tally.summary()}; {speed:.0f} simulated hours per hour")
    if not left:
        _tell(f"{tally.summary()}; nothing was left to do")
    if tally.failures:
        raise Failure("\n".join(tally.failures), FAILED)


def _noted(results: Path) -> Iterator[Outcome]:
    if results.exists():
        for line in results.read_text().splitlines():
            try:
                yield Outcome(**json.loads(line))
            except (ValueError, TypeError):
                raise Failure(f"{results} holds a line that no campaign wrote: {line[:60]!r}", FAILED) from None


@contextmanager
def _outcomes(form: Form, seeds: list[int], processes: int) -> Iterator[Iterator[Outcome]]:
    """As they come; whoever leaves early ends the processes, also when told to by a signal."""
    one = partial(run_seed, form, cpu_clock=time.process_time)
    if processes <= 1:
        yield map(one, seeds)
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        # Not by fork: what a process has done so far must not matter to what a seed does.
        with get_context("spawn").Pool(processes, _begin_process) as pool:
            yield pool.imap_unordered(one, seeds)
    finally:
        signal.signal(signal.SIGTERM, before)


def _begin_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    show_log(_OFF)


def _tell(line: str) -> None:
    print(line, flush=True)


def _seeds(text: str) -> range:
    try:
        return seeds_from(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor FIRST:END") from None
