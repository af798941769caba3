"""`make bench` and `make bench-peers`: the same loads on every contender, in turn, in one run; one table, one page."""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import shutil
import signal
import sys
from pathlib import Path

import moldau
from bench import load, machine, python_clients, spark_rows
from bench.apache_kafka import Kafka, KafkaMissing, fetch, release_of, settings_of_kafka
from bench.contenders import MOCK, MOLDAU, Contender, fresh
from bench.conversation import Conversation, Versions
from bench.page import page
from bench.report import markdown
from bench.results import Results
from bench.rows import EVERYTHING, ROWS, cluster, named
from bench.rows.row import Plan, Row
from bench.rows.tools import use_tools_of
from bench.schedule import Progress, Run, measure_all, minutes, stage, to_stderr
from bench.steady import TOLERANCE, WINDOWS

DIRECTORY = Path("build/bench")
PARTS = ("brokers", "clients", "spark")


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the brokers are stopped, too
    if options.render:
        first, *later = options.render
        results = Results.read(first)
        for each in later:
            results.measured_again(Results.read(each))
        write(results, options.out or first.parent)
        return 0
    load.build()
    compile_modules()
    allow_many_files()
    results = Results(machine.describe())
    contenders = choose(options, results)
    rows = chosen_rows(options, any(isinstance(contender, Kafka) for contender in contenders), results)
    # Of this run alone: two runs at the same time disturb each other's numbers, but not each other's files.
    directory = fresh(DIRECTORY / f"run-{os.getpid()}")
    plan = Plan(
        warmup=0.05 if options.quick else 0.2,
        seconds=0.3 if options.quick else 4.0,
        records=100_000 if options.quick else 3_000_000,
        directory=directory,
        spoken=[versions_of(contender, directory / "versions") for contender in contenders],
        haste=50.0 if options.quick else 1.0,
    )
    repetitions = options.repetitions or (1 if options.quick else 3)
    results.about |= {
        "repetitions": repetitions,
        "seconds per load": plan.seconds,
        "steady windows": WINDOWS,
        "steady to %": round(TOLERANCE * 100),
        "load average before": round(machine.load_average(), 2),
    }
    run = Run(rows, contenders, repetitions, plan, results)
    if not options.quick:
        to_stderr("touching memory, so that nobody has to be the first to use it")
        machine.touch_memory()
    try:
        measure_everything(run, options)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        results.write(DIRECTORY / "last.json")  # of a run that was cut short, too: --render makes pages of it
    write(results, options.out or DIRECTORY / "report")
    return 0


def measure_everything(run: Run, options: argparse.Namespace) -> None:
    parts = set(options.parts or (["brokers"] if options.rows else PARTS))
    clients = python_clients.Comparison(run.results, run.repetitions, options.quick) if "clients" in parts else None
    spark = "spark" in parts
    planned = (run.estimate() if "brokers" in parts else 0) + (clients.estimate() if clients else 0)
    planned += spark_rows.estimate(quick=options.quick, peers=options.peers) if spark else 0
    to_stderr(f"{', '.join(contender.name for contender in run.contenders)}: about {minutes(planned)} minutes")
    progress = Progress(planned, to_stderr)
    if "brokers" in parts:
        with stage(run.plan, run.results) as brokers:
            for contender in run.contenders:
                if any(row.measure is not None for row in run.rows):
                    brokers.broker(contender)
            measure_all(run, brokers, progress)
    if clients is not None:
        try:
            clients.measure(progress)
        except Exception as error:  # what was measured before is worth its report
            run.results.about["Python clients"] = f"not all measured: {type(error).__name__}: {error}"
            to_stderr(str(run.results.about["Python clients"]))
    if spark:
        spark_rows.measure(run.results, quick=options.quick, peers=options.peers)


