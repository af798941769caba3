"""`make bench`: the same loads on our node and on librdkafka's mock broker, in turn, in one run."""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path

from bench import load
from bench.contenders import CONTENDERS, Contender, fresh
from bench.conversation import Conversation, Versions
from bench.report import Failures, Results, machine, table, write_json
from bench.rows import ROWS, Plan, Row

DIRECTORY = Path("build/bench")

FOOTNOTE = """
Medians of {repetitions} runs of {seconds} s, least and most in brackets. Contenders take turns, in fresh processes.
The mock keeps records in memory and checks nothing; our node validates them and writes them to files."""


def main() -> int:
    options = arguments()
    load.build()
    allow_many_connections()
    rows = [row for row in ROWS if not options.rows or any(word in row.title for word in options.rows)]
    contenders = [contender for contender in CONTENDERS if not options.only or contender.name == options.only]
    repetitions = options.repetitions or (3 if options.quick else 5)
    spoken = [versions_of(contender) for contender in contenders]
    plan = Plan(
        warmup=0.1 if options.quick else 0.3,
        seconds=0.5 if options.quick else 2.0,
        records=250_000 if options.quick else 1_000_000,
        directory=DIRECTORY,
        spoken=spoken,
    )
    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    results: Results = {}
    failures: Failures = {}
    for row in rows:
        print(f"{row.title} ", end="", flush=True, file=sys.stderr)
        for _ in range(repetitions):
            for contender in contenders:
                measure(row, contender, plan, results, failures)
                print(".", end="", flush=True, file=sys.stderr)
        print(file=sys.stderr)
    fresh(DIRECTORY / "data")
    print()
    print(table(rows, results, [contender.name for contender in contenders], failures))
    print(FOOTNOTE.format(repetitions=repetitions, seconds=plan.seconds))
    if options.json:
        write_json(options.json, rows, results, failures)
    return 0


def measure(row: Row, contender: Contender, plan: Plan, results: Results, failures: Failures) -> None:
    """A contender that fails a row is named in the table instead of left out, and not asked again."""
    if (row.title, contender.name) in failures:
        return
    try:
        found = row.measure(contender, plan)
    except Exception as error:
        failures[row.title, contender.name] = f"{type(error).__name__}: {error}"
        return
    for name, value in found.items():
        results.setdefault(row.title, {}).setdefault(name, {}).setdefault(contender.name, []).append(value)


def allow_many_connections() -> None:
    """Brokers inherit the limit on open files, and 1,024 is a common default."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def versions_of(contender: Contender) -> Versions:
    with contender.run(fresh(DIRECTORY / "data")) as broker, Conversation(broker.address) as conversation:
        return conversation.versions()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute; less certain")
    parser.add_argument("--repetitions", type=int, help="how often each row is measured")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    parser.add_argument("--only", choices=[contender.name for contender in CONTENDERS], help="measure one contender")
    parser.add_argument("rows", nargs="*", help="words from the titles of the rows to measure; all by default")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
