"""`moldau history recompress`: the same batches with another codec, in the segments of a stopped node.

Records, offsets and timestamps stay as they are. What producers send afterwards is compressed as they, or the topic's
`compression.type`, say.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from moldau._speed import BatchHeader
from moldau.config.topic import LogConfig
from moldau.errors import ProtocolError
from moldau.protocol.records import Compression
from moldau.runtime.disk import RealDisk
from moldau.runtime.ports import Disk
from moldau.spark.history.report import JobError, Report, Told, nothing_told
from moldau.spark.history.rewriting import Rewritten, rewrite_log, rewrite_logs
from moldau.spark.history.stopped_node import finish_interrupted, held, logs_of, partitions_of
from moldau.spark.segments.data_directory import LogFiles
from moldau.spark.segments.read_only_disk import ReadOnlyDisk
from moldau.storage.recompression import recompressed, uncompressed
from moldau.storage.segment import Segment


@dataclass(slots=True)
class Compressed:
    """How a log is compressed now, and which segments hold batches that are to change."""

    codecs: Counter[str] = field(default_factory=Counter)
    bases: set[int] = field(default_factory=set)
    batches: int = 0
    size: int = 0


def recompress(
    directory: str,
    topic: str,
    codec: Compression,
    *,
    dry_run: bool = False,
    told: Told = nothing_told,
    disk: Disk | None = None,
) -> Report:
    report = Report("recompress", dry_run=dry_run)
    with held(directory) as path:
        finish_interrupted(path, partitions_of(path, topic))
        logs = logs_of(path, topic)
        found = [look(log, codec) for log in logs]
        if dry_run:
            results = [Rewritten(len(one.bases), one.batches, 0, 0) for one in found]
        else:
            chosen, looked = disk or RealDisk(), dict(zip((log.directory for log in logs), found, strict=True))
            results = rewrite_logs(
                logs, lambda log, tell: _recompress(log, looked[log.directory], codec, chosen, tell), told
            )
    for log, before, done in zip(logs, found, results, strict=True):
        report.rows.append(
            {
                "partition": log.topic_partition.partition,
                "was": ",".join(f"{name}:{count}" for name, count in sorted(before.codecs.items())) or "-",
                "segments": len(log.segments),
                "segments_rewritten": done.segments,
                "batches_rewritten": done.batches,
                "bytes_before": before.size,
                "bytes_after": before.size - done.bytes_before + done.bytes_after,
            }
        )
    totals = {name: sum(row[name] for row in report.rows) for name in ("bytes_before", "bytes_after")}
    report.totals = {"directory": path, "topic": topic, "codec": codec.name.lower(), **totals}
    return report


def look(log: LogFiles, codec: Compression) -> Compressed:
    """Reads the headers of a log's batches."""
    found = Compressed()
    disk = ReadOnlyDisk()
    for file in log.segments:
        segment = Segment(disk, log.directory, file.base_offset, LogConfig())
        segment.size = file.size
        found.size += file.size
        try:
            for _, header in segment.batches():
                if _is_data(header):
                    found.codecs[_name(header.compression)] += 1
                    if header.compression != codec:
                        found.batches += 1
                        found.bases.add(file.base_offset)
        except ProtocolError as error:
            raise JobError(f"{file.path} is damaged: {error}; see `moldau log verify`.") from error
        finally:
            segment.release()
    return found


def _recompress(log: LogFiles, found: Compressed, codec: Compression, disk: Disk, told: Told) -> Rewritten:
    def rule(header: BatchHeader, data: bytes, position: int) -> bytes | None:
        if not _is_data(header) or header.compression == codec:
            return None
        return recompressed(uncompressed(header, data, position)[0], codec)

    return rewrite_log(log, found.bases, rule, disk, told)


def _is_data(header: BatchHeader) -> bool:
    return not header.is_control and header.count > 0


def _name(codec: int) -> str:
    return Compression(codec).name.lower()