def choose(options: argparse.Namespace, results: Results) -> list[Contender]:
    contenders: list[Contender] = [MOLDAU]
    if wants_kafka(options):
        try:
            libs = fetch()
        except KafkaMissing as error:
            to_stderr(f"Apache Kafka does not take part: {error}")
            results.about["Apache Kafka"] = f"did not take part: {error}"
        else:
            kafka = Kafka(libs)
            use_tools_of(kafka)
            contenders.append(kafka)
            results.about |= {
                "Apache Kafka": release_of(libs),
                "java": machine.java_version(),
                "Kafka's settings": settings_of_kafka(),
            }
    only = names_in(options.only)
    # A ceiling is of use where there is no rival; beside one it would only make the run longer.
    if len(contenders) == 1 or MOCK.name in only:
        contenders.append(MOCK)
    return [contender for contender in contenders if not only or contender.name.lower() in only]


def wants_kafka(options: argparse.Namespace) -> bool:
    return options.peers or "kafka" in names_in(options.only)


def names_in(words: list[str] | None) -> set[str]:
    """With commas or blanks between them, large letters or small."""
    return {name.lower() for word in words or () for name in word.split(",") if name}


def chosen_rows(options: argparse.Namespace, with_kafka: bool, results: Results) -> list[Row]:
    if options.rows:
        rows = named(options.rows)
        if not rows:
            raise SystemExit("\n  ".join(["no row has such a title; there are:", *(row.title for row in EVERYTHING)]))
    else:
        rows = [row for row in (EVERYTHING if options.all else ROWS) if row.quick or not options.quick]
    if not with_kafka:
        if wants_kafka(options):
            left_out = [row.title for row in rows if row.needs_kafka]
            results.about["rows left out"] = f"{', '.join(left_out)}: they are Kafka's own programs"
        rows = [row for row in rows if not row.needs_kafka]
    # Single brokers, secured ones and clusters run one after the other; nodes are killed when nothing else is left.
    return sorted(rows, key=lambda row: (row.chapter == cluster.CHAPTER, row.secured is not None))


def write(results: Results, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    results.write(directory / "results.json")
    text = markdown(results, flames=(directory / "flames").is_dir())
    (directory / "README.md").write_text(text)
    (directory / "index.html").write_text(page(results))
    print(text)
    to_stderr(f"written: {directory}/README.md, index.html, results.json")


def compile_modules() -> None:
    """As whatever installs a package does. With PYTHONDONTWRITEBYTECODE in the environment every start would compile
    each module that changed since, which took three times as long as all the rest of it."""
    compileall.compile_dir(Path(moldau.__file__).parent, quiet=1)


def allow_many_files() -> None:
    """Brokers inherit the limit on open files, and 1,024 is a common default."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def versions_of(contender: Contender, data: Path) -> Versions:
    with contender.run(fresh(data)) as broker, Conversation(broker.address) as conversation:
        return conversation.versions()


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows, shorter, once; to try it")
    parser.add_argument("--peers", action="store_true", help="also Apache Kafka and its tools, and Spark's connector")
    parser.add_argument("--repetitions", type=int, help="how often each row is measured")
    parser.add_argument("--out", type=Path, help="where README.md, index.html and results.json go")
    parser.add_argument("--only", nargs="*", help="these contenders: moldau, kafka, mock; with blanks or commas")
    parser.add_argument("--parts", nargs="*", choices=PARTS, help="all by default, and brokers where rows are named")
    parser.add_argument("--all", action="store_true", help="also the rows that are not in the table")
    parser.add_argument(
        "--render",
        type=Path,
        nargs="+",
        metavar="RESULTS.JSON",
        help="measure nothing, write the pages of this file again, with the rows of later ones in place of its own",
    )
    parser.add_argument("--rows", nargs="*", default=[], dest="row_words", metavar="WORDS", help="the same as WORDS")
    parser.add_argument("rows", nargs="*", metavar="WORDS", help="words from the title of a row to measure")
    options = parser.parse_args(words)
    options.rows += options.row_words
    return options


if __name__ == "__main__":
    sys.exit(main())
