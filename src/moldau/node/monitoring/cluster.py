"""What the metadata says of the cluster, and the quorum that orders it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from moldau.controller.controller import Controller
from moldau.links.link import Said
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.metrics.exposition import GAUGE, Family, Sample, counter, gauge, labels
from moldau.raft.member import Member
from moldau.raft.raft_quorum import RaftQuorum
from moldau.runtime.ports import Clock
from moldau.slicing import pieces
from moldau.types import NO_LEADER

_CONTROLLER: Final = "kafka_controller_kafkacontroller_"
_RAFT: Final = "kafka_server_raftmetrics_"
# Of changes since somebody looked last that are remembered.
_MOST_LATENCIES: Final = 1000


def of_controller(controller: Controller, image: MetadataImage) -> Iterator[Family]:
    brokers = tuple(image.cluster.brokers.values())
    fenced = sum(broker.fenced for broker in brokers)
    active = int(controller.is_active)
    yield gauge(_CONTROLLER + "activecontrollercount", "1 for the controller that leads.", active)
    yield gauge(_CONTROLLER + "activebrokercount", "Brokers that are registered and not fenced.", len(brokers) - fenced)
    yield gauge(_CONTROLLER + "fencedbrokercount", "Brokers that are registered and fenced.", fenced)
    yield gauge(_CONTROLLER + "globaltopiccount", "Topics.", len(image.topics.by_name))
    counts = _Counts(image)
    for name, documentation, attribute in _COUNTED:
        yield Family(_CONTROLLER + name, GAUGE, documentation, counts.sample(attribute))
    applied = image.offset
    yield gauge(_CONTROLLER + "lastappliedrecordoffset", "The metadata record that was applied last.", applied)
    yield gauge(_CONTROLLER + "lastappliedrecordtimestamp", "When that was written, in ms.", image.timestamp)


class _Counts:
    """Goes over all partitions once, when the first of the counts is asked for."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._is_counted = False
        self.partitions = self.offline = self.not_preferred = 0

    def sample(self, attribute: str) -> Iterator[Sample | None]:
        if not self._is_counted:
            yield from self._count()
        yield "", "", getattr(self, attribute)

    def _count(self) -> Iterator[None]:
        for topics in pieces(self._image.topics.by_name.values(), 16):
            for topic in topics:
                for partition in topic.partitions.values():
                    self.partitions += 1
                    self.offline += partition.leader == NO_LEADER
                    self.not_preferred += partition.leader != partition.preferred_leader
                yield None
        self._is_counted = True


_COUNTED: Final = (
    ("globalpartitioncount", "Partitions.", "partitions"),
    ("offlinepartitionscount", "Partitions without a leader.", "offline"),
    ("preferredreplicaimbalancecount", "Partitions that are not led by their first replica.", "not_preferred"),
)


def of_quorum(quorum: RaftQuorum) -> Iterator[Family]:
    state = [("", labels(current_state=_role(quorum.member)), 1)]
    yield Family(_RAFT + "current_state", GAUGE, "The role of this node in the quorum, as a label.", state)
    yield gauge(_RAFT + "current_leader", "The controller that leads; -1 if none is known.", quorum.leader_id)
    yield gauge(
        _RAFT + "current_vote", "Whom this node has voted for in this epoch; -1 for nobody.", _vote(quorum.member)
    )
    yield gauge(_RAFT + "current_epoch", "The epoch of the quorum.", quorum.epoch)
    yield gauge(_RAFT + "high_watermark", "Offsets of the metadata log below it are committed.", quorum.high_watermark)
    yield gauge(_RAFT + "log_end_offset", "The end of the metadata log on this node.", quorum.end_offset)
    yield gauge(
        _RAFT + "number_of_voters", "Voters of the quorum.", 0 if quorum.member is None else len(quorum.member.voters)
    )


class QuorumRates:
    """How fast the metadata log moves, between one look and the next. A publisher of the metadata: where this node
    leads it sees how long a change took from being written to being decided."""

    def __init__(self, quorum: RaftQuorum, clock: Clock, leads: Callable[[], bool]) -> None:
        self._quorum = quorum
        self._clock = clock
        self._leads = leads
        self._looked_at = clock.monotonic()
        self._end_offset = 0
        self._latencies: list[int] = []
        self._latency_ms = 0.0

    def on_image(self, _delta: MetadataDelta, image: MetadataImage) -> None:
        if self._leads() and len(self._latencies) < _MOST_LATENCIES:
            self._latencies.append(max(0, self._clock.now_ms() - image.timestamp))

    def families(self, said: Said) -> Iterator[Family]:
        now, end = self._clock.monotonic(), self._quorum.end_offset
        rate = max(0, end - self._end_offset) / max(now - self._looked_at, 1e-3) if self._end_offset else 0.0
        self._looked_at, self._end_offset = now, end
        if self._latencies:
            self._latency_ms = sum(self._latencies) / len(self._latencies)
            self._latencies.clear()
        leads = self._leads()
        written = "Metadata records per second that this leader has written since the last look."
        yield gauge(_RAFT + "append_records_rate", written, rate if leads else 0.0)
        fetched = "Metadata records per second that this follower has fetched since the last look."
        yield gauge(_RAFT + "fetch_records_rate", fetched, 0.0 if leads else rate)
        latency = "From writing a change of metadata to its being decided, in ms, as this node saw it when it led last."
        yield gauge(_RAFT + "commit_latency_avg", latency, self._latency_ms)
        channel = "kafka_server_raftchannelmetrics_"
        yield counter(channel + "request_total", "Requests to other controllers.", said.requests)
        yield counter(channel + "response_total", "Their answers.", said.answers)
        yield counter(channel + "outgoing_byte_total", "Bytes of these requests.", said.bytes_out)
        yield counter(channel + "incoming_byte_total", "Bytes of these answers.", said.bytes_in)


def _role(member: Member | None) -> str:
    """As Kafka calls it."""
    if member is None:
        return "unattached"
    role = type(member.role).__name__.lower()
    return "observer" if role in ("follower", "unattached") and not member.is_voter else role


def _vote(member: Member | None) -> int:
    return -1 if member is None or member.election.voted is None else member.election.voted.id


def of_metadata(image: MetadataImage) -> Iterator[Family]:
    name = "kafka_server_brokermetadatametrics_"
    yield gauge(name + "last_applied_record_offset", "The metadata record that was applied last.", image.offset)
    yield gauge(name + "last_applied_record_timestamp", "When that was written, in ms.", image.timestamp)
