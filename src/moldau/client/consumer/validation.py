"""Whether a position still means what it meant: truncation detection (KIP-320).

A leader that takes over may have a shorter log than the one before it, and write other records at offsets that were
read already. So whenever a partition has another leader epoch than the one its position was found good with, the new
leader is asked where the epoch of the last record read ended. An end below the position says that records which were
read do not exist any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from moldau.client.consumer.fetch_state import FetchState
from moldau.client.conversation import Ask, Conversation
from moldau.client.leaders import ask_leaders, by_topic
from moldau.client.metadata import ClusterView
from moldau.client.structs import OffsetAndMetadata
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.errors.named import LogTruncationError
from moldau.links.errors import UnsupportedRequest
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from moldau.types import NO_EPOCH, TopicPartition

if TYPE_CHECKING:
    from moldau.client.consumer.fetcher import Fetcher


class EpochEnd(NamedTuple):
    """The largest epoch the leader knows that is not above the one asked for, and the offset after its last record;
    -1 and -1 where it knows none."""

    epoch: int
    offset: int


def needs_validation(reading: FetchState, leader_epoch: int) -> bool:
    """Positions without an epoch (after a seek, from a reset) cannot be compared with anything."""
    return reading.fetch_epoch >= 0 and leader_epoch > NO_EPOCH and reading.checked_epoch < leader_epoch


def epoch_ends(
    epochs: Mapping[TopicPartition, int],
) -> Conversation[dict[TopicPartition, EpochEnd | KafkaError]]:
    """Where epochs ended, by the leaders of the partitions. Empty if the brokers are too old to be asked."""

    def build(view: ClusterView, group: Mapping[TopicPartition, int]) -> Ask:
        return Ask(
            OffsetForLeaderEpochRequest(
                topics=[
                    OffsetForLeaderTopic(
                        topic=topic,
                        partitions=[
                            OffsetForLeaderPartition(
                                partition=where.partition,
                                current_leader_epoch=view.partition(where).leader_epoch,
                                leader_epoch=group[where],
                            )
                            for where in partitions
                        ],
                    )
                    for topic, partitions in by_topic(group).items()
                ]
            )
        )

    def read(response: OffsetForLeaderEpochResponse) -> Iterable[tuple[TopicPartition, EpochEnd | KafkaError]]:
        for topic in response.topics:
            for row in topic.partitions:
                where = TopicPartition(topic.topic, row.partition)
                code = error_code(row.error_code)
                if code is ErrorCode.NONE:
                    yield where, EpochEnd(row.leader_epoch, row.end_offset)
                else:
                    yield where, KafkaError(code, f"Partition {where}: {code.text}")

    answers = yield from ask_leaders(epochs, build, read)
    if any(isinstance(answer, UnsupportedRequest) for answer in answers.values()):
        return {}
    return answers


class PositionValidator:
    """On the network's thread, for the fetcher."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    def validate(self, readings: list[FetchState]) -> None:
        """Asks the leaders whether what was read is still there, before anything more is read."""
        fetcher = self._fetcher
        asked = {}
        for reading in readings:
            reading.looking = True
            asked[reading] = (reading.turn, fetcher.leader_epoch(reading), reading.fetch_epoch)
        epochs = {reading.where: epoch for reading, (_, _, epoch) in asked.items()}

        def answered(ends: dict[TopicPartition, EpochEnd | KafkaError] | None, error: BaseException | None) -> None:
            with fetcher.changed:
                for reading, (turn, leader_epoch, _) in asked.items():
                    reading.looking = False
                    if reading.turn == turn and fetcher.readings.get(reading.where) is reading:
                        self._learned(reading, leader_epoch, error if ends is None else ends.get(reading.where))
                fetcher.changed.notify_all()
            fetcher.pump()

        network = fetcher.network
        network.perform(epoch_ends(epochs), network.request_timeout).then(answered)

    def _learned(self, reading: FetchState, leader_epoch: int, end: EpochEnd | BaseException | None) -> None:
        if end is None:
            reading.checked_epoch = leader_epoch  # brokers too old to be asked leave it at that
        elif isinstance(end, EpochEnd):
            if reading.fetch_position <= end.offset:
                reading.checked_epoch = leader_epoch
            else:
                self.cut_back(reading, end)
        elif isinstance(end, KafkaError) and not end.retriable:
            self._fetcher.fatal(end, reading)
        else:
            self._fetcher.stumble(reading, end)

    def cut_back(self, reading: FetchState, end: EpochEnd) -> None:
        """The partition ends before what was fetched of it: records that were here are gone."""
        assert reading.position is not None
        fetcher = self._fetcher
        reset = fetcher.options.reset
        leader_epoch = fetcher.leader_epoch(reading)
        if reading.position <= end.offset:
            # Nothing of it was handed out yet, so nobody has to know.
            reading.seek(reading.position, min(reading.position_epoch, end.epoch))
        elif reset is None:
            safe = {reading.where: OffsetAndMetadata(end.offset, "", end.epoch)} if end.offset >= 0 else {}
            fetcher.fatal(LogTruncationError(safe), reading)
            return
        elif end.offset < 0:
            reading.seek_by_time(reset.time(fetcher.network.clock.now_ms()))
            return
        else:
            reading.seek(end.offset, end.epoch)
        reading.checked_epoch = leader_epoch
