"""What the process takes of the machine, and how busy its one loop is.

Dashboards made for Kafka ask for the Java machine's numbers under its own names. They get those of this process that
mean the same to whoever looks: memory, collections of garbage, threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.metrics.exposition import COUNTER, GAUGE, SUMMARY, Family, counter, gauge, labels
from moldau.runtime.ports import Loop, ProcessUsage, Runtime

# What is said to be idle is a share of the time since somebody last looked, but of so long at least.
_LEAST_SECONDS: Final = 1.0
# And the longest turn is that of the last so many seconds at least, whoever looks, and however many do.
_TURN_SECONDS: Final = 30.0


class LoopIdleness:
    """Which share of the time the loop has nothing to do, between one look and the next; and its longest turn."""

    def __init__(self, loop: Loop, now: float) -> None:
        self._load = loop.load
        self._looked_at = now
        self._idle_seconds = self._load.idle_seconds
        self._share = 1.0
        self._turns_since = now
        self._longest = self._longest_before = 0.0

    def longest_turn(self, now: float) -> float:
        self._longest = max(self._longest, self._load.longest_seconds)
        self._load.longest_seconds = 0.0
        longest = max(self._longest, self._longest_before)
        if now - self._turns_since >= _TURN_SECONDS:
            self._turns_since, self._longest_before, self._longest = now, self._longest, 0.0
        return longest

    def share(self, now: float) -> float:
        elapsed = now - self._looked_at
        if elapsed >= _LEAST_SECONDS:
            idle = self._load.idle_seconds
            self._share = min(1.0, (idle - self._idle_seconds) / elapsed)
            self._looked_at, self._idle_seconds = now, idle
        return self._share


def families(runtime: Runtime, idleness: LoopIdleness, version: str) -> Iterator[Family]:
    yield gauge(
        "moldau_time_seconds", "The clock of the machine, in seconds since 1970.", runtime.clock.now_ms() / 1000
    )
    yield from _of_process(runtime.process.usage())
    load = runtime.loop.load
    share = idleness.share(runtime.clock.monotonic())
    idle = "Share of the time in which the one loop that serves everybody has nothing to do."
    yield gauge("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", idle, share)
    yield gauge("kafka_network_socketserver_networkprocessoravgidle_percent", idle, share)
    yield counter("moldau_loop_turns_total", "Turns of the loop.", load.turns)
    yield counter(
        "moldau_loop_idle_seconds_total", "Time in which the loop waited for something to do.", load.idle_seconds
    )
    longest = idleness.longest_turn(runtime.clock.monotonic())
    yield gauge(
        "moldau_loop_longest_turn_seconds",
        "The longest turn of the last half minute at least: who came had to wait.",
        longest,
    )
    workers = runtime.workers.load
    yield counter("moldau_worker_jobs_total", "Jobs for threads beside the loop: the disk, long kernels.", workers.jobs)
    yield counter("moldau_worker_seconds_total", "Time that those which are done have taken.", workers.seconds)
    yield gauge("moldau_worker_jobs_waiting", "Jobs that run or wait for a thread.", workers.busy)
    told = [("", labels(version=version), 1)]
    yield Family("moldau_build_info", GAUGE, "The version of the node, as a label.", told)


def _of_process(usage: ProcessUsage) -> Iterator[Family]:
    yield counter("process_cpu_seconds_total", "Time of all cores together.", usage.cpu_seconds)
    yield gauge("process_resident_memory_bytes", "Memory in use.", usage.resident_bytes)
    yield gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", usage.started_at)
    yield gauge("process_open_fds", "Open descriptors: files and connections.", usage.open_descriptors)
    yield gauge("process_max_fds", "Descriptors the process may have.", usage.most_descriptors)
    disk = "kafka_server_kafkaserver_linux_disk_"
    yield gauge(disk + "read_bytes", "Bytes this process had read from disks.", usage.disk_read_bytes)
    yield gauge(disk + "write_bytes", "Bytes this process had written to disks.", usage.disk_written_bytes)
    heap = labels(area="heap")
    yield Family("jvm_memory_used_bytes", GAUGE, "Memory in use; there is no Java.", [("", heap, usage.resident_bytes)])
    yield gauge("jvm_threads_current", "Threads; there is no Java.", usage.threads)
    own = labels(gc="python")
    times = [("_sum", own, usage.collecting_seconds), ("_count", own, sum(usage.collections))]
    yield Family("jvm_gc_collection_seconds", SUMMARY, "Collections of garbage; there is no Java.", times)
    by_age = [("", labels(generation=age), count) for age, count in enumerate(usage.collections)]
    yield Family("moldau_gc_collections_total", COUNTER, "Collections of garbage by generation.", by_age)
