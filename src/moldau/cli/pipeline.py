"""`moldau pipeline`: declared pipelines on Spark, from the first file to the running thing."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, key_value
from moldau.cli.failure import FAILED, Failure
from moldau.cli.table import note, print_json
from moldau.quantities import counted

if TYPE_CHECKING:
    from moldau.spark.pipeline import Pipeline

_NEW = """\
examples:
  moldau pipeline new orders.yaml
  moldau pipeline plan orders.yaml
  moldau pipeline run orders.yaml --once"""

_RUN = """\
examples:
  moldau pipeline run orders.yaml
  moldau pipeline run orders.yaml --once --set BOOTSTRAP=broker:9092
  moldau pipeline run orders.yaml --master spark://head:7077"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Declared pipelines on Spark: one file names sources, steps and sinks."
    commands = add_subcommands(parser)
    _configure_new(commands)
    _configure_validate(commands)
    _configure_plan(commands)
    _configure_run(commands)
    _configure_status(commands)


def _configure_new(commands: Any) -> None:
    parser = add_subcommand(commands, "new", _new, "write a commented pipeline to start from", _NEW)
    parser.add_argument("file", metavar="FILE", help="a name ending in .yaml, or in .py for a pipeline in Python")
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there")


def _configure_validate(commands: Any) -> None:
    parser = add_subcommand(commands, "validate", _validate, "check a pipeline and name the lines that are wrong")
    _add_file(parser)
    parser.add_argument(
        "--spark", action="store_true", help="let Spark check columns and expressions too (takes some ten seconds)"
    )
    add_json(parser)


def _configure_plan(commands: Any) -> None:
    parser = add_subcommand(commands, "plan", _plan, "draw the graph of a pipeline")
    _add_file(parser)
    parser.add_argument("--svg", metavar="OUT", help="write it as SVG to a file, `-` for standard output")


def _configure_run(commands: Any) -> None:
    parser = add_subcommand(commands, "run", _run, "run a pipeline until it is stopped", _RUN)
    _add_file(parser)
    parser.add_argument("--once", action="store_true", help="take what is there now, then end; for schedulers")
    parser.add_argument(
        "--master", metavar="URL", help="a Spark cluster, such as spark://host:7077 or yarn (default: this machine)"
    )
    parser.add_argument(
        "--conf", metavar="NAME=VALUE", type=key_value, action="append", default=[], help="a setting of Spark"
    )
    parser.add_argument("--plain", action="store_true", help="lines instead of a display, on a terminal too")
    parser.add_argument(
        "--spark-log", metavar="FILE", help="where Spark's own words go, `-` for here (default: beside the checkpoint)"
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="forget the checkpoint and begin again with what the topics still have; no output is removed",
    )


def _configure_status(commands: Any) -> None:
    parser = add_subcommand(commands, "status", _status, "show what the current or last run of a pipeline did")
    _add_file(parser)
    add_json(parser)


def _add_file(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the pipeline, in YAML or Python")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", type=key_value, action="append", default=[], help="a value for ${NAME} in it"
    )


def _load(options: Namespace) -> Pipeline:
    from moldau.spark.pipeline import load

    return load(options.file, dict(options.set))


# ---------------------------------------------------------------------------------------------------------- commands


def _new(options: Namespace) -> None:
    from moldau.spark.pipeline.template import template

    if not options.file.endswith((".yaml", ".yml", ".py")):
        raise Failure(f"{options.file} should end in .yaml, or in .py for a pipeline in Python.")
    if os.path.exists(options.file) and not options.force:
        raise Failure(f"{options.file} is there already; --force would overwrite it.")
    stem = os.path.splitext(os.path.basename(options.file))[0]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem)
    with open(options.file, "w", encoding="utf-8") as file:
        file.write(template(options.file, name))
    note(f"Wrote {options.file}. Next: `moldau pipeline plan {options.file}`, then `run`.")


