"""Quotas: set and removed for an entity at a time. What they come to is measured by the brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from moldau.controller.decision import Decision, check_size
from moldau.errors import KafkaError
from moldau.metadata.client_quotas import entity_in, quota_record
from moldau.metadata.records import ClientQuotaRecord, Message
from moldau.security.quota import Entity, check_value, entity_of
from moldau.timeline import SnapshotRegistry, TimelineMap


class QuotaChange(NamedTuple):
    """What is asked for one entity: values by key, None for what is to be removed."""

    parts: Sequence[tuple[str, str | None]]
    values: Mapping[str, float | None]


class ClientQuotaControl:
    def __init__(self, registry: SnapshotRegistry) -> None:
        self._values: TimelineMap[tuple[Entity, str], float] = TimelineMap(registry)

    def alter(self, changes: Sequence[QuotaChange], *, validate_only: bool) -> Decision[list[KafkaError | None]]:
        """Entities stand alone: one that is refused does not stop the others, and of it nothing is changed."""
        check_size(sum(len(change.values) for change in changes), "quotas")
        records: list[Message] = []
        results: list[KafkaError | None] = []
        for change in changes:
            try:
                entity = entity_of(change.parts)
                for key, value in change.values.items():
                    check_value(entity, key, value)
            except KafkaError as error:
                results.append(error)
                continue
            for key, value in change.values.items():
                if self._values.get((entity, key)) != value:
                    records.append(quota_record(entity, key, value))
            results.append(None)
        return Decision([] if validate_only else records, results)

    def replay(self, record: ClientQuotaRecord) -> None:
        place = entity_in(record), record.key
        if record.remove:
            self._values.pop(place)
        else:
            self._values[place] = record.value
