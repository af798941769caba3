"""Who reads whom, and whether that can work: names, circles, what a stream allows and what a table does.

Everything that can be known without Spark is found here, before a session has cost its ten seconds.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from typing import Final

from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.place import Problems, allowed, listed

_READS: Final = re.compile(r"\b(?:from|join)\s+`?([A-Za-z_][A-Za-z0-9_]*)`?", re.IGNORECASE)
_APPEND_ONLY: Final = ("parquet", "json", "csv", "orc", "iceberg")


def wire(pipeline: Pipeline, problems: Problems, known: list[str]) -> None:
    """Completes inputs and streaming of every part, puts the steps in order, and adds what is wrong.

    `known` has the names of all sources and steps in the file, also of those too broken to become a part: whoever
    reads them did nothing wrong.
    """
    for name in pipeline.steps.keys() & pipeline.sources.keys():
        problems.add(pipeline.steps[name].place, f"`{name}` is a source already; a step needs a name of its own.")
    for part in [*pipeline.steps.values(), *pipeline.sinks.values()]:
        _complete_inputs(part, known, problems)
    problems.check()
    _order(pipeline, problems)
    problems.check()
    for part in [*pipeline.sources.values(), *pipeline.steps.values(), *pipeline.outputs]:
        _mark_streaming(pipeline, part)
    for part in [*pipeline.sources.values(), *pipeline.steps.values(), *pipeline.outputs]:
        _check_part(pipeline, part, problems)
    _check_bad_records(pipeline, problems)
    _note_unread(pipeline)


def _complete_inputs(part: Part, known: list[str], problems: Problems) -> None:
    if part.kind == "sql" and not part.inputs:
        part.inputs = list(dict.fromkeys(name for name in _READS.findall(part["sql"]) if name in known))
        if not part.inputs:
            problems.add(part.line("sql"), f"the query of {part.owner} reads none of {listed(known)}.")
    elif not part.inputs and part.section == "step" and part.kind == "python":
        pass  # a function may make rows of its own
    elif not part.inputs:
        problems.add(part.place, f"{part.owner} lacks `from`, which names what it reads.")
    if part.kind == "join":
        part.inputs.append(part["join"])
    elif part.kind == "union":
        part.inputs += part["union"]
    single = part.kind not in ("sql", "python", "union") if part.section == "step" else True
    if single and len(part.inputs) > (2 if part.kind == "join" else 1):
        problems.add(part.line("from"), f"{part.owner} reads one part only; a step of `union` puts several together.")
    for name in part.inputs:
        if name == part.name and part.section == "step":
            problems.add(part.line("from"), f"{part.owner} reads itself.")
        elif name not in known:
            field = "join" if part.kind == "join" and name == part["join"] else "from"
            problems.add(part.line(field), f"{part.owner} reads `{name}`, which is not there; {allowed(name, known)}")


def _order(pipeline: Pipeline, problems: Problems) -> None:
    graph = {
        name: [each for each in part.inputs if each in pipeline.steps and each != name]
        for name, part in pipeline.steps.items()
    }
    try:
        ordered = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = error.args[1]
        first = min((pipeline.steps[name] for name in circle), key=lambda part: part.place)
        problems.add(first.place, f"steps read each other in a circle: {' -> '.join(reversed(circle))}.")
        return
    pipeline.steps = {name: pipeline.steps[name] for name in ordered}


def _mark_streaming(pipeline: Pipeline, part: Part) -> None:
    if part.section == "source":
        part.streaming = part.kind == "rate" or bool(part.fields.get("stream"))
    elif part is pipeline.dead_letters:
        part.streaming = pipeline.streaming
    else:
        part.streaming = any(pipeline.part(name).streaming for name in part.inputs)


def _check_part(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    check = _CHECKS.get((part.section, part.kind))
    if check is not None:
        check(pipeline, part, problems)
    if part.section == "sink" and part.kind in _APPEND_ONLY and part["mode"] != "append":
        problems.add(part.line("mode"), f"{part.owner} writes {part.kind}, which only takes `mode: append`.")
    if part.section == "sink" and part.streaming and part["mode"] == "append":
        for step in pipeline.upstream(part):
            if step.kind == "aggregate" and step.streaming and not _has_watermark(pipeline, step):
                problems.add(
                    part.line("mode"),
                    f"{part.owner} appends, but step `{step.name}` never knows when a group is final; give that step "
                    "`time`, `window` and `watermark`, or this sink `mode: update` or `mode: complete`.",
                )


def _has_watermark(pipeline: Pipeline, step: Part) -> bool:
    return any(
        (each.kind == "aggregate" and each["watermark"])
        or each.kind in ("watermark", "sql", "python")  # a query or a function may have set one
        or (each.kind == "deduplicate" and each["within"])
        for each in [step, *pipeline.upstream(step)]
        if each.section == "step"
    )


def _check_topic_source(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    if part["ending"] and part.streaming:
        problems.add(part.line("ending"), f"{part.owner} is a stream, which has no end; add `stream: false`.")
    if part["max_per_batch"] and not part.streaming:
        problems.add(part.line("max_per_batch"), f"{part.owner} is read at once; `max_per_batch` is for streams.")


def _check_file_source(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    if part["format"] is None:
        ending = part["file"].rstrip("*").rpartition(".")[2].lower()
        part.fields["format"] = {"jsonl": "json", "ndjson": "json", "txt": "text", "tsv": "csv"}.get(ending, ending)
        if part["format"] not in ("json", "csv", "parquet", "orc", "text"):
            problems.add(
                part.line("file"), f"{part.owner} does not show what its files are; add `format: json` or the like."
            )
    if part.streaming and not part["schema"] and part["format"] not in ("text", None):
        problems.add(part.place, f"{part.owner} is a stream of files and needs a `schema`.")


def _check_jdbc_source(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    if bool(part["table"]) == bool(part["query"]):
        problems.add(part.place, f"{part.owner} needs either `table` or `query`.")


def _check_rows(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    widths = {len(row) for row in part["rows"] or []}
    if len(widths) > 1:
        problems.add(
            part.line("rows"),
            f"the rows of {part.owner} have {listed(map(str, sorted(widths)))} values; one number is allowed.",
        )


def _check_parse(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    form = part["parse"]
    if form in ("json", "csv") and not part["schema"]:
        problems.add(part.place, f"{part.owner} parses {form} and needs a `schema`, such as `id BIGINT, name STRING`.")
    if form in ("avro", "protobuf") and not part["schema_file"]:
        what = "an Avro schema (.avsc)" if form == "avro" else "a descriptor set (protoc --descriptor_set_out)"
        problems.add(part.place, f"{part.owner} parses {form} and needs a `schema_file`: {what}.")
    if form == "protobuf" and not part["message"]:
        problems.add(part.place, f"{part.owner} parses protobuf and needs a `message`, the full name of its type.")
    if form in ("avro", "protobuf") and part["schema"]:
        problems.add(part.line("schema"), f"{part.owner} takes its columns from `schema_file`; leave `schema` out.")


def _check_join(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    if bool(part["using"]) == bool(part["where"]):
        problems.add(part.place, f"{part.owner} needs either `using` (equal columns) or `where` (a condition).")
    left, right = (pipeline.part(name).streaming for name in part.inputs[:2])
    if left and right and part["broadcast"]:
        problems.add(part.line("broadcast"), f"{part.owner} joins two streams; a stream cannot be broadcast.")
    kept = {"left": left, "semi": left, "anti": left, "right": right}.get(part["how"], True)
    if left != right and not kept:
        problems.add(
            part.line("how"),
            f"{part.owner} keeps rows of the table that have no match in the stream, which is never known; "
            f"allowed here: `inner` and `{'left' if left else 'right'}`.",
        )
    if left != right and part["how"] == "full":
        problems.add(part.line("how"), f"{part.owner} joins a stream with a table; `full` is not possible then.")


def _check_deduplicate(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    if part["within"] and not part["time"]:
        problems.add(part.line("within"), f"{part.owner} has `within` and needs `time`, the column it counts by.")
    if part["time"] and not part["within"]:
        problems.add(part.line("time"), f"{part.owner} has `time` and needs `within`, how long a key is remembered.")
    if part.streaming and not part["within"] and not problems.found:
        pipeline.notes.append(
            f"{part.place}: {part.owner} remembers every key for ever; with `time` and `within` it would forget."
        )


def _check_aggregate(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    if part["window"] and part["session"]:
        problems.add(part.line("session"), f"{part.owner} has both `window` and `session`; choose one.")
    for name in ("window", "session", "watermark"):
        if part[name] and not part["time"]:
            problems.add(part.line(name), f"{part.owner} has `{name}` and needs `time`, the column it counts by.")
    if part["slide"] and not part["window"]:
        problems.add(part.line("slide"), f"{part.owner} has `slide` and needs `window`.")
    if part["slide"] and part["window"] and part["slide"] > part["window"]:
        problems.add(part.line("slide"), f"{part.owner} slides further than its window is long and would skip events.")
    if not part["by"] and not part["window"] and not part["session"] and part.streaming and part["watermark"]:
        problems.add(part.line("watermark"), f"{part.owner} has a `watermark` but no `window` that could become final.")


def _check_stateful(pipeline: Pipeline, part: Part, problems: Problems) -> None:
    if not part.streaming:
        problems.add(part.place, f"{part.owner} keeps state from batch to batch, but reads no stream.")


_CHECKS: Final = {
    ("source", "topic"): _check_topic_source,
    ("source", "pattern"): _check_topic_source,
    ("source", "file"): _check_file_source,
    ("source", "jdbc"): _check_jdbc_source,
    ("source", "rows"): _check_rows,
    ("step", "parse"): _check_parse,
    ("step", "join"): _check_join,
    ("step", "deduplicate"): _check_deduplicate,
    ("step", "aggregate"): _check_aggregate,
    ("step", "stateful"): _check_stateful,
    ("step", "processor"): _check_stateful,
}


def _check_bad_records(pipeline: Pipeline, problems: Problems) -> None:
    careful = [part for part in pipeline.steps.values() if part.kind in ("parse", "expect")]
    for part in careful:
        if part["bad"] is None and pipeline.dead_letters is not None:
            part.fields["bad"] = "dead-letter"
        elif part["bad"] is None:
            problems.add(
                part.place,
                f"{part.owner} may meet bad records; say where they go: `dead_letters:` with a `topic`, or `bad: drop` "
                "or `bad: fail` here.",
            )
        elif part["bad"] == "dead-letter" and pipeline.dead_letters is None:
            problems.add(part.line("bad"), f"{part.owner} sends bad records to `dead_letters`, which is not declared.")
    if pipeline.dead_letters is not None:
        sending = [part.name for part in careful if part["bad"] == "dead-letter"]
        pipeline.dead_letters.inputs = sending
        if not sending:
            problems.add(
                pipeline.dead_letters.place,
                "no step sends anything to `dead_letters`; steps of `parse` and `expect` can.",
            )


def _note_unread(pipeline: Pipeline) -> None:
    read = {name for part in [*pipeline.steps.values(), *pipeline.sinks.values()] for name in part.inputs}
    for part in [*pipeline.sources.values(), *pipeline.steps.values()]:
        if part.name not in read:
            pipeline.notes.append(f"{part.place}: nothing reads {part.owner}.")
