"""WriteTxnMarkers (key 27): a transaction coordinator ends transactions in the partitions this broker leads.

Also what an administrator sends to end a transaction that hangs: written into a partition, but known to no coordinator.
Version 2 says which transactions version the markers belong to.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

from moldau.coordinator.marker import Marker
from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from moldau.security.acl import Operation
from moldau.server.authorization import cluster_allowed, require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts
from moldau.server.txn_markers import Results
from moldau.types import TopicPartition


def write_txn_markers(context: RequestContext, request: WriteTxnMarkersRequest) -> Deferred[WriteTxnMarkersResponse]:
    if not cluster_allowed(context, Operation.ALTER, quiet=True):
        require_cluster(context, Operation.CLUSTER_ACTION)
    answer: Deferred[WriteTxnMarkersResponse] = Deferred()
    results = [WritableTxnMarkerResult(producer_id=row.producer_id) for row in request.markers]
    left = len(results)
    if not left:
        answer.resolve(WriteTxnMarkersResponse())

    def written(result: WritableTxnMarkerResult, codes: Results) -> None:
        nonlocal left
        result.topics = _topics(codes)
        left -= 1
        if not left:
            answer.resolve(WriteTxnMarkersResponse(markers=results))

    for row, result in zip(request.markers, results, strict=True):
        places = [TopicPartition(topic.name, index) for topic in row.topics for index in topic.partition_indexes]
        context.services.transaction_markers.write(
            _marker(row),
            places,
            lambda codes, result=result: written(result, codes),  # type: ignore[misc]
        )
    return answer


def _marker(row: WritableTxnMarker) -> Marker:
    return Marker(
        row.producer_id, row.producer_epoch, row.transaction_result, row.coordinator_epoch, row.transaction_version
    )


def _topics(codes: Results) -> list[WritableTxnMarkerTopicResult]:
    return [
        WritableTxnMarkerTopicResult(
            name=topic,
            partitions=[
                WritableTxnMarkerPartitionResult(partition_index=place.partition, error_code=codes[place])
                for place in places
            ],
        )
        for topic, places in groupby(sorted(codes), key=lambda place: place.topic)
    ]


def error_response(request: WriteTxnMarkersRequest, version: int, error: KafkaError) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=row.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=error.code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in row.topics
                ],
            )
            for row in request.markers
        ]
    )


WRITE_TXN_MARKERS: Final = Api(
    ApiKey.WRITE_TXN_MARKERS,
    WriteTxnMarkersRequest,
    write_txn_markers,
    error_response,
    parts=(Parts(("markers", "topics", "partition_indexes"), ("markers", "topics", "partitions"), size=25),),
)
