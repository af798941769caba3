"""What this broker holds: its partitions, their logs, and the directories these lie in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from moldau._speed import Traffic
from moldau.metrics.exposition import COUNTER, GAUGE, Family, Sample, counter, gauge, labels
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.slicing import pieces
from moldau.storage.log_manager import LogManager

_MANAGER: Final = "kafka_server_replicamanager_"
_PARTITION: Final = "kafka_cluster_partition_"
_LOG: Final = "kafka_log_log_"
_TOPICS: Final = "kafka_server_brokertopicmetrics_"


def families(replicas: ReplicaManager, logs: LogManager) -> Iterator[Family]:
    held = _Held(replicas)
    replication = replicas.replication
    for name, documentation, attribute in _COUNTED:
        yield Family(_MANAGER + name, GAUGE, documentation, held.count(attribute))
    yield gauge(_MANAGER + "offlinereplicacount", "Replicas in directories that are offline.", len(replicas.away))
    shrinks, expansions = (replication.isr.shrinks, replication.isr.expansions) if replication is not None else (0, 0)
    yield counter(_MANAGER + "isrshrinks_total", "Replicas that left an in-sync set, as their leader saw it.", shrinks)
    yield counter(_MANAGER + "isrexpands_total", "Replicas that came back into an in-sync set.", expansions)
    yield from _of_traffic(replicas)
    yield from _of_partitions(held.led)
    yield from _of_logs(held.all)
    yield from _of_directories(logs)


class _Held:
    """The partitions held here, with the labels of each; gone over once, when the first of the counts is asked for."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas
        self._is_counted = False
        self.all: list[tuple[Partition, str]] = []
        self.led: list[tuple[Partition, str]] = []
        self.partitions = self.leaders = self.under_replicated = self.under_min_isr = self.at_min_isr = 0

    def count(self, attribute: str) -> Iterator[Sample | None]:
        if not self._is_counted:
            yield from self._go_over()
        yield "", "", getattr(self, attribute)

    def _go_over(self) -> Iterator[None]:
        for some in pieces(tuple(self._replicas.partitions())):
            for partition in some:
                entry = (partition, _place(partition))
                self.all.append(entry)
                if partition.is_leader:
                    self.led.append(entry)
                    self.under_replicated += partition.is_under_replicated
                    self.under_min_isr += partition.isr_margin < 0
                    self.at_min_isr += partition.isr_margin == 0
            yield None
        self.partitions, self.leaders = len(self.all), len(self.led)
        self._is_counted = True


def _of_partitions(led: list[tuple[Partition, str]]) -> Iterator[Family]:
    """Of those that are led here: whoever adds up what all brokers say counts each once."""
    for name, documentation, value in _PARTITION_GAUGES:
        yield Family(_PARTITION + name, GAUGE, documentation, _samples(led, value))


def _of_traffic(replicas: ReplicaManager) -> Iterator[Family]:
    topics = [(labels(topic=topic.name), topic.traffic) for topic in tuple(replicas.by_name.values())]
    for name, documentation, value in _TRAFFIC:
        yield Family(_TOPICS + name, COUNTER, documentation, _by_topic(topics, value))
    sent = sum(traffic.replica_bytes_out for _, traffic in topics)
    yield counter(_TOPICS + "replicationbytesout_total", "Bytes of records that followers elsewhere took.", sent)
    replication = replicas.replication
    taken = 0 if replication is None else replication.fetchers.bytes_in
    yield counter(
        _TOPICS + "replicationbytesin_total", "Bytes of records that were taken from leaders elsewhere.", taken
    )


def _by_topic(topics: list[tuple[str, Traffic]], value: Callable[[Traffic], int]) -> Iterator[Sample | None]:
    for some in pieces(topics):
        for place, traffic in some:
            yield "", place, value(traffic)
        yield None


def _of_logs(held: list[tuple[Partition, str]]) -> Iterator[Family]:
    for name, documentation, value in _LOG_GAUGES:
        yield Family(_LOG + name, GAUGE, documentation, _samples(held, value))


