"""What the disks and those who work on logs beside the loop are at: forcing, and compaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.metrics.exposition import GAUGE, SUMMARY, Family, counter, gauge, labels
from moldau.node.monitoring.requests import quantile_samples
from moldau.runtime.ports import Clock
from moldau.storage.cleaner import LogCleaner
from moldau.storage.log_manager import LogManager

_CLEANER: Final = "kafka_log_logcleanermanager_"
_COMPACTION: Final = "moldau_compaction_"


def families(logs: LogManager, cleaner: LogCleaner, clock: Clock) -> Iterator[Family]:
    flushes = logs.forcing.times
    samples = quantile_samples(flushes, flushes.count, "", clock.monotonic())
    forced = "How long it took to force records to disk, in ms: in durable mode, of closed segments, by flush.ms."
    yield Family("kafka_log_logflushstats_logflushrateandtimems", SUMMARY, forced, samples)
    dirtiest = "Share of what is to be compacted in the log that needs it most, at the last look, in percent."
    yield gauge(_CLEANER + "max_dirty_percent", dirtiest, cleaner.dirtiest * 100)
    since = "Since the cleaner last looked at the logs."
    yield gauge(_CLEANER + "time_since_last_run_ms", since, clock.now_ms() - cleaner.looked_at_ms)
    broken = dict.fromkeys((directory.path for directory in logs.directories), 0)
    for log in cleaner.uncleanable:
        broken[log.directory.parent] += 1
    given_up = [("", labels(logDirectory=path), count) for path, count in broken.items()]
    yield Family(_CLEANER + "uncleanable_partitions_count", GAUGE, "Logs that are not compacted any more.", given_up)
    longest = "The longest compaction of one log since the start."
    yield gauge("kafka_log_logcleaner_max_clean_time_secs", longest, cleaner.longest_seconds)
    yield gauge(_COMPACTION + "running", "Logs that are being compacted.", len(cleaner.busy))
    yield counter(_COMPACTION + "logs_total", "Logs that have been compacted.", cleaner.compactions)
    yield counter(_COMPACTION + "read_bytes_total", "Bytes that were compacted.", cleaner.bytes_read)
    yield counter(_COMPACTION + "kept_bytes_total", "Bytes that were left of them.", cleaner.bytes_written)