def _validate(options: Namespace) -> int | None:
    from moldau.spark.pipeline import InvalidPipeline

    try:
        pipeline = _load(options)
    except InvalidPipeline as error:
        if options.json:
            print_json({"valid": False, "problems": [_problem_json(each.place, each.text) for each in error.problems]})
        else:
            for problem in error.problems:
                print(problem)
            note(f"{counted(len(error.problems), 'problem')}.")
        return FAILED
    if options.spark:
        _validate_on_spark(pipeline)
    if options.json:
        print_json({"valid": True, "problems": [], "notes": pipeline.notes})
        return None
    for remark in pipeline.notes:
        note(f"note: {remark}")
    counts = (
        f"{counted(len(pipeline.sources), 'source')}, {counted(len(pipeline.steps), 'step')}, "
        f"{counted(len(pipeline.outputs), 'sink')}"
    )
    print(f"{options.file} is a valid pipeline: {counts}.")
    return None


def _problem_json(place: Any, text: str) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "problem": text}


def _validate_on_spark(pipeline: Pipeline) -> None:
    from moldau.spark import spark_session
    from moldau.spark.pipeline.assembly import build

    spark = spark_session(f"moldau validate {pipeline.name}", master="local[1]", settings=pipeline.spark)
    try:
        build(spark, pipeline)
    finally:
        spark.stop()


def _plan(options: Namespace) -> None:
    from moldau.spark.pipeline.plan import draw
    from moldau.spark.pipeline.svg import draw_svg

    pipeline = _load(options)
    if options.svg is None:
        for line in draw(pipeline):
            print(line)
        return
    drawing = draw_svg(pipeline)
    if options.svg == "-":
        print(drawing, end="")
        return
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write(drawing)
    note(f"Wrote {options.svg}.")


def _run(options: Namespace) -> None:
    from moldau.cli.pipeline_display import Display
    from moldau.spark.pipeline.checkpoints import forget
    from moldau.spark.pipeline.running import Supervisor
    from moldau.spark.session import require_spark

    require_spark()
    pipeline = _load(options)
    with ExitStack() as ends:
        display = ends.enter_context(Display(pipeline, plain=options.plain))
        spark = _session(options, pipeline, ends)
        if options.fresh:
            for kept in forget(spark, pipeline):
                note(f"{pipeline.name}: the files there are stay; their record is now {kept}.")
        supervisor = Supervisor(spark, pipeline, once=options.once, show=display.show)

        def stop(number: int, frame: object) -> None:
            display.stopping()
            supervisor.stop()
            signal.signal(number, signal.SIG_DFL)  # whoever asks twice does not want to wait

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        supervisor.run()


def _session(options: Namespace, pipeline: Pipeline, ends: ExitStack) -> Any:
    """The session the pipeline runs on; on a cluster the package travels along."""
    from moldau.spark import spark_session
    from moldau.spark.pipeline.shipping import shipping_settings, write_archive

    settings = {**pipeline.spark, **dict(options.conf)}
    master = options.master or settings.get("spark.master")
    if master and not master.startswith("local"):
        directory = ends.enter_context(tempfile.TemporaryDirectory(prefix="moldau-"))
        settings |= shipping_settings(write_archive(os.path.join(directory, "moldau.zip")), settings)
    log = options.spark_log or pipeline.status_file.removesuffix(".status.json") + ".spark.log"
    with _standard_error_to(log if log != "-" else None):
        spark = spark_session(f"moldau pipeline {pipeline.name}", master=master, settings=settings)
    ends.callback(spark.stop)
    return spark


@contextmanager
def _standard_error_to(path: str | None) -> Iterator[None]:
    """For the JVM that is started meanwhile: it keeps what it was born with, this process takes its own back."""
    if path is None:
        yield
        return
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    sys.stderr.flush()
    own = os.dup(2)
    with open(path, "ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


def _status(options: Namespace) -> None:
    from moldau.cli.pipeline_display import print_status
    from moldau.spark.pipeline.lag import current_lag
    from moldau.spark.pipeline.status import read_status

    pipeline = _load(options)
    status = read_status(pipeline)
    if status is None:
        raise Failure(f"{pipeline.name} has not run yet; there is no {pipeline.status_file}.")
    lags = current_lag(pipeline, status)
    if options.json:
        from dataclasses import asdict

        print_json({**asdict(status), "killed": status.killed, "lag": lags})
        return
    print_status(status, lags)
    sys.stdout.flush()