def _of_directories(logs: LogManager) -> Iterator[Family]:
    directories = logs.directories
    named = [(directory, labels(logdirectory=directory.path)) for directory in directories]
    offline = [("", place, int(not directory.is_online)) for directory, place in named]
    manager = "kafka_log_logmanager_"
    count = sum(not directory.is_online for directory in directories)
    yield gauge(manager + "offlinelogdirectorycount", "Log directories that are offline.", count)
    yield Family(manager + "logdirectoryoffline", GAUGE, "Whether a log directory is offline.", offline)
    opened, found = logs.load_progress
    yield gauge(manager + "remaininglogstorecover", "Logs found at the start and not open yet.", found - opened)
    room: list[Sample] = []
    size: list[Sample] = []
    for directory, place in named:
        if directory.is_online:
            try:
                room.append(("", place, logs.disk.free_bytes(directory.path)))
                size.append(("", place, logs.disk.total_bytes(directory.path)))
            except OSError:
                continue
    yield Family("moldau_log_directory_free_bytes", GAUGE, "Room left on the disk of a log directory.", room)
    yield Family("moldau_log_directory_size_bytes", GAUGE, "Size of the disk of a log directory.", size)


def _samples(partitions: list[tuple[Partition, str]], value: Callable[[Partition], float]) -> Iterator[Sample | None]:
    for some in pieces(partitions):
        for partition, place in some:
            yield "", place, value(partition)
        yield None


def _place(partition: Partition) -> str:
    topic, index = partition.topic_partition
    # Names of topics have no letter that would have to be escaped.
    return f'topic="{topic}",partition="{index}"'


_COUNTED: Final = (
    ("partitioncount", "Partitions of which this broker holds a replica.", "partitions"),
    ("leadercount", "Partitions that this broker leads.", "leaders"),
    ("underreplicatedpartitions", "Led here, with replicas that are not in sync.", "under_replicated"),
    ("underminisrpartitioncount", "Led here, with fewer in sync than writes need.", "under_min_isr"),
    ("atminisrpartitioncount", "Led here, with just as many in sync as writes need.", "at_min_isr"),
)
# Since this broker holds a partition of the topic.
_TRAFFIC: Final[tuple[tuple[str, str, Callable[[Traffic], int]], ...]] = (
    ("messagesin_total", "Records that were written.", lambda each: each.messages_in),
    ("bytesin_total", "Bytes of records that were written, as they were sent.", lambda each: each.bytes_in),
    ("bytesout_total", "Bytes of records that clients took.", lambda each: each.bytes_out),
    ("totalproducerequests_total", "Batches that were sent to be written.", lambda each: each.produces),
    ("failedproducerequests_total", "Batches that were refused.", lambda each: each.failed_produces),
    ("totalfetchrequests_total", "Partitions that were read from.", lambda each: each.fetches),
    ("failedfetchrequests_total", "Partitions that could not be read from.", lambda each: each.failed_fetches),
)
_PARTITION_GAUGES: Final[tuple[tuple[str, str, Callable[[Partition], float]], ...]] = (
    ("underreplicated", "1 if a replica is not in sync.", lambda each: int(each.is_under_replicated)),
    ("underminisr", "1 if fewer are in sync than writes need.", lambda each: int(each.isr_margin < 0)),
    ("atminisr", "1 if just as many are in sync as writes need.", lambda each: int(each.isr_margin == 0)),
    ("insyncreplicascount", "Replicas in sync, the leader among them.", lambda each: len(each.isr)),
    ("replicascount", "Replicas.", lambda each: len(each.replicas)),
    (
        "laststableoffsetlag",
        "Offsets above those that readers of committed records may see.",
        lambda each: each.log.high_watermark - each.log.last_stable_offset,
    ),
)
_LOG_GAUGES: Final[tuple[tuple[str, str, Callable[[Partition], float]], ...]] = (
    ("size", "Bytes of all segments.", lambda each: each.log.segments.size),
    ("numlogsegments", "Segments.", lambda each: len(each.log.segments)),
    ("logstartoffset", "The first offset.", lambda each: each.log.log_start_offset),
    ("logendoffset", "The offset of the next record.", lambda each: each.log.log_end_offset),
)
