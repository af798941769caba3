"""WriteTxnMarkers as the transaction coordinator sends them: the ends of transactions, for partitions led elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple, cast

from moldau.coordinator.marker import Marker
from moldau.errors import ErrorCode, error_code
from moldau.protocol.message import Message
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from moldau.server.other_brokers import Errands, OtherBrokers, code_of
from moldau.types import TopicPartition

_LANE: Final = "markers"

Results = Mapping[TopicPartition, ErrorCode]


class MarkerErrand(NamedTuple):
    marker: Marker
    places: Sequence[TopicPartition]
    done: Callable[[Results], None]
    still_wanted: Callable[[], bool]

    @property
    def key(self) -> int:
        # The answer names producers, not markers.
        return self.marker.producer_id

    @property
    def size(self) -> int:
        return len(self.places)

    def wanted(self) -> bool:
        return self.still_wanted()


def marker_requests(brokers: OtherBrokers) -> Errands[MarkerErrand]:
    return Errands(brokers, _LANE, _request, _settle)


def _request(errands: Iterable[MarkerErrand]) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.committed,
                topics=[
                    WritableTxnMarkerTopic(name=topic, partition_indexes=[place.partition for place in of_topic])
                    for topic, of_topic in groupby(sorted(places), key=lambda place: place.topic)
                ],
                coordinator_epoch=marker.coordinator_epoch,
                transaction_version=marker.transaction_version,
            )
            for marker, places, _, _ in errands
        ]
    )


def _settle(errands: list[MarkerErrand], response: Message | None, error: BaseException | None) -> None:
    codes: dict[tuple[int, TopicPartition], ErrorCode] = {}
    if response is not None:
        for row in cast("WriteTxnMarkersResponse", response).markers:
            for topic in row.topics:
                for partition in topic.partitions:
                    place = TopicPartition(topic.name, partition.partition_index)
                    codes[row.producer_id, place] = error_code(partition.error_code)
    missing = code_of(error)
    for errand in errands:
        errand.done({place: codes.get((errand.marker.producer_id, place), missing) for place in errand.places})
