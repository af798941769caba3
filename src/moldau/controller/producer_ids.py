"""Blocks of producer ids: each is written into the log before it is handed out, so none is ever given twice."""

from __future__ import annotations

from typing import Final

from moldau.controller.decision import Decision
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.producer_id_pool import ProducerIdBlock
from moldau.metadata.records import MetadataError, ProducerIdsRecord
from moldau.timeline import SnapshotRegistry, TimelineValue

BLOCK_SIZE: Final = 1000
_MAX_ID: Final = 2**63 - 1


class ProducerIdControl:
    def __init__(self, registry: SnapshotRegistry) -> None:
        self._next = TimelineValue(registry, 0)

    @property
    def next(self) -> int:
        return self._next.value

    def allocate(self, broker_id: int, broker_epoch: int) -> Decision[ProducerIdBlock]:
        first = self._next.value
        if first > _MAX_ID - BLOCK_SIZE:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "All producer ids have been handed out.")
        record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=first + BLOCK_SIZE)
        return Decision([record], ProducerIdBlock(first, BLOCK_SIZE))

    def replay(self, record: ProducerIdsRecord) -> None:
        if record.next_producer_id <= self._next.value:
            raise MetadataError(
                f"the metadata log goes back from producer id {self._next.value} to {record.next_producer_id}"
            )
        self._next.value = record.next_producer_id
