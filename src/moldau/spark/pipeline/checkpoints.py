"""What a pipeline remembers of its past: Spark's checkpoints, and the records that files keep of themselves.

A sink of files has a record of its own, `_spark_metadata` in its directory, of batches by number. A query that begins
anew numbers its batches anew, and the sink would take them for written. So whoever forgets the checkpoint has to set
that record aside too, and a checkpoint that is gone while the record is there is a mistake to be told of. So is an
older copy: it would plan batches under numbers that the record has, and they would never be written. Spark plans a
batch in the checkpoint before a sink hears of it, so a record that is ahead of the plans cannot be of this checkpoint.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.pipeline.model import Part, Pipeline, is_address
from moldau.spark.pipeline.place import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED: Final = ("parquet", "json", "csv", "orc")
_RECORD: Final = "_spark_metadata"


def forget(spark: SparkSession, pipeline: Pipeline) -> list[str]:
    """Removes the checkpoint and sets the records of file sinks aside, under the names that are returned.

    No file that a sink wrote is touched. Readers that respect the record see what the next run writes; the files of
    former runs stay where they are, listed in the record that was set aside.
    """
    checkpoint = _path(pipeline.checkpoint)
    _delete(spark, checkpoint)
    aside: list[str] = []
    for part in pipeline.outputs:
        if part.streaming and part.kind in RECORDED:
            record = f"{_path(pipeline.located(part[part.kind]))}/{_RECORD}"
            if exists(spark, record):
                kept = f"{record}.{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
                _rename(spark, record, kept)
                aside.append(kept.removeprefix("file:"))
    return aside


def check_record(spark: SparkSession, pipeline: Pipeline, part: Part, checkpoint: str) -> None:
    """Refuses a sink of files that remembers batches its checkpoint does not know: that is gone, or an older copy."""
    if part.kind not in RECORDED:
        return
    place = _path(pipeline.located(part[part.kind]))
    written = _last_batch(spark, f"{place}/{_RECORD}")
    planned = _last_batch(spark, f"{checkpoint}/offsets")
    if written <= planned:
        return
    whose, found = f"{part.line(part.kind)}: {part.owner}", "no checkpoint"
    if planned >= 0:
        found = f"a checkpoint that ends with batch {planned}, an older copy or one that lost files"
    raise PipelineError(
        f"{whose} has {found}, but {place.removeprefix('file:')} remembers batches up to {written} and would take "
        "new ones for written. Put back the checkpoint that belongs to it, or let the sink begin anew with `--fresh`, "
        f"or move {_RECORD} away yourself."
    )


def _last_batch(spark: SparkSession, directory: str) -> int:
    """The highest number among the entries of a log of Spark's, such as 17 or 19.compact; -1 if there is none."""
    files, place = _place(spark, directory)
    if not files.exists(place):
        return -1
    names = [str(entry.getPath().getName()).removesuffix(".compact") for entry in files.listStatus(place)]
    return max((int(name) for name in names if name.isdigit()), default=-1)


def checkpoint_of(pipeline: Pipeline, part: Part) -> str:
    """Every query has a directory of its own under the pipeline's."""
    return _path(os.path.join(pipeline.checkpoint, part.name))


def shared_checkpoint(pipeline: Pipeline, source: Part) -> str:
    """That of a query that several sinks share; no sink can have the name."""
    return _path(os.path.join(pipeline.checkpoint, f"@{source.name}"))


def _path(path: str) -> str:
    return path if is_address(path) else f"file:{path}"


# -------------------------------------------------------------------------------- on whatever file system Spark knows


def _place(spark: SparkSession, path: str) -> tuple[Any, Any]:
    context: Any = spark.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(context._jsc.hadoopConfiguration()), place


def exists(spark: SparkSession, path: str) -> bool:
    files, place = _place(spark, path)
    return bool(files.exists(place))


def read_text(spark: SparkSession, path: str) -> str:
    files, place = _place(spark, path)
    stream = files.open(place)
    try:
        context: Any = spark.sparkContext
        return str(context._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()


def write_text(spark: SparkSession, path: str, text: str) -> None:
    """A new file, all of it or nothing: half of it, left by a process that was killed, would be read by the next."""
    files, place = _place(spark, f"{path}.new")
    stream = files.create(place, True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()
    _rename(spark, f"{path}.new", path)


def _delete(spark: SparkSession, path: str) -> None:
    files, place = _place(spark, path)
    files.delete(place, True)


def _rename(spark: SparkSession, path: str, to: str) -> None:
    files, place = _place(spark, path)
    if not files.rename(place, _place(spark, to)[1]):
        raise PipelineError(f"{path} could not be moved to {to}.")
