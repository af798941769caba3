"""A broker that leads two partitions of one topic and keeps what is written to them."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

from scripted_peer import HANG_UP, ScriptedPeer, metadata

from moldau.errors import ErrorCode
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.init_producer_id import InitProducerIdResponse
from moldau.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from moldau.protocol.records import Record, decode_batch, read_header

TOPIC_ID = b"rivers-topic-id!"


class Broker:
    """Leads two partitions; `errors` are answered first, one per Produce request."""

    def __init__(self, topic_id: bytes = TOPIC_ID) -> None:
        self.errors: list[int] = []
        self.batches: dict[int, list[bytes]] = defaultdict(list)
        self.topic_id = topic_id
        self.hang_up_after_writing = 0
        # Where answers wait, if they are to wait.
        self.hold: threading.Event | None = None
        self.peer = ScriptedPeer(
            {
                ApiKey.METADATA: self._metadata,
                ApiKey.PRODUCE: self._produce,
                ApiKey.INIT_PRODUCER_ID: lambda version, request: InitProducerIdResponse(
                    producer_id=77, producer_epoch=1
                ),
            }
        )

    def records(self, partition: int) -> list[Record]:
        return [record for batch in self.batches[partition] for record in decode_batch(batch)]

    def _metadata(self, version: int, request: Any) -> Any:
        brokers = {1: self.peer.address}
        return metadata(brokers, {"rivers": {0: (1, 0), 1: (1, 0)}}, ids={"rivers": self.topic_id})

    def _produce(self, version: int, request: ProduceRequest) -> Any:
        if self.hold is not None:
            self.hold.wait(20)
        error = self.errors.pop(0) if self.errors else 0
        answers = []
        for part in request.topic_data[0].partition_data:
            base = sum(read_header(batch).count for batch in self.batches[part.index])
            if error in (0, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self.batches[part.index].append(bytes(part.records))  # type: ignore[arg-type]
            answers.append(PartitionProduceResponse(index=part.index, error_code=error, base_offset=base))
        if self.hang_up_after_writing:
            self.hang_up_after_writing -= 1
            return HANG_UP
        topic = TopicProduceResponse(name="rivers", topic_id=self.topic_id, partition_responses=answers)
        return ProduceResponse(responses=[topic])
