"""Several sinks in one query: the source is read once, each batch written to all.

Possible where a sink needs nothing from one batch to the next: rows of one topic source, through steps without state,
in append mode, at the pipeline's own pace. Safe where a batch that is repeated, because another sink failed with it, is
left out by a sink that has it: a topic knows it by the id of the query, its own name and the number, files by the
record in their directory. Those share unless `share: false` says otherwise. With `share: true` those share as well that
would write it again (databases, functions, topics that are told at least once), and are written last.

Which sinks share is written down beside the checkpoint and does not change with the file: a sink that comes later, or
had a checkpoint of its own before, is in a query of its own, and one that can share no more is refused, because its
place in the source is that of the others. So is one that comes back: they went on while it was away.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.pipeline.assembly import build
from moldau.spark.pipeline.checkpoints import (
    RECORDED,
    check_record,
    checkpoint_of,
    exists,
    read_text,
    shared_checkpoint,
    write_text,
)
from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.place import PipelineError
from moldau.spark.pipeline.sinks import failure_of, write_batch
from moldau.spark.pipeline.sources import source_frame
from moldau.spark.sink.content import input_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_REPEATING: Final = ("topic", "jdbc", "python")
_STEPS: Final = ("parse", "expect", "filter", "select", "add", "join")
_MEMBERS: Final = "members.json"
_LEFT: Final = "left"


def candidates(pipeline: Pipeline) -> dict[str, list[Part]]:
    """The sinks that could share, by the source they read."""
    able: dict[str, list[Part]] = {}
    for part in pipeline.outputs:
        only = _only_source(pipeline, part)
        if only is not None and _may_share(pipeline, part):
            able.setdefault(only, []).append(part)
    return able


def groups(spark: SparkSession, pipeline: Pipeline) -> dict[str, list[Part]]:
    """The sinks that share a query, by the source they read; and that is written down."""
    able = candidates(pipeline)
    found: dict[str, list[Part]] = {}
    for source in pipeline.sources.values():
        place = f"{shared_checkpoint(pipeline, source)}/{_MEMBERS}"
        here = able.get(source.name, [])
        if exists(spark, place):
            names = json.loads(read_text(spark, place))
            _check_still(pipeline, names, {part.name for part in here})
            _check_return(spark, pipeline, names, f"{shared_checkpoint(pipeline, source)}/{_LEFT}")
            members = [part for part in here if part.name in names]
        else:
            members = [part for part in here if not exists(spark, f"{checkpoint_of(pipeline, part)}/offsets")]
            if len(members) < 2:
                continue
            write_text(spark, place, json.dumps([part.name for part in members]))
        if members:
            found[source.name] = members
    return found


def start_shared(
    spark: SparkSession, pipeline: Pipeline, source: Part, members: list[Part], *, once: bool
) -> StreamingQuery:
    """The running query of sinks that share it."""
    for part in members:
        check_record(spark, pipeline, part, shared_checkpoint(pipeline, source))
    try:
        frame = source_frame(spark, pipeline, source, source)
        writer: Any = frame.writeStream.queryName(f"{pipeline.name}.{source.name}")
        writer = writer.option("checkpointLocation", shared_checkpoint(pipeline, source))
        trigger = {"availableNow": True} if once else {"processingTime": pipeline.trigger.interval}
        query: StreamingQuery = writer.trigger(**trigger).foreachBatch(_batch(spark, pipeline, source, members)).start()
        return query
    except PipelineError:
        raise
    except Exception as error:
        raise failure_of(members[0], error) from error


def _batch(
    spark: SparkSession, pipeline: Pipeline, source: Part, members: list[Part]
) -> Callable[[DataFrame, int], None]:
    checkpoint = shared_checkpoint(pipeline, source)

    def write(batch: DataFrame, number: int) -> None:
        session = batch.sparkSession
        query = str(session.sparkContext.getLocalProperty("sql.streaming.queryId"))
        made_from = input_in(read_text(session, f"{checkpoint}/offsets/{number}"))
        batch.persist()
        try:
            for part in sorted(members, key=lambda part: not _is_exact(part)):
                frames = build(session, pipeline, part, {source.name: batch})
                named = {"txnAppId": f"{query}-{part.name}", "txnVersion": str(number)}
                write_batch(pipeline, part, frames, number, {**named, "txnInput": made_from} if made_from else named)
        finally:
            batch.unpersist()

    return write


def _may_share(pipeline: Pipeline, part: Part) -> bool:
    if pipeline.share is False:
        return False
    return _is_exact(part) or (pipeline.share is True and part.kind in _REPEATING)


def _is_exact(part: Part) -> bool:
    """Whether it leaves out a batch it has; what is shown to people may be shown again."""
    return part.kind in (*RECORDED, "console") or (part.kind == "topic" and part["delivery"] == "exactly-once")


def _only_source(pipeline: Pipeline, part: Part) -> str | None:
    """The one stream a sink reads, if everything between can be done batch by batch."""
    if not part.streaming or part["mode"] != "append" or part["trigger"] is not None:
        return None
    sources = [each for each in pipeline.upstream(part) if each.section == "source" and each.streaming]
    steps = [each for each in pipeline.upstream(part) if each.section == "step" and each.streaming]
    if len(sources) != 1 or sources[0].kind not in ("topic", "pattern"):
        return None
    for step in steps:
        if step.kind not in _STEPS or sum(pipeline.part(name).streaming for name in step.inputs) != 1:
            return None
    return sources[0].name


def _check_still(pipeline: Pipeline, names: list[str], able: set[str]) -> None:
    for part in pipeline.outputs:
        if part.name in names and part.name not in able:
            raise PipelineError(
                f"{part.place}: {part.owner} shared a query with others up to now, and its place in the source is "
                "theirs; it cannot go on by itself. Leave it as it was and declare another sink, or begin with --fresh."
            )


def _check_return(spark: SparkSession, pipeline: Pipeline, names: list[str], place: str) -> None:
    """Remembers who has left, and refuses whoever comes back: it would miss what the others read meanwhile."""
    here = {part.name: part for part in pipeline.outputs}
    for name in names:
        left = exists(spark, f"{place}/{name}")
        if left and name in here:
            raise PipelineError(
                f"{here[name].place}: {here[name].owner} shared a query with others that went on without it, and would "
                "miss what they have read since. Declare it under another name, and it begins where its source says, "
                "or begin with --fresh."
            )
        if not left and name not in here:
            write_text(spark, f"{place}/{name}", "")
