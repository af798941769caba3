"""`python -m moldau.simulation SEED`, or FIRST:END for many: runs the durable scenario and says what came of it.

With `--nodes 3` it is a cluster, as with `moldau simulate`. This is how a failure is repeated: the seed a test printed
gives the same run again, with the node's log if `--log` asks for it.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time

from moldau.simulation.campaign import Campaign, Form, seeds_from, show_log
from moldau.simulation.scenario import run_durable


def repeat_command(seed: int | str, requests: int, power_cuts: int) -> str:
    """What to type to have a run again."""
    return f"python -m moldau.simulation {seed} --requests {requests} --cuts {power_cuts} --log info"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m moldau.simulation", description=__doc__)
    parser.add_argument("seeds", help="one seed, or FIRST:END")
    parser.add_argument("--requests", type=int, default=30, help="requests each producer sends")
    parser.add_argument("--cuts", type=int, default=6, help="how often the machine gets into trouble")
    parser.add_argument("--log", default="critical", help="the node's log from this level on, to standard error")
    parser.add_argument("--nodes", type=int, default=1, help="a cluster of so many machines, from 3 on")
    parser.add_argument("--faults", type=int, default=6, help="how often something breaks in a cluster")
    parser.add_argument(
        "--minutes", type=float, default=0.0, help="how long a cluster lives, instead of so many faults"
    )
    options = parser.parse_args()
    show_log(logging.getLevelNamesMapping()[options.log.upper()])
    seeds = seeds_from(options.seeds)
    if options.nodes > 1:
        form = Form(options.nodes, options.requests, options.faults, options.minutes)
        Campaign(form, print, time.monotonic).run(seeds)
        return 0
    began = told = time.monotonic()
    cuts = acknowledged = 0
    for seed in seeds:
        try:
            report = run_durable(seed, requests=options.requests, power_cuts=options.cuts)
        except BaseException:
            print(f"failed; to repeat: {repeat_command(seed, options.requests, options.cuts)}", file=sys.stderr)
            raise
        cuts += report.cuts
        acknowledged += report.acknowledged
        if len(seeds) == 1:
            print(report)
        elif time.monotonic() - told > 5.0 or seed == seeds[-1]:
            told = time.monotonic()
            print(
                f"seed {seed}: {cuts} power cuts survived, {acknowledged} records acknowledged, {told - began:.0f} s",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
